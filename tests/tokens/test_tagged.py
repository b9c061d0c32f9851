"""A tokenizer for one direction: the tag before every source, and nothing else changed."""

import pytest

from limelight.errors import UserError
from limelight.tokens import TaggedTokenizer, Tokenizer, Tokenizers, tagged, train_tokenizer

TEXTS = ["a cat sat here", "eine katze saß da", "<2de> is text"]


@pytest.fixture(scope="module")
def plain() -> Tokenizer:
    return train_tokenizer(
        TEXTS, kind="bpe", vocabulary_size=330, languages=["en", "de"], byte_fallback=True, seed=1, sentences=3
    )


def test_the_tag_is_before_every_source_and_not_in_decoded_text(plain: Tokenizer) -> None:
    german = TaggedTokenizer(plain, "<2de>")
    rows = list(map(german.encode, TEXTS))
    assert rows == [german.encode(text) for text in TEXTS] == german.encode_sampled(TEXTS, amount=0.0, seed=1)
    assert [row[1:] for row in rows] == list(map(plain.encode, TEXTS))
    assert {german.pieces(row)[0] for row in rows} == {"<2de>"}
    assert [german.decode(row) for row in rows] == TEXTS
    assert all(row[0] == german.tags[0] for row in german.encode_sampled(TEXTS, amount=0.5, seed=3))


def test_a_language_without_a_tag_is_refused(plain: Tokenizer) -> None:
    with pytest.raises(UserError, match="this vocabulary has no reserved token <2fr>"):
        tagged(Tokenizers(plain, plain), "fr")


def test_tags_of_side_constraints_follow_that_of_the_language() -> None:
    reserved = ("<formal>", "<informal>", "<domain:legal>", "<similar>")
    tokenizer = train_tokenizer(
        TEXTS, kind="bpe", vocabulary_size=340, languages=["de"], byte_fallback=True, seed=1, sentences=3,
        reserved=reserved,
    )  # fmt: skip
    source = tagged(Tokenizers(tokenizer, tokenizer), "de", "<formal>", "<domain:legal>").source
    ids = source.encode("a cat")
    assert set(reserved) <= set(source.tokenizer.reserved)
    assert source.pieces(ids[:3]) == ["<2de>", "<formal>", "<domain:legal>"]
    assert ids[3:] == tokenizer.encode("a cat")
    assert tokenizer.decode(ids) == "a cat"
    written = "<formal> a cat <similar> <domain:legal>"
    assert tokenizer.decode(tokenizer.encode(written)) == written, "the same characters in a text are text"
    assert not {tokenizer.reserved_id(piece) for piece in reserved} & set(tokenizer.encode(written))
