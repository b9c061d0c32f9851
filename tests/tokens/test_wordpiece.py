"""WordPiece: nothing is lost among known characters, and exactly the unknown ones are said to be unknown."""

import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.tokens import PLACEHOLDERS, UNKNOWN, WordPieceTokenizer, normalize, train_tokenizer

RESERVED = ("<2en>", "<2de>", *PLACEHOLDERS)
LETTERS = "abdefgiklmnoprstuäABDEFGIKLMNOPRSTUÄ.!?"


def sentences(seed: int, count: int) -> Iterator[str]:
    """Every letter once, then made-up sentences of made-up words."""
    generator = random.Random(seed)
    syllables = [first + second for first in "bdfgklmnprst" for second in ("a", "e", "i", "o", "u", "än", "ers")]
    words = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(300)]
    yield " ".join(LETTERS)
    for _ in range(count):
        chosen = generator.choices(words, k=generator.randint(2, 9))
        yield " ".join(chosen).capitalize() + generator.choice(".!?")


def train(texts: Iterable[str], *, size: int | None) -> WordPieceTokenizer:
    trained = train_tokenizer(
        texts, kind="wordpiece", vocabulary_size=size, languages=["en", "de"], byte_fallback=True, seed=1, sentences=500
    )
    assert isinstance(trained, WordPieceTokenizer)
    return trained


@pytest.fixture(scope="module")
def tokenizer() -> WordPieceTokenizer:
    return train(sentences(7, 800), size=400)


@given(st.text(st.sampled_from(LETTERS + " ")))
def test_known_characters_are_never_lost(tokenizer: WordPieceTokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == normalize(text)
    assert UNKNOWN not in ids


@given(st.text(st.one_of(st.sampled_from(LETTERS + " "), st.characters())))
def test_each_unknown_character_and_no_other_becomes_the_unknown_piece(
    tokenizer: WordPieceTokenizer, text: str
) -> None:
    expected = "".join(letter if letter in LETTERS + " " else "\u2047" for letter in normalize(text))
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == expected
    assert ids.count(UNKNOWN) == expected.count("\u2047")


@given(st.text(st.sampled_from(LETTERS + " ☃")), st.sampled_from(RESERVED), st.text(st.sampled_from(LETTERS + " ☃")))
def test_tags_and_placeholders_in_a_text_are_ordinary_text(
    tokenizer: WordPieceTokenizer, before: str, piece: str, after: str
) -> None:
    text = normalize(before + piece + after)
    ids = tokenizer.encode(text)
    assert tokenizer.reserved_id(piece) not in ids
    assert tokenizer.decode(ids) == "".join(letter if letter in LETTERS + " " else "\u2047" for letter in text)


def test_inserted_tags_and_placeholders_are_skipped_in_decoded_text(tokenizer: WordPieceTokenizer) -> None:
    tag, placeholder = tokenizer.reserved_id("<2de>"), tokenizer.reserved_id("<ph7>")
    assert tokenizer.decode([tag, *tokenizer.encode("Bader bu."), placeholder]) == "Bader bu."


def test_the_longest_piece_is_taken_from_the_left(tokenizer: WordPieceTokenizer) -> None:
    vocabulary = set(tokenizer.pieces(range(36, 400)))
    for text in sentences(11, 30):
        for word in text.rstrip(".!?").split():
            rest = "▁" + word
            for piece in tokenizer.pieces(tokenizer.encode(word)):
                lengths = [length for length in range(1, len(rest) + 1) if rest[:length] in vocabulary]
                assert piece == rest[: max(lengths)]
                rest = rest[len(piece) :]


def test_it_refuses_to_sample(tokenizer: WordPieceTokenizer) -> None:
    message = r"tokens\.sampling is 0\.1, but tokens\.kind=wordpiece has only one segmentation; set it to 0"
    with pytest.raises(UserError, match=message):
        tokenizer.encode_sampled(["a"], amount=0.1, seed=1)


def test_training_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        train(sentences(17, 300), size=300).save(tmp_path / name)
    assert (tmp_path / "one/tokenizer.json").read_bytes() == (tmp_path / "two/tokenizer.json").read_bytes()


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (60_000, r"tokens\.vocabulary_size is 60,000, but this corpus fills no more than ([\d,]+) pieces"),
        (64, r"tokens\.vocabulary_size is 64, but the characters of this corpus.*, take ([\d,]+) already"),
    ],
)
def test_an_impossible_size_names_the_bound_and_the_bound_works(size: int, message: str) -> None:
    texts = list(sentences(23, 50))
    with pytest.raises(UserError, match=message) as raised:
        train(texts, size=size)
    bound = int(str(raised.value).replace(",", "").split(" take " if size == 64 else " than ")[1].split()[0])
    assert train(texts, size=bound).size == bound + 1


def stored(tokenizer: WordPieceTokenizer, folder: Path) -> dict:
    tokenizer.save(folder)
    return json.loads((folder / "tokenizer.json").read_text())


@pytest.mark.parametrize("wrong", [b"", b"\xff", b"{}", b"[]", b'{"model": {"type": "WordPiece"}}'])
def test_what_is_no_model_is_refused(wrong: bytes) -> None:
    with pytest.raises(UserError, match=r"not a tokenizer\.json"):
        WordPieceTokenizer(wrong, reserved=[])


def test_other_special_ids_are_refused(tokenizer: WordPieceTokenizer, tmp_path: Path) -> None:
    content = stored(tokenizer, tmp_path)
    vocabulary = content["model"]["vocab"]
    vocabulary["</s>"], vocabulary["<unk>"] = 1, 0
    with pytest.raises(UserError, match="ids must have no gaps and begin with </s> and <unk>"):
        WordPieceTokenizer(json.dumps(content).encode(), reserved=[])


@pytest.mark.parametrize("wrong", [{"a": "0"}, {"a": 0.5}, {"": 2}, {"b": 3}, {"b": 2, "c": 2}])
def test_ids_that_are_no_numbering_are_refused(wrong: dict) -> None:
    content = {"model": {"type": "WordPiece", "vocab": {"</s>": 0, "<unk>": 1, **wrong}}}
    with pytest.raises(UserError, match=r"ids must have no gaps|not a tokenizer\.json"):
        WordPieceTokenizer(json.dumps(content).encode(), reserved=[])


def test_a_file_of_brackets_is_not_parsed() -> None:
    with pytest.raises(UserError, match="more than 100,000 lists and mappings"):
        WordPieceTokenizer(b"[" + b"[]," * 100_000 + b"[]]", reserved=[])


def test_no_untrusted_expression_is_run(tokenizer: WordPieceTokenizer, tmp_path: Path) -> None:
    """(a+)+b takes a time that doubles with each further a."""
    content = stored(tokenizer, tmp_path)
    split = {"type": "Split", "pattern": {"Regex": "(?:a+)+b"}, "behavior": "Isolated", "invert": False}
    content["pre_tokenizer"] = split
    content["normalizer"] = {"type": "Replace", "pattern": {"Regex": "(?:a+)+b"}, "content": "x" * 1000}
    text = "a" * 60
    assert WordPieceTokenizer(json.dumps(content).encode(), reserved=["<2de>"]).encode(text) == tokenizer.encode(text)


def test_a_vocabulary_may_have_the_characters_of_every_script() -> None:
    """More than 10,000 single characters, which a regular expression does not take one by one."""
    characters = [chr(code) for code in range(0x4E00, 0x9FFF)]
    content = {
        "model": {"type": "WordPiece", "vocab": {piece: n for n, piece in enumerate(["</s>", "<unk>", *characters])}}
    }
    tokenizer = WordPieceTokenizer(json.dumps(content).encode(), reserved=[])
    assert tokenizer.encode("\u4e00\u9ffe\u9fff")[-3:] == [2, len(characters) + 1, UNKNOWN]
