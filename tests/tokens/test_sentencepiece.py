"""Unigram and BPE: nothing is lost, and reserved pieces are never split."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.tokens import END, PLACEHOLDERS, UNKNOWN, SentencePieceTokenizer, normalize, train_tokenizer
from limelight.tokens.sentencepiece import count_pieces

LANGUAGES = ("en", "de")
RESERVED = ("<2en>", "<2de>", *PLACEHOLDERS)


def sentences(seed: int, count: int) -> Iterator[str]:
    """Made-up sentences of made-up words, some with letters that no other word has."""
    generator = random.Random(seed)
    syllables = [first + second for first in "bdfgklmnprst" for second in ("a", "e", "i", "o", "u", "än", "ers")]
    words = ["".join(generator.choices(syllables, k=generator.randint(1, 4))) for _ in range(400)]
    for _ in range(count):
        chosen = generator.choices(words, k=generator.randint(2, 9))
        yield " ".join(chosen).capitalize() + generator.choice(".!?")


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> SentencePieceTokenizer:
    return train(request.param, sentences(7, 1_500), size=600)


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def without_bytes(request: pytest.FixtureRequest) -> SentencePieceTokenizer:
    return train(request.param, sentences(7, 500), size=300, byte_fallback=False)


def train(kind: str, texts: Iterable[str], *, size: int | None, **changes: object) -> SentencePieceTokenizer:
    settings = {"languages": LANGUAGES, "byte_fallback": True, "seed": 1, "sentences": 500} | changes
    trained = train_tokenizer(texts, kind=kind, vocabulary_size=size, **settings)  # type: ignore[arg-type]
    assert isinstance(trained, SentencePieceTokenizer)
    return trained


ANY_TEXT = st.text(st.characters(exclude_characters="\0"))
MIXED_TEXT = st.lists(
    st.one_of(
        st.sampled_from(
            [*RESERVED[:5], "</s>", "<unk>", "<pad>", "<s>", "<0xE2>", "▁", " ", "  ", "\n", "Bader", "bu."]
        ),
        ANY_TEXT,
    )
).map("".join)


@given(st.one_of(ANY_TEXT, MIXED_TEXT))
def test_no_text_is_lost(tokenizer: SentencePieceTokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == normalize(text)
    assert all(UNKNOWN < identifier < tokenizer.padding for identifier in ids)


@given(MIXED_TEXT, st.sampled_from(RESERVED), MIXED_TEXT, st.sampled_from([0.1, 0.5, 0.9]), st.integers(0, 2**40))
def test_tags_and_placeholders_in_a_text_are_ordinary_text_also_in_samples(
    tokenizer: SentencePieceTokenizer, before: str, piece: str, after: str, amount: float, seed: int
) -> None:
    text = normalize(before + piece + after)
    sampled = tokenizer.encode_sampled([text], amount=amount * (tokenizer.kind == "bpe"), seed=seed)
    for ids in (tokenizer.encode(text), *sampled):
        assert tokenizer.reserved_id(piece) not in ids
        assert tokenizer.decode(ids) == text


def test_special_and_reserved_ids_come_first_and_padding_last(tokenizer: SentencePieceTokenizer) -> None:
    assert tokenizer.size == 601
    assert tokenizer.padding == 600
    assert tokenizer.pieces([END, UNKNOWN, tokenizer.padding]) == ["</s>", "<unk>", "<pad>"]
    assert tuple(tokenizer.pieces(range(2, 36))) == RESERVED
    assert len(set(tokenizer.pieces(range(601)))) == 601


def test_bytes_that_are_no_character_are_left_out(tokenizer: SentencePieceTokenizer) -> None:
    byte = {piece: number for number, piece in enumerate(tokenizer.pieces(range(600)))}
    e2, x82, xac, c3, xa9 = (byte[f"<0x{each}>"] for each in ("E2", "82", "AC", "C3", "A9"))
    assert tokenizer.decode([e2]) == ""
    whole, letters = [e2, x82, xac, c3, xa9], tokenizer.encode("ba")
    assert tokenizer.decode([*whole, *letters]).replace(" ", "") == "€éba"
    assert tokenizer.decode([xac, *whole, e2, x82, *letters, e2, c3, xa9, x82]).replace(" ", "") == "€ébaé"
    assert tokenizer.decode([byte["<0xED>"], byte["<0xA0>"], byte["<0x80>"], *letters]).replace(" ", "") == "ba"


def test_ids_of_another_vocabulary_are_a_fault(tokenizer: SentencePieceTokenizer) -> None:
    for wrong in (tokenizer.decode, tokenizer.pieces, tokenizer.word_of):
        with pytest.raises(ValueError, match="id 601 is not in this vocabulary of 601 ids"):
            wrong([601])


# Training


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_training_twice_gives_the_same_bytes(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    models = []
    for _ in range(2):
        folder = tmp_path_factory.mktemp("model")
        train(kind, sentences(29, 400), size=450).save(folder)
        models.append((folder / "spm.model").read_bytes())
    assert models[0] == models[1]


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize("count", [1, 20, 300])
def test_the_automatic_size_fits_any_corpus(kind: str, count: int) -> None:
    texts = list(sentences(31, count))
    small = train(kind, texts, size=None, sentences=10**7)
    assert [small.decode(small.encode(text)) for text in texts] == texts
    assert small.size > 256


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize(
    ("size", "message"), [(60_000, "fills about [0-9,]+ pieces at most"), (64, "take [0-9,]+ already")]
)
def test_an_impossible_size_names_the_bound(kind: str, size: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        train(kind, list(sentences(37, 100)), size=size)


def test_without_bytes_unknown_characters_are_the_unknown_piece(without_bytes: SentencePieceTokenizer) -> None:
    ids = without_bytes.encode("Bader 日 bu.")
    assert ids.count(UNKNOWN) == 1
    assert without_bytes.decode(ids) == "Bader \u2047 bu."
    assert len(set(without_bytes.word_of(ids))) == 3


# Loading


def test_what_is_no_model_is_refused() -> None:
    for wrong in (b"no model", b"", b"\x0a\xff\xff\xff\xff", b"\x0a" + b"\x80" * 9, b"\x8a\x00", b"\x0a\x01\xff" * 3):
        with pytest.raises(UserError, match=r"not a sentencepiece model|0 pieces"):
            SentencePieceTokenizer(wrong, reserved=[])


def field(number: int, content: bytes) -> bytes:
    """A field of a protocol buffer, with a length below 128."""
    return bytes([number << 3 | 2, len(content)]) + content


@pytest.mark.parametrize("key", [b"\x12", b"\x92\x00"])  # the same key, as it is written and as it could be
@pytest.mark.parametrize(
    ("number", "rules", "fault"),
    [
        (3, b"\x01\x00\x00\x00t" + b"x" * 65 + b"\0", "rules that replace a character by 65 bytes"),
        (3, b"\x01\x00\x00\x00t" + b"x" * 64 + b"\0", "not a sentencepiece model"),  # short, but that is no tree
        (5, b"\x01\x00\x00\x00tx\0", "denormalization rules"),
    ],
)
def test_rules_that_are_no_spelling_are_refused(
    number: int, rules: bytes, fault: str, key: bytes, tokenizer: SentencePieceTokenizer, tmp_path: Path
) -> None:
    tokenizer.save(tmp_path)
    model = (tmp_path / "spm.model").read_bytes()
    with pytest.raises(UserError, match=fault):
        SentencePieceTokenizer(model + field(number, key + bytes([len(rules)]) + rules), reserved=["<2de>"])


def test_pieces_are_counted_before_the_library_makes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.tokens.tokenizer.MAX_PIECES", 5_000)
    assert count_pieces(field(1, b"") * 5_000) == 5_000
    with pytest.raises(UserError, match="6,000 pieces; a vocabulary has between 2 and 5,000"):
        SentencePieceTokenizer(field(1, b"") * 6_000, reserved=[])


def test_other_special_ids_are_refused(tmp_path_factory: pytest.TempPathFactory) -> None:
    prefix = tmp_path_factory.mktemp("foreign") / "spm"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b c"] * 5),
        model_prefix=str(prefix),
        vocab_size=8,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        minloglevel=2,
    )
    with pytest.raises(UserError, match="end of a sentence has id 2 and the unknown piece id 0; they must be 0 and 1"):
        SentencePieceTokenizer(prefix.with_suffix(".model").read_bytes(), reserved=[])
