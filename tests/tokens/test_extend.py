"""A vocabulary that grows: old text stays as it was, new characters and merges are single tokens."""

import random
from pathlib import Path

import pytest
import sentencepiece

from limelight.errors import UserError
from limelight.text.kept_signs import SIGNS
from limelight.tokens import SentencePieceTokenizer, load_tokenizer, train_tokenizer
from limelight.tokens.extend import MIN_COUNT, extend_tokenizer
from limelight.tokens.tokenizer import SPACE
from tests.tokens.test_sentencepiece import sentences, train

OLD = list(sentences(7, 600))
WORDS = ("Vanille", "zweihundert", "Kipper")


def new_texts(seed: int) -> list[str]:
    """Sentences of words that the old vocabulary splits, with signs that it lacks."""
    generator = random.Random(seed)
    return [f"{generator.choice(WORDS)} & {generator.choice(OLD)} ({generator.choice(WORDS)})" for _ in range(300)]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def tokenizer(request: pytest.FixtureRequest) -> SentencePieceTokenizer:
    return train(request.param, OLD, size=500)


@pytest.fixture(scope="module")
def bpe() -> SentencePieceTokenizer:
    return train("bpe", OLD, size=500)


def test_every_sign_is_a_token_and_comes_back(tokenizer: SentencePieceTokenizer) -> None:
    assert any(len(tokenizer.encode(sign)) > 2 for sign in SIGNS)
    larger = extend_tokenizer(tokenizer, characters=SIGNS).tokenizer
    for sign in SIGNS:
        pieces = [piece for piece in larger.pieces(larger.encode(sign)) if piece != SPACE]
        assert [piece.removeprefix(SPACE) for piece in pieces] == [sign]
        assert larger.decode(larger.encode(f"a{sign} {sign}b")) == f"a{sign} {sign}b"


def test_text_without_new_characters_keeps_its_segmentation(tokenizer: SentencePieceTokenizer) -> None:
    larger = extend_tokenizer(tokenizer, characters=SIGNS).tokenizer
    assert larger.encode_batch(OLD) == tokenizer.encode_batch(OLD)
    assert larger.pieces(range(tokenizer.padding)) == tokenizer.pieces(range(tokenizer.padding))
    assert larger.padding == larger.size - 1


def test_frequent_words_become_tokens(bpe: SentencePieceTokenizer, seed: int) -> None:
    found = extend_tokenizer(bpe, characters=SIGNS, texts=new_texts(seed), merges=200)
    larger = found.tokenizer
    assert [len(larger.encode(word)) for word in WORDS] == [1, 1, 1]
    assert larger.decode(larger.encode("Vanille & Kipper")) == "Vanille & Kipper"
    for number, parts in enumerate(found.parts, start=bpe.padding):
        text = larger.pieces([number])[0]
        spelled = "".join(bpe.pieces(parts))
        assert spelled == text or "<0x" in spelled, "a merge replaces the tokens that spelled it"
    assert len(found.parts) == larger.size - bpe.size


def test_rare_words_and_digits_are_not_merged(bpe: SentencePieceTokenizer) -> None:
    texts = ["Seltener Fall 1234567"] * (MIN_COUNT - 1) + ["98765 98765"] * (10 * MIN_COUNT)
    found = extend_tokenizer(bpe, texts=texts, merges=100)
    assert found.parts == []


def test_the_library_reads_the_larger_model(bpe: SentencePieceTokenizer, tmp_path: Path, seed: int) -> None:
    larger = extend_tokenizer(bpe, characters=SIGNS, texts=new_texts(seed), merges=50).tokenizer
    larger.save(tmp_path)
    assert load_tokenizer(tmp_path).encode_batch(new_texts(seed)) == larger.encode_batch(new_texts(seed))
    processor = sentencepiece.SentencePieceProcessor(model_proto=larger.serialized)
    assert processor.encode("Vanille & 3") == larger.encode("Vanille & 3")


def test_other_kinds_are_refused(tokenizer: SentencePieceTokenizer) -> None:
    characters = train_tokenizer(
        OLD, kind="characters", vocabulary_size=None, languages=[], byte_fallback=False, seed=1, sentences=9
    )
    with pytest.raises(UserError, match="kind characters cannot be extended"):
        extend_tokenizer(characters, characters="&")
    if tokenizer.kind == "unigram":
        with pytest.raises(UserError, match="kind unigram cannot be extended by merges"):
            extend_tokenizer(tokenizer, texts=OLD, merges=3)
    with pytest.raises(UserError, match="'ab' is not a single normalized character"):
        extend_tokenizer(tokenizer, characters=["ab"])


def test_tags_begin_as_those_of_languages_and_as_pronouns() -> None:
    texts = [*OLD, *["können Sie du tu vous Ihnen dich"] * 40]
    old = train("bpe", texts, size=600)
    found = extend_tokenizer(old, tags=["<2xx>", "<formal>", "<informal>", "<similar>", "<2xx>"])
    assert found.tokenizer.pieces(range(old.padding, old.padding + 4)) == [
        "<2xx>",
        "<formal>",
        "<informal>",
        "<similar>",
    ]
    assert found.tokenizer.reserved[-4:] == ("<2xx>", "<formal>", "<informal>", "<similar>")
    assert "<formal>" not in found.tokenizer.pieces(found.tokenizer.encode("a <formal> text"))
    languages = [piece for piece in old.reserved if piece.startswith("<2")]
    assert old.pieces(found.parts[0]) == old.pieces(found.parts[3]) == (languages or list(old.reserved))
    assert {f"{SPACE}Sie", f"{SPACE}vous"} <= set(old.pieces(found.parts[1]))
    assert {f"{SPACE}du", f"{SPACE}tu"} <= set(old.pieces(found.parts[2]))
