"""Bad translations are found by their first reason, and good ones are left alone."""

import pytest

from limelight.synthesis.filters import REASONS, count_repeats, fault
from limelight.text.scripts import split_words


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 1),
        ("a", 1),
        ("a b c", 1),
        ("a a", 2),
        ("the the the the cat", 4),
        ("of a man of a man of a man .", 3),
        ("x of a man of a man of a man of", 3),
        ("a b a b a", 2),
        ("no, no, no", 2),
        ("!!!!!!!!", 1),
        ("哈哈哈哈", 4),
        ("我喜歡我喜歡我喜歡", 3),
        ("1 2 3 4 5 6 7 8 9 10 " * 3, 3),
        ("1 2 3 4 5 6 7 8 9 10 11 " * 3, 1),
    ],
)
def test_repetitions_are_counted_by_phrases(text: str, count: int) -> None:
    assert count_repeats(split_words(text)) == count


@pytest.mark.parametrize(
    ("source", "translation", "finished", "reason"),
    [
        ("A dog runs.", "Ein Hund rennt.", True, ""),
        ("A dog runs.", "", True, "empty"),
        ("A dog runs.", "Ein Hund", False, "unfinished"),
        ("A dog runs.", "Ein Hund Hund Hund Hund", True, "loop"),
        ("A dog runs.", "Ein Hund rennt, ein Hund rennt, ein Hund rennt, ein Hund rennt,", True, "loop"),
        ("no no no no no", "nein nein nein nein nein", True, ""),
        ("A dog.", "Ein Hund " + "und noch viel mehr als das ist hier", True, "length_ratio"),
        ("ok", "einverstanden", True, ""),  # under 20 characters a ratio says nothing
        ("Caf\u0065\u0301  Berlin", "Café Berlin", True, "copy"),
        ("Berlin", "berlin", True, ""),
    ],
)
def test_the_first_reason_that_holds(source: str, translation: str, finished: bool, reason: str) -> None:
    assert fault(source, translation, finished=finished, max_length_ratio=6.0) == reason
    assert not reason or reason in REASONS
