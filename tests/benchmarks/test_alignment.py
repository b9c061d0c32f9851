"""AER against numbers by hand."""

import pytest

from benchmarks.attention import GoldAlignment, alignment_error_rate, read_gold
from limelight.errors import UserError

GOLD = read_gold("0-0 1-2 2p1")


def test_links_are_read() -> None:
    assert GoldAlignment(frozenset({(0, 0), (1, 2)}), frozenset({(0, 0), (1, 2), (2, 1)})) == GOLD
    assert read_gold("") == GoldAlignment(frozenset(), frozenset())
    for wrong in ("0", "0-", "-1", "a-b", "0-1-2", "0:1"):
        with pytest.raises(UserError, match="is not a link"):
            read_gold(wrong)


@pytest.mark.parametrize(
    ("links", "rate"),
    [
        ([(0, 0), (1, 2)], 0.0),
        ([(0, 0), (1, 2), (2, 1)], 0.0),  # possible links cost nothing
        ([(0, 0)], 1 - 2 / 3),
        ([(0, 0), (1, 1)], 1 - 2 / 4),
        ([], 1.0),
    ],
)
def test_the_rate_is_that_of_the_equation(links: list[tuple[int, int]], rate: float) -> None:
    assert alignment_error_rate([links], [GOLD]) == pytest.approx(rate)


def test_sentences_are_pooled_and_counted() -> None:
    assert alignment_error_rate([[(0, 0), (1, 2)], [(5, 5)]], [GOLD, read_gold("5-5 6-6")]) == pytest.approx(1 - 6 / 7)
    with pytest.raises(ValueError, match=r"shorter|longer"):
        alignment_error_rate([[]], [])
    with pytest.raises(ValueError, match="no links"):
        alignment_error_rate([[]], [read_gold("")])
