"""Every number of a look-up leads to the weights that the model itself reports."""

import base64

import numpy as np
import pytest

from limelight.errors import UserError
from limelight.inspection.look_up import look_up
from limelight.models.recurrent.model import Recurrent
from limelight.models.transformer.model import Transformer
from tests.models.helpers import attention_of, batch_of, every_model, make_model, random_rows, recurrent, transformer

POSITIONAL = ("alibi", "relative", "localmonotonic", "localpredictive")
MODELS = [(name, config) for name, config in every_model() if config.family in ("transformer", "recurrent")]


def array(packed: dict) -> np.ndarray:
    return np.frombuffer(base64.b64decode(packed["data"]), dtype="<f4").reshape(packed["shape"]).astype(np.float64)


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


@pytest.mark.parametrize(("name", "config"), MODELS, ids=[name for name, _ in MODELS])
def test_the_numbers_lead_to_the_weights(seed, name, config):
    model = make_model(config).eval()
    assert isinstance(model, Transformer | Recurrent)
    (source, target) = random_rows((5, 4), 28)
    weights = attention_of(model, batch_of(model, [source], [target]))
    for kind in ("encoder_self", "decoder_self", "cross"):
        for layer, of_layer in enumerate(weights.layers(kind)):
            for head, row in ((0, 0), (of_layer.shape[1] - 1, 3)):
                found = look_up(model, source, target, kind=kind, layer=layer, head=head, row=row)
                expected = of_layer[0, head, row].detach().numpy()
                check(found, expected)


def check(found: dict, expected: np.ndarray) -> None:
    permitted, scores = np.array(found["permitted"]), array(found["scores"])
    assert abs(scores).max() < 1e6  # also of keys that a score excludes, as a file stores shares of the largest one
    np.testing.assert_allclose(array(found["weights"]), expected, atol=1e-5)
    assert (expected[~permitted] == 0).all()
    factors = array(found["factors"]) if "factors" in found else 1
    np.testing.assert_allclose(softmax(np.where(permitted, scores, -np.inf)) * factors, expected, atol=1e-5)
    np.testing.assert_allclose(array(found["context"]), expected @ array(found["values"]), atol=1e-5)
    if "products" in found:
        np.testing.assert_allclose(array(found["keys"]) @ array(found["query"]), array(found["products"]), atol=1e-4)
        if found["score"] not in POSITIONAL:
            np.testing.assert_allclose(array(found["products"]) * found["scale"], scores, atol=1e-4)
    else:
        np.testing.assert_allclose(
            np.tanh(array(found["query_part"]) + array(found["keys"])), array(found["mixed"]), atol=1e-5
        )
        np.testing.assert_allclose(array(found["mixed"]) @ array(found["energy"]), scores, atol=1e-5)


def test_a_model_without_attention_has_nothing_to_look_up(seed):
    model = make_model(recurrent(wiring="fixed")).eval()
    with pytest.raises(UserError, match="there is no cross in layer 0; this model has none"):
        look_up(model, [3, 4], [5, 6], kind="cross", layer=0, head=0, row=0)


def test_the_future_is_masked(seed):
    model = make_model(transformer()).eval()
    found = look_up(model, [3, 4], [5, 6, 7], kind="decoder_self", layer=0, head=1, row=1)
    assert found["permitted"] == [True, True, False, False]
    assert (array(found["weights"])[2:] == 0).all()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"layer": 2}, "there is no cross in layer 2; this model has encoder.0.self"),
        ({"head": 3}, "there is no head 3: there are 3"),
        ({"row": 9}, "there is no row 9: there are 4"),
        ({"kind": "{1}"}, r"there is no \{1\} in layer 0; this model has encoder.0.self"),
    ],
)
def test_what_is_not_there_is_named(changed, message):
    model = make_model(transformer()).eval()
    with pytest.raises(UserError, match=message):
        look_up(model, [3, 4], [5, 6, 7], **{"kind": "cross", "layer": 0, "head": 0, "row": 0, **changed})
