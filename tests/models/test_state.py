"""A change of single heads means the same to `forward` and to `step` after `step`."""

import pytest
import torch

from limelight.models.interface import Intervention
from tests.models.helpers import exact_model, random_batch, recurrent, transformer

CONFIGS = {
    "transformer": transformer(),
    "additive": transformer(score="additive"),
    "bahdanau": recurrent(),
    "luong": recurrent(wiring="luong"),
}


def change(name: str, heads: int) -> Intervention:
    keep, temperature = torch.ones(heads).double(), torch.ones(heads).double()
    keep[0], temperature[-1] = 0.5, 0.25
    return Intervention({name: keep}, {name: temperature})


@pytest.mark.parametrize("name", CONFIGS)
def test_step_after_step_sees_what_forward_sees(seed, name):
    model = exact_model(CONFIGS[name])
    batch = random_batch(model)
    heads = 3 if name in ("transformer", "additive") else 1
    changed = change("decoder.0.cross", heads).by_name()
    with torch.no_grad():
        expected = model.forward(batch, keep_heads=changed)
        with_weights, _ = model.forward_with_attention(batch, keep_heads=changed)
        state, found = model.start(model.encode(batch.source, batch.source_valid, keep_heads=changed)), []
        for ids in batch.target_in.split(1, dim=1):
            features, state = model.step(ids, state)
            found.append(features)
        plain = model.forward(batch)
    torch.testing.assert_close(torch.cat(found, dim=1), expected)
    torch.testing.assert_close(with_weights, expected)
    assert not torch.allclose(plain, expected)


@pytest.mark.parametrize("kind", ["encoder.0.self", "decoder.0.self", "decoder.0.cross"])
def test_a_temperature_is_that_of_the_softmax(seed, kind):
    model = exact_model(transformer())
    batch = random_batch(model, (4,), (3,))
    temperature = torch.tensor([1.0, 0.5, 4.0]).double()
    changed = Intervention(temperature={kind: temperature}).by_name()
    which = {"encoder.0.self": "encoder_self", "decoder.0.self": "decoder_self", "decoder.0.cross": "cross"}[kind]
    with torch.no_grad():
        before = getattr(model.forward_with_attention(batch)[1], which)[0]
        after = getattr(model.forward_with_attention(batch, keep_heads=changed)[1], which)[0]
    powers = before ** (1 / temperature)[:, None, None]
    torch.testing.assert_close(after, powers / powers.sum(-1, keepdim=True))


def test_heads_that_are_only_off_are_a_vector_as_ever():
    keep = torch.tensor([1.0, 0.0])
    assert Intervention({"decoder.0.cross": keep}).by_name() == {"decoder.0.cross": keep}
    assert Intervention().by_name() == {}
    both = Intervention({"a": keep}, {"a": torch.tensor([2.0, 4.0]), "b": torch.tensor([0.5, 1.0])}).by_name()
    torch.testing.assert_close(both["a"], torch.tensor([[1.0, 0.0], [0.5, 0.25]]))
    torch.testing.assert_close(both["b"], torch.tensor([[1.0, 1.0], [2.0, 1.0]]))
