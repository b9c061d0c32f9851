"""Characters: nothing is lost, and nothing strange is loaded."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.tokens import (
    MASK,
    PLACEHOLDERS,
    UNKNOWN,
    CharacterTokenizer,
    load_tokenizer,
    train_tokenizer,
)
from limelight.tokens.metadata import write_stored

RESERVED = ("<2en>", *PLACEHOLDERS, MASK)
texts = st.text(st.characters(codec="utf-8"))


def train(sentences: Iterable[str], *, size: int | None = None) -> CharacterTokenizer:
    trained = train_tokenizer(
        sentences,
        kind="characters",
        vocabulary_size=size,
        languages=["en"],
        byte_fallback=True,
        seed=1,
        sentences=3,
        reserved=(MASK,),
    )
    assert isinstance(trained, CharacterTokenizer)
    return trained


@given(texts.filter(str.strip))
def test_nothing_is_lost(text: str) -> None:
    """Not even what every other tokenizer normalizes."""
    tokenizer = train([text])
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert UNKNOWN not in ids
    assert len(ids) == len(text)


@given(texts, texts)
def test_a_mask_is_one_id_inside_any_text(before: str, after: str) -> None:
    text = before + MASK + after
    tokenizer = train([text, "x"])
    ids = tokenizer.encode(text)
    assert tokenizer.pieces(ids).count(MASK) == 1
    assert tokenizer.decode(ids) == text
    assert len(ids) == len(before) + 1 + len(after)


@given(texts, texts, st.sampled_from(RESERVED[:-1]))
def test_tags_and_placeholders_in_a_text_are_ordinary_text(before: str, after: str, piece: str) -> None:
    text = before + piece + after
    tokenizer = train([text, "x"])
    ids = tokenizer.encode(text)
    assert tokenizer.reserved_id(piece) not in ids
    assert tokenizer.decode([tokenizer.reserved_id(piece), *ids]) == text


@given(texts.filter(lambda text: MASK not in text))
def test_exactly_the_unknown_characters_become_the_unknown_piece(text: str) -> None:
    tokenizer = train(["abc def\n"])
    read = tokenizer.decode(tokenizer.encode(text))
    assert read == "".join(letter if letter in "abc def\n" else "\u2047" for letter in text)


def test_it_refuses_to_sample() -> None:
    tokenizer = train(["abc"])
    assert tokenizer.encode_sampled(["a", "bc"], amount=0.0, seed=1) == list(map(tokenizer.encode, ["a", "bc"]))
    with pytest.raises(UserError, match=r"sampling is 0\.1, but tokens\.kind=characters is not sampled; set"):
        tokenizer.encode_sampled(["a"], amount=0.1, seed=1)


@pytest.mark.parametrize(
    ("model", "reserved", "message"),
    [
        (b"\xff\xfe", (), "not a list of characters: not in UTF-8"),
        ("\ud800".encode("utf-8", "surrogatepass"), (), "not a list of characters: not in UTF-8"),
        (b"abb", (), "they must be sorted by code point, without duplicates"),
        (b"ba", (), "they must be sorted by code point, without duplicates"),
        (b"ab", ("",), "reserved pieces look like <name> or .NAME., each once; here are"),
        (b"ab", ("(a+)+$",), "reserved pieces look like"),
        (b"ab", ("<unk>",), "reserved pieces look like"),
        (b"ab", ("<ph0>", "<ph0>"), "reserved pieces look like"),
        ("".join(map(chr, range(0x10000, 0x10000 + 500_000))).encode(), (), "a vocabulary has between 2 and 500,000"),
    ],
)
def test_what_is_no_list_of_characters_is_refused(
    model: bytes, reserved: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    write_stored(tmp_path, "characters", 40, reserved, model)
    with pytest.raises(UserError, match=rf"characters\.txt: .*{message}"):
        load_tokenizer(tmp_path)
