import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import drawable, shown
from limelight.inspection.words import merge_rows_and_columns, readable

WORDS = st.lists(st.integers(1, 4), min_size=1, max_size=7).map(
    lambda sizes: tuple(word for word, size in enumerate(sizes) for _ in range(size))
)


@given(rows=WORDS, columns=WORDS, seed=st.integers(0, 2**32 - 1))
def test_merging_keeps_the_sum_of_every_row(rows, columns, seed):
    weights = np.random.default_rng(seed).random((2, 3, len(rows), len(columns)), dtype=np.float32)
    merged = merge_rows_and_columns(weights, rows, columns)
    assert merged.shape == (2, 3, rows[-1] + 1, columns[-1] + 1)
    for word in range(rows[-1] + 1):
        asked = [place for place, other in enumerate(rows) if other == word]
        np.testing.assert_allclose(merged[..., word, :].sum(-1), weights[..., asked, :].sum(-1).mean(-1), rtol=1e-5)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("▁light", "light"),
        ("house", "house"),
        ("▁Stra<0xC3><0x9F>e", "Straße"),
        ("▁<0xF0><0x9F><0x98><0x80>", "😀"),
        ("▁<0xC3>", "\ufffd"),
        ("▁", "▁"),
        ("▁<ph3>", "<ph3>"),
        ("</s>", "</s>"),
    ],
)
def test_words_read_as_text(text, shown):
    assert readable(text) == shown


@pytest.mark.parametrize("letter", ["\n", "\x1b", "\x00", "\u202e", "\u2028", "\ud800", "\ufffe"])
def test_what_cannot_be_drawn_is_replaced(letter):
    assert drawable(f"a{letter}b") == shown(f"a{letter}b") == "a\ufffdb"


@pytest.mark.parametrize("text", ["می\u200cروم", "ශ්\u200dරී", "ខ្ញុំ\u200bទៅ", "10\xa0km"])
def test_joiners_are_shown(text):
    assert shown(text) == text
