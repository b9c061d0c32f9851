"""Text on which training cannot succeed: found in any part of a file, and clean text is not accused."""

import random

import pytest

from limelight.preparation.sides import (
    SideCheck,
    check_sides,
    draw_sample,
)
from limelight.text.pair import Pair
from tests.preparation.parallel import invented_pairs
from tests.text.test_languages import TEXTS

Sides = list[tuple[str, str]]


def numbered(pairs: Sides) -> list[Pair]:
    return [Pair(*sides, "f.tsv", line) for line, sides in enumerate(pairs, start=1)]


def checked(pairs: Sides, source: str = "", target: str = "") -> SideCheck:
    return check_sides(draw_sample(numbered(pairs)), "f.tsv", source, target)


def only(found: SideCheck) -> tuple[str, range]:
    (text,), (rows,) = found.findings, found.misaligned
    return text, rows


@pytest.mark.parametrize("count", [200, 1000, 6000])
def test_clean_text_is_not_accused(count: int, seed: int) -> None:
    found = checked(invented_pairs(count, seed))
    assert (found.findings, found.wrong) == ([], 0)
    assert "% of the pairs fit better" in found.measured
    assert checked(sorted(invented_pairs(count // 4, seed) * 4)).findings == []  # many translations of a sentence


@pytest.mark.parametrize(("begin", "side", "where"), [(300, 1, "before"), (900, 1, "before"), (900, 0, "after")])
def test_a_missing_line_is_found(begin: int, side: int, where: str, seed: int) -> None:
    pairs = invented_pairs(1200, seed)
    later = [*pairs[:begin], *pairs[begin + 1 :]]
    shifted = [(one[0], other[1]) if side else (other[0], one[1]) for one, other in zip(pairs, later, strict=False)]
    text, rows = only(checked(shifted))
    assert abs(rows.start - begin) <= 10
    assert f"in lines {rows.start + 1:,} to {rows.stop:,} the sides do not belong together: " in text
    name = "target" if side else "source"
    assert f"the translation of each source is in the line {where} it: is a line of the {name} side missing" in text
    assert checked(shifted).wrong == pytest.approx(1 - begin / 1199, abs=0.01)


def test_shuffled_lines_are_found_where_they_are(seed: int) -> None:
    pairs = invented_pairs(1500, seed)
    targets = [target for _, target in pairs]
    part = targets[500:900]
    random.Random(seed).shuffle(part)
    targets[500:900] = part
    text, rows = only(checked([(source, target) for (source, _), target in zip(pairs, targets, strict=True)]))
    assert abs(rows.start - 500) <= 10
    assert abs(rows.stop - 900) <= 10
    assert "was one side sorted, shuffled, or taken from another text?" in text
    random.Random(seed).shuffle(targets)
    whole = checked([(source, target) for (source, _), target in zip(pairs, targets, strict=True)])
    assert "the sides do not belong together" in whole.findings[0]
    assert whole.wrong > 0.95


def test_what_cannot_be_told_is_not_said(seed: int) -> None:
    """Few pairs, and pairs of words that occur once."""
    pairs = invented_pairs(100, seed)
    wrong = [(one, other) for (one, _), (_, other) in zip(pairs, pairs[::-1], strict=True)]
    names = [(f"word{number}", f"wort{2 * number}") for number in range(500)]
    assert checked(wrong) == checked([]) == checked(names) == SideCheck([], [])


def test_a_declared_language_is_compared_with_the_whole_side() -> None:
    found = checked([(TEXTS["fr"], TEXTS["en"])] * 40, "en", "fr")
    assert found.wrong == 1
    assert found.findings[0].endswith("are the sides swapped?")
    assert "the target side, said to be de, looks like fr; give --source" in checked(
        [(TEXTS["en"], TEXTS["fr"])] * 40, "en", "de"
    ).findings[0]  # fmt: skip
    words = list(zip(TEXTS["fr"].split() * 30, (TEXTS["en"].split() * 30), strict=False))
    found = checked(words, "en", "fr")
    assert found.wrong == 0  # a warning
    assert found.findings
