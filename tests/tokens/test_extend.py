"""A vocabulary that grows: old text stays as it was, new characters and merges are single tokens."""

import random
from typing import Any

import pytest

from limelight.errors import UserError
from limelight.text.kept_signs import SIGNS
from limelight.tokens import (
    ListedTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    Tokenizers,
    train_tokenizer,
)
from limelight.tokens.extend import MIN_COUNT, Extension, extend_tokenizers
from limelight.tokens.listed import listed_model
from limelight.tokens.tokenizer import END_PIECE, SPACE, UNKNOWN_PIECE
from tests.tokens.test_sentencepiece import sentences, train

OLD = list(sentences(7, 600))
WORDS = ("Vanille", "zweihundert", "Kipper")


def new_texts(seed: int) -> list[str]:
    """Sentences of words that the old vocabulary splits, with signs that it lacks."""
    generator = random.Random(seed)
    return [f"{generator.choice(WORDS)} & {generator.choice(OLD)} ({generator.choice(WORDS)})" for _ in range(300)]


def extended(tokenizer: Tokenizer, **given: Any) -> Extension:
    """A joint vocabulary."""
    return extend_tokenizers(Tokenizers(tokenizer, tokenizer), **given)


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> SentencePieceTokenizer:
    return train(request.param, OLD, size=500)


@pytest.fixture(scope="module")
def bpe() -> SentencePieceTokenizer:
    return train("bpe", OLD, size=500)


def test_every_sign_is_a_token_and_comes_back(tokenizer: SentencePieceTokenizer) -> None:
    assert any(len(tokenizer.encode(sign)) > 2 for sign in SIGNS)
    larger = extended(tokenizer, characters=SIGNS).tokenizers.target
    for sign in SIGNS:
        pieces = [piece for piece in larger.pieces(larger.encode(sign)) if piece != SPACE]
        assert [piece.removeprefix(SPACE) for piece in pieces] == [sign]
        assert larger.decode(larger.encode(f"a{sign} {sign}b")) == f"a{sign} {sign}b"


def test_text_without_new_characters_keeps_its_segmentation(tokenizer: SentencePieceTokenizer) -> None:
    larger = extended(tokenizer, characters=SIGNS).tokenizers.target
    assert list(map(larger.encode, OLD)) == list(map(tokenizer.encode, OLD))
    assert larger.pieces(range(tokenizer.padding)) == tokenizer.pieces(range(tokenizer.padding))
    assert larger.padding == larger.size - 1


def test_frequent_words_become_tokens(bpe: SentencePieceTokenizer, seed: int) -> None:
    tokenizer = bpe
    found = extended(tokenizer, characters=SIGNS, texts=new_texts(seed), merges=200)
    larger = found.tokenizers.target
    assert [len(larger.encode(word)) for word in WORDS] == [1, 1, 1]
    assert larger.decode(larger.encode("Vanille & Kipper")) == "Vanille & Kipper"
    for number, parts in enumerate(found.parts, start=tokenizer.padding):
        text = larger.pieces([number])[0]
        spelled = "".join(tokenizer.pieces(parts))
        assert spelled == text or "<0x" in spelled, "a merge replaces the tokens that spelled it"
    assert len(found.parts) == larger.size - tokenizer.size


@pytest.mark.parametrize("word", ["नमस्ते", "வணக்கம்", "สวัสดี", "ọjọ́", "مُحَمَّد"])
def test_words_with_marks_become_tokens(bpe: SentencePieceTokenizer, word: str) -> None:
    larger = extended(bpe, characters=sorted({*word}), texts=[f"{word} {word}"] * 20, merges=100).tokenizers.target
    assert len(larger.encode(word)) == 1


def test_rare_words_and_digits_are_not_merged(tokenizer: SentencePieceTokenizer) -> None:
    texts = ["Seltener Fall 1234567"] * (MIN_COUNT - 1) + ["98765 98765"] * (10 * MIN_COUNT)
    found = extended(tokenizer, texts=texts, merges=100)
    assert found.parts == []


def test_other_kinds_are_refused(tokenizer: SentencePieceTokenizer) -> None:
    characters = train_tokenizer(
        OLD, kind="characters", vocabulary_size=None, languages=[], byte_fallback=False, seed=1, sentences=9
    )
    with pytest.raises(UserError, match="kind characters cannot be extended"):
        extended(characters, characters="&")
    with pytest.raises(UserError, match="each side has a vocabulary of its own"):
        extend_tokenizers(Tokenizers(tokenizer, train("bpe", OLD, size=400)), characters="&")


def test_tags_begin_as_those_of_languages() -> None:
    old = train("bpe", OLD, size=500)
    found = extended(old, tags=["<2xx>", "<formal>", "<informal>", "<similar>", "<2xx>"])
    assert found.tokenizers.target.pieces(range(old.padding, old.padding + 4)) == [
        "<2xx>",
        "<formal>",
        "<informal>",
        "<similar>",
    ]
    assert found.tokenizers.target.reserved[-4:] == ("<2xx>", "<formal>", "<informal>", "<similar>")
    assert "<formal>" not in found.tokenizers.target.pieces(found.tokenizers.target.encode("a <formal> text"))
    languages = [piece for piece in old.reserved if piece.startswith("<2")]
    assert all(old.pieces(parts) == (languages or list(old.reserved)) for parts in found.parts)


def listed(kinds: tuple[str, str]) -> Tokenizers:
    """As of OPUS-MT: each side has a sentencepiece model of its own, and both have one list of tokens."""
    models = [train(kind, texts, size=450) for kind, texts in zip(kinds, (OLD[::2], OLD[1::2]), strict=True)]
    pieces = dict.fromkeys(piece for each in models for piece in each.pieces(range(2, each.padding)))
    names = [END_PIECE, UNKNOWN_PIECE, *pieces]
    return Tokenizers(*(ListedTokenizer(listed_model(each.model, names), reserved=()) for each in models))


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_two_models_with_one_list_get_the_same_characters(kind: str, seed: int) -> None:
    old = listed((kind, kind))
    found = extend_tokenizers(old, tags=["<2xx>"], characters="&", texts=new_texts(seed), merges=50)
    source, target = found.tokenizers
    assert found.tokenizers.one_vocabulary
    assert len(found.parts) == target.size - old.target.size == 2
    assert target.pieces([target.reserved_id("<2xx>")]) == ["<2xx>"]
    for before, after in zip(old, (source, target), strict=True):
        assert list(map(after.encode, OLD)) == list(map(before.encode, OLD))
        assert after.decode(after.encode("Vanille & Kipper")) == "Vanille & Kipper"
