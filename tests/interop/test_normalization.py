"""The rules do what `normalize` does, seen through the library that applies them."""

import unicodedata

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from limelight.interop.vocabularies import RULE_NAME, compiled_rules
from limelight.tokens.metadata import read_stored
from limelight.tokens.sentencepiece_file import with_rules
from tests.interop.helpers import ENGLISH, GERMAN, MANY, make_tokenizers

SPACES = "a\tb \u3000 c\u2028d\x85e\u1680f\u00a0g\u202fh\u2007i\u200bj ▁k▁▁l\r\nm"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[object, object]:
    """Our tokenizer, and a processor of its model with the rules inside."""
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer = make_tokenizers(joint=True).source
    tokenizer.save(folder)
    model = with_rules(read_stored(folder)[1], RULE_NAME, compiled_rules())
    return tokenizer, sentencepiece.SentencePieceProcessor(model_proto=model)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("text", [*ENGLISH[:2], *GERMAN, *MANY, SPACES, "  x ", "", "İıſßẞ ǅ", "👩‍👩‍👧 a<ph3>b <2de>"])
def test_texts_of_many_scripts_become_the_same_pieces(pair: tuple, text: str, form: str) -> None:
    tokenizer, processor = pair
    text = unicodedata.normalize(form, text)
    assert processor.encode(text) == tokenizer.encode(text)


# One mark at most on a letter: several in another order than the canonical one are beyond such rules.
LETTERS = st.sampled_from([*"aeouy nz.", "\u3000", "\t", "▁", "<ph1>", "한", "가", "\uf900", "字", "\u1100", "ب"])
MARKS = st.sampled_from(["", "", "\u0301", "\u0308", "\u0323", "\u0327", "\u1161", "\u093c"])


@given(st.lists(st.tuples(LETTERS, MARKS), max_size=12))
def test_random_texts_become_the_same_pieces(pair: tuple, parts: list[tuple[str, str]]) -> None:
    tokenizer, processor = pair
    text = "".join(letter + mark for letter, mark in parts)
    assert processor.encode(text) == tokenizer.encode(text)
