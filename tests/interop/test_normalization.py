"""The rules do what `normalize` does, seen through the library that applies them."""

import unicodedata

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from limelight.interop.normalization import RULE_NAME, compiled_rules, rules
from limelight.tokens import normalize
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


def test_a_rule_leads_where_normalization_leads() -> None:
    found = rules()
    for spelling, wanted in list(found.items())[:: 1 + len(found) // 1000]:
        assert normalize(f"|{spelling}|") == normalize(f"|{wanted}|") == f"|{wanted}|"
        assert spelling != wanted
    assert found["e\u0301"] == "é"
    assert found["\u212b"] == "Å"
    assert found["\u3000"] == found["▁"] == " "
    # three spellings of one Vietnamese letter, and of a Korean syllable
    assert found["o\u0323\u0302"] == found["o\u0302\u0323"] == found["\u1ecd\u0302"] == found["ô\u0323"] == "ộ"
    assert found["\u1112\u1161\u11ab"] == found["\ud558\u11ab"] == "한"
    assert "\u00a0" not in found
    assert "ﬁ" not in found


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
