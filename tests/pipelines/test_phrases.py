"""Phrases that translations must not contain."""

import functools

import pytest

from limelight.config import DecodingConfig, TransformerConfig
from limelight.decoding.constraints import contains
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.pipelines.phrases import has_phrase
from limelight.pipelines.translator import Translator
from limelight.tokens import Tokenizer, Tokenizers, train_tokenizer

TEXTS = ["the lamp hums here now", "press the lamp and it hums", "a name is here", "the dog runs now", "it is a lamp"]


@functools.cache
def tokenizer(kind: str = "bpe") -> Tokenizer:
    return train_tokenizer(
        TEXTS * 9, kind=kind, vocabulary_size=None, languages=(), byte_fallback=True, seed=1, sentences=45
    )


def translator(kind: str = "bpe") -> Translator:
    """A random model; what it says has no sense."""
    both = Tokenizers(tokenizer(kind), tokenizer(kind))
    config = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=8)
    settings = DecodingConfig(beam_size=2, max_length_factor=1.0, max_length_extra=5)
    return Translator(build_model(config, both), both, settings)


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
def test_no_translation_has_what_is_excluded_or_it_is_told(seed: int, kind: str) -> None:
    some = translator(kind)
    free = some.translate(TEXTS[:2], guards=False)
    words = {word for each in free for word in each.text.split() if word.isalpha()}
    excluded = sorted(words)[:3]
    found = some.translate(TEXTS[:2], must_not_include=excluded, guards=False)
    usual = [tokenizer(kind).pieces(tokenizer(kind).encode(f" {word}")) for word in excluded]
    for each in found:
        assert not any(contains(each.tokens, pieces) for pieces in usual)  # but the model may spell a word otherwise
        there = any(has_phrase(each.text, word) for word in excluded)
        assert there == ("phrase not avoided" in each.warnings)


def test_whole_words_count_in_any_case() -> None:
    assert has_phrase("Das Haus.", "haus")
    assert not has_phrase("Das Hausboot", "Haus")
    assert not has_phrase("Rathaus", "haus")
    assert has_phrase("(Haus)", "Haus")
    assert has_phrase("東京都へ", "東京")
    assert has_phrase("a+b", "+b")


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(UserError, match=r"write \['lamp'\]"):
        translator().translate("the lamp", must_not_include="lamp")
    with pytest.raises(UserError, match="is blank"):
        translator().translate("the lamp", must_not_include=["lamp| "])
