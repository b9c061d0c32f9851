"""Bad translations are found by their first reason, and good ones are left alone."""

import pytest

from limelight.corpus.synthesis import REASONS, fault


@pytest.mark.parametrize(
    ("source", "translation", "finished", "reason"),
    [
        ("A dog runs.", "Ein Hund rennt.", True, ""),
        ("A dog runs.", "", True, "empty"),
        ("A dog runs.", "Ein Hund", False, "unfinished"),
        ("A dog runs.", "Ein Hund rennt, ein Hund rennt, ein Hund rennt, ein Hund rennt,", True, "loop"),
        ("A dog runs.", "Ein Hund rennt, ein Hund rennt.", True, ""),
        ("no no no no no", "nein nein nein nein nein", True, ""),
        ("A dog.", "Ein Hund " + "und noch viel mehr als das ist hier", True, "length_ratio"),
        ("ok", "einverstanden", True, ""),  # under 20 characters a ratio says nothing
        ("Caf\u0065\u0301  Berlin", "Café Berlin", True, "copy"),
    ],
)
def test_the_first_reason_that_holds(source: str, translation: str, finished: bool, reason: str) -> None:
    assert fault(source, translation, finished=finished, max_length_ratio=6.0) == reason
    assert not reason or reason in REASONS
