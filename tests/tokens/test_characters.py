"""Characters: nothing is lost, and nothing strange is loaded."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.tokens import (
    END,
    MASK,
    PLACEHOLDERS,
    UNKNOWN,
    CharacterTokenizer,
    load_tokenizer,
    train_tokenizer,
)
from limelight.tokens.characters import MAX_CHARACTERS
from limelight.tokens.metadata import StoredTokenizer, write_stored

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


def test_ids_are_special_then_reserved_then_characters_by_code_point() -> None:
    tokenizer = train(["zä a", "b\n"])
    expected = ["</s>", "<unk>", *RESERVED, "\\n", "▁", "a", "b", "z", "ä", "<pad>"]
    assert tokenizer.pieces(range(tokenizer.size)) == expected
    assert tokenizer.padding == tokenizer.size - 1


def test_special_pieces_are_skipped_in_text_and_are_text_when_they_are_written() -> None:
    tokenizer = train(["</s><unk><pad>"])
    assert tokenizer.decode([END, *tokenizer.encode("pad"), tokenizer.padding]) == "pad"
    for name in ("</s>", "<unk>", "<pad>"):
        assert len(tokenizer.encode(name)) == len(name)
    with pytest.raises(ValueError, match="is not in this vocabulary"):
        tokenizer.decode([tokenizer.size])


def test_words_begin_at_spaces_and_line_ends_stand_alone() -> None:
    tokenizer = train(["ab c\nd"])
    ids = [*tokenizer.encode("ab c\n"), tokenizer.reserved_id("<ph1>"), *tokenizer.encode("d")]
    assert tokenizer.word_of(ids) == [0, 0, 1, 1, 2, 3, 4]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1), st.integers(1, 9))
def test_a_bound_keeps_the_most_frequent(letters: list[str], room: int) -> None:
    tokenizer = train(["".join(letters)], size=max(2 + len(RESERVED) + room, 3))
    kept = set(tokenizer.pieces(range(2 + len(RESERVED), tokenizer.padding)))
    counts = Counter(letters)
    assert len(kept) == min(room, len(counts))
    assert all(counts[one] >= counts[other] for one in kept for other in set(letters) - kept)


def test_without_a_size_there_is_room_for_many() -> None:
    many = "".join(map(chr, range(0x4E00, 0x4E00 + MAX_CHARACTERS + 5))) + "abcde" * 2
    tokenizer = train([many])
    assert tokenizer.padding == 2 + len(RESERVED) + MAX_CHARACTERS
    assert UNKNOWN not in tokenizer.encode("abcde")
    assert tokenizer.encode(many).count(UNKNOWN) == 10


def test_half_surrogates_are_no_characters() -> None:
    tokenizer = train(["a\ud800b"])
    assert tokenizer.encode("a\ud800") == [tokenizer.encode("a")[0], UNKNOWN]


@pytest.mark.parametrize("sentences", [[], ["", " \n"]])
def test_no_text(sentences: list[str]) -> None:
    with pytest.raises(UserError, match="there is no text to learn a vocabulary from"):
        train(sentences)


def test_a_size_without_room_is_refused() -> None:
    with pytest.raises(UserError, match=r"tokens\.vocabulary_size is 36; it must be more than the 36 special"):
        train(["abc"], size=36)


def test_it_refuses_to_sample() -> None:
    tokenizer = train(["abc"])
    assert tokenizer.encode_sampled(["a", "bc"], amount=0.0, seed=1) == tokenizer.encode_batch(["a", "bc"])
    with pytest.raises(
        UserError, match=r"sampling is 0\.1, but tokens\.kind=characters has only one segmentation; set"
    ):
        tokenizer.encode_sampled(["a"], amount=0.1, seed=1)


@given(texts)
def test_what_is_loaded_does_what_was_saved(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("tokenizer")
    saved = train([text, "x"])
    saved.save(folder)
    loaded = load_tokenizer(folder)
    assert loaded.encode(text) == saved.encode(text)
    assert loaded.pieces(range(loaded.size)) == saved.pieces(range(saved.size))
    assert sorted(path.name for path in folder.iterdir()) == ["characters.txt", "tokenizer.yaml"]
    assert (folder / "characters.txt").read_bytes().decode() == "".join(sorted({*text, "x"}))


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
    write_stored(StoredTokenizer("characters", 40, reserved, model), tmp_path)
    with pytest.raises(UserError, match=rf"characters\.txt: .*{message}"):
        load_tokenizer(tmp_path)


def test_many_reserved_pieces_do_not_slow_a_text_down() -> None:
    """Each is looked up, none is searched for: a stranger's folder may have thousands."""
    tokenizer = CharacterTokenizer(b"<a", reserved=[f"<a{number}>" for number in range(5_000)])
    assert tokenizer.encode("<a" * 100_000) == [5002, 5003] * 100_000
