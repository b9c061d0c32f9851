"""Documents to ids and back: lines survive, whatever the tokenizer makes of white space."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.tokens import LINE, Tokenizer, normalize, train_tokenizer
from limelight.tokens.text import (
    RESERVED,
    decode_text,
    encode_text,
)

SENTENCES = ["the cat sat here", "there sat the other cat", "a cat\tand\n another\xa0cat"] * 4
texts = st.text(st.one_of(st.sampled_from("the cat\n\n \t<>[]"), st.characters(codec="utf-8")))


def train(kind: str, sentences: list[str] = SENTENCES, reserved: tuple[str, ...] = RESERVED) -> Tokenizer:
    return train_tokenizer(
        sentences,
        kind=kind,
        vocabulary_size=None,
        languages=(),
        byte_fallback=True,
        seed=1,
        sentences=9,
        reserved=reserved,
    )


TOKENIZERS = {kind: train(kind) for kind in ("bpe", "unigram", "characters")}
NORMALIZING = {kind: tokenizer for kind, tokenizer in TOKENIZERS.items() if kind != "characters"}


def by_lines(text: str) -> str:
    return "\n".join(normalize(line) for line in text.split("\n"))


@given(texts.filter(str.strip))
def test_characters_lose_nothing(text: str) -> None:
    tokenizer = train("characters", [text])
    assert decode_text(tokenizer, encode_text(tokenizer, text)) == text


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@given(texts)
def test_pieces_keep_all_lines(kind: str, text: str) -> None:
    tokenizer = TOKENIZERS[kind]
    ids = encode_text(tokenizer, text)
    assert decode_text(tokenizer, ids) == by_lines(text)
    assert tokenizer.pieces(ids).count(LINE) == text.count("\n")


@pytest.mark.parametrize("kind", TOKENIZERS)
@given(texts, texts)
def test_texts_of_whole_lines_can_be_encoded_one_by_one(kind: str, one: str, other: str) -> None:
    tokenizer = TOKENIZERS[kind]
    together = encode_text(tokenizer, f"{one}\n{other}")
    assert encode_text(tokenizer, f"{one}\n") + encode_text(tokenizer, other) == together


@pytest.mark.parametrize("kind", NORMALIZING)
def test_the_vocabulary_of_a_translator_is_refused(kind: str) -> None:
    tokenizer = train(kind, reserved=())
    with pytest.raises(UserError, match="this vocabulary has no reserved token <line>"):
        encode_text(tokenizer, "a cat")
    with pytest.raises(UserError, match="no reserved token <line>"):
        decode_text(tokenizer, [3])
