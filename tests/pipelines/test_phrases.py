"""Phrases that translations have to contain or must not, in text."""

import functools

import pytest

from limelight.config import DecodingConfig, TransformerConfig
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.pipelines import phrases
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


@pytest.mark.parametrize(("kind", "guards"), [("bpe", True), ("unigram", False), ("characters", False)])
def test_each_translation_has_the_phrases_in_one_of_their_forms(seed: int, kind: str, guards: bool) -> None:
    asked = {"must_include": ["lamp|lamps", "a dug dog"], "guards": guards}
    some = translator(kind)
    free = [each.text for each in some.translate(TEXTS[:3], guards=False)]
    found = some.translate(TEXTS[:3], **asked)
    assert not any(has_phrase(text, "a dug dog") for text in free)
    for text, each in zip(TEXTS[:3], found, strict=True):
        assert has_phrase(each.text, "lamp") or has_phrase(each.text, "lamps")
        assert has_phrase(each.text, "a dug dog")
        assert "phrase missing" not in each.warnings
        assert some.translate(text, **asked).text == each.text


@pytest.mark.parametrize("sampling", [None, Sampling(seed=5)])
def test_no_translation_has_what_is_excluded_in_whatever_tokens(
    seed: int, sampling: Sampling | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words that the model says of itself, one after the other, and letters that any token may have."""
    monkeypatch.setattr(phrases, "MAX_SEARCHES", 100)  # what a random model says may be spelled in many ways
    some = translator()
    free = some.translate(TEXTS[:2], sampling=sampling, guards=False)
    words = {word for each in free for word in each.text.split() if word.isalpha()}
    excluded = sorted(words)[:3]
    found = some.translate(TEXTS[:2], must_not_include=excluded, sampling=sampling, guards=False)
    for each in found:
        there = any(has_phrase(each.text, word, any_case=True) for word in excluded)
        assert not there
        assert "phrase not avoided" not in each.warnings


def test_whole_words_count_and_a_capital_at_the_beginning() -> None:
    assert has_phrase("Das Haus.", "Haus")
    assert not has_phrase("Das Hausboot", "Haus")
    assert not has_phrase("Rathaus", "haus")
    assert has_phrase("Schalten Sie", "schalten")
    assert not has_phrase("schalten Sie", "Schalten")
    assert has_phrase("(Haus)", "Haus")
    assert not has_phrase("das haus", "Haus")
    assert has_phrase("das haus", "Haus", any_case=True)
    assert has_phrase("東京都へ", "東京")
    assert has_phrase("a+b", "+b")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"must_include": "lamp"}, r"write \['lamp'\]"),
        ({"must_include": ["lamp| "]}, "is blank"),
        ({"must_not_include": [""]}, "is blank"),
        ({"must_include": ["lamp"], "must_not_include": ["lamp"]}, "contains an excluded phrase"),
        ({"must_include": ["lamp"], "sampling": Sampling()}, "exclude each other"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        translator().translate("the lamp", **options)
