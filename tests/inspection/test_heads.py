"""Models with scaled heads: they compute what `keep_heads` computes, and translators follow changes of weights."""

import pytest
import torch

from limelight.config import DecodingConfig
from limelight.errors import UserError
from limelight.inspection.heads import head_counts, with_heads
from limelight.pipelines.translator import Translator
from limelight.tokens import Tokenizers
from tests.inspection.fakes import Spelling
from tests.models.helpers import batch_of, exact_model, heads_kept, make_model, random_rows, recurrent, transformer

KEEP = {"decoder.1.cross": [1.0, 0.0, 0.5], "encoder.0.self": [0.0, 1.0, 1.0], "decoder.0.self": [1.0, 1.0, 0.0]}
TEXT = "abcdef"


def translator(precision: str | None = "fp32") -> Translator:
    torch.manual_seed(3)
    model = make_model(transformer(), Spelling.size, Spelling.size).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(2.0 if weight.dim() > 1 else 1)
    config = DecodingConfig(beam_size=2, max_length_extra=4, max_length_factor=1.0)
    return Translator(model, Tokenizers(Spelling(), Spelling()), config, precision=precision)


def searched(one: Translator, **options) -> tuple[str, float]:
    found = one.translate(TEXT, guards=False, **options)
    return found.text, found.log_probability


def test_scaled_heads_are_those_of_keep_heads(seed):
    model = exact_model(transformer())
    rows = random_rows((6, 4), 28)
    batch = batch_of(model, [rows[0]], [rows[1]])
    with heads_kept(model, {name: torch.tensor(keep).double() for name, keep in KEEP.items()}):
        expected = model(batch)
    plain = model.forward(batch)
    found = with_heads(model, KEEP).forward(batch)
    torch.testing.assert_close(found, expected)
    assert not torch.allclose(found, plain)
    torch.testing.assert_close(model.forward(batch), plain)  # the model itself is as it was


def test_the_other_weights_are_shared(seed):
    model = exact_model(transformer())
    there = {id(each) for each in model.parameters()}
    new = [name for name, each in with_heads(model, KEEP).named_parameters() if id(each) not in there]
    assert len(new) == len(KEEP)
    assert all(name.endswith("out_proj.weight") for name in new)


@pytest.mark.parametrize("precision", [None, "fp32"])
def test_a_translator_translates_with_heads_switched_off(precision):
    one = translator(precision)
    before = searched(one)
    after = searched(one.with_heads(KEEP))
    assert after != before
    readable = Translator(with_heads(one.model, KEEP), one.tokenizers, one.config)
    assert after == (searched(readable)[0], pytest.approx(searched(readable)[1], abs=1e-4))
    assert one.with_heads(KEEP).attention(TEXT).cross == pytest.approx(readable.attention(TEXT).cross, abs=1e-5)
    assert searched(one) == before


def test_mistakes_are_told(seed):
    model = exact_model(transformer())
    for keep, message in (
        (
            {"decoder.7.cross": [1.0]},
            "'decoder.7.cross' is unknown, or its heads are not 1; the model has encoder.0.self with 3 heads",
        ),
        ({"decoder.0.cross": [1.0]}, "'decoder.0.cross' is unknown, or its heads are not 1"),
    ):
        with pytest.raises(UserError, match=message):
            with_heads(model, keep)
    with pytest.raises(UserError, match="heads and layers exist in Transformers"):
        with_heads(make_model(recurrent(), 9, 9), {"decoder.0.cross": [0.0]})
    assert head_counts(make_model(recurrent(), 9, 9)) == {"decoder.0.cross": 1}
