"""Patching between two texts: which tokens are compared, and what is refused."""

import numpy as np
import pytest
import torch

from limelight.config import DecodingConfig
from limelight.errors import UserError
from limelight.inspection.patching import Sides, patch
from limelight.pipelines.patch import patch_texts
from limelight.pipelines.translator import Translator
from limelight.tokens import Tokenizers
from tests.inspection.fakes import Letters
from tests.models.helpers import make_model, transformer


@pytest.fixture
def translator(seed) -> Translator:
    model = make_model(transformer(), Letters.size, Letters.size).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(4.0 if weight.dim() > 1 else 1)
    return Translator(model, Tokenizers(Letters(), Letters()), DecodingConfig(beam_size=1, max_length_extra=4))


@pytest.fixture(autouse=True)
def small_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.inspection.patching.MIN_DIFFERENCE", 1e-6)


def test_the_tokens_are_the_first_that_differ(translator):
    found = patch_texts(translator, "ab c", "ad c", targets=("xy zu", "xy wu"))
    encode = translator.tokenizers.source.encode
    expected = patch(translator.model, Sides(encode("ab c"), encode("ad c"), encode("xy "), *encode("z"), *encode("w")))
    np.testing.assert_array_equal(found.effects.encoder, expected.encoder)
    np.testing.assert_array_equal(found.effects.decoder, expected.decoder)
    assert found.tokens == ("z", "w")
    assert found.source == ["a", "b/d", "▁", "c", "</s>"]
    assert found.read == ["<s>", "x", "y", "▁"]
    assert found.effects.encoder[0] == pytest.approx([0, 1, 0, 0, 0], abs=1e-4)


def test_a_translation_that_ends_earlier_has_the_end_as_its_token(translator):
    found = patch_texts(translator, "ab", "ac", targets=("xy", "xyz"))
    assert found.tokens == ("</s>", "z")
    assert found.translations == ("xy", "xyz")


def test_without_targets_the_models_own_are_taken(translator, monkeypatch):
    said = iter([["p", "q"], ["p", "r"]])

    class Found:
        def __init__(self, ids):
            self.ids = ids

    encode = translator.tokenizers.target.encode
    monkeypatch.setattr(
        translator, "decode", lambda requests: [[Found(tuple(encode("".join(next(said)))))] for _ in requests]
    )
    assert patch_texts(translator, "ab", "ac").translations == ("pq", "pr")


def test_values_are_those_for_json(translator):
    found = patch_texts(translator, "ab", "ac", targets=("xy", "xz"))
    values = found.values()
    assert values["encoder"]["effects"] == found.effects.encoder.tolist()
    assert values["tokens"] == list(found.tokens)


def test_texts_that_cannot_be_compared_are_refused(translator):
    for first, second, targets, fault in (
        ("ab", "abc", ("x", "y"), "the sources have 2 and 3 tokens: patching compares position by position"),
        ("ab", "ac", ("x", "x"), "both texts have the translation 'x'"),
        ("ab", " ", ("x", "y"), "the text is blank"),
        ("a" * 101, "b" * 101, ("x", "y"), "a text has 101 tokens, and at most 100 are patched"),
    ):
        with pytest.raises(UserError, match=fault):
            patch_texts(translator, first, second, targets=targets)
