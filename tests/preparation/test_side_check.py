"""Text on which training cannot succeed: found in any part of a file, and clean text is not accused."""

import random

import pytest

from limelight.preparation.sides import SideCheck, check_sides, draw_sample
from limelight.text.judge import likely_language
from limelight.text.pair import Pair
from tests.preparation.parallel import invented_pairs
from tests.text.test_languages import TEXTS

Sides = list[tuple[str, str]]


def checked(pairs: Sides, source: str = "", target: str = "") -> SideCheck:
    lines = [Pair(*sides, "f.tsv", line) for line, sides in enumerate(pairs, start=1)]
    return check_sides(draw_sample(lines), "f.tsv", source, target)


def in_languages(source: str, target: str, count: int, seed: int) -> Sides:
    """Invented pairs with three function words of a language in each."""
    draw = random.Random(seed)
    return [
        (
            f"{one} {' '.join(draw.choices(TEXTS[source].split(), k=8))}",
            f"{other} {' '.join(draw.choices(TEXTS[target].split(), k=8))}",
        )
        for one, other in invented_pairs(count, seed)
    ]


@pytest.mark.parametrize("count", [200, 1000, 6000])
def test_clean_text_is_not_accused(count: int, seed: int) -> None:
    found = checked(invented_pairs(count, seed))
    assert found.findings == []
    assert found.wrong == 0
    assert "% of the words find a partner" in found.measured


def test_sorted_text_with_many_translations_of_a_sentence_is_not_accused(seed: int) -> None:
    pairs = invented_pairs(400, seed)
    assert checked(sorted(pairs * 4)).findings == []


@pytest.mark.parametrize("begin", [40, 900])
def test_a_missing_target_is_found_with_its_line(begin: int, seed: int) -> None:
    pairs = invented_pairs(1200, seed)
    shifted = [(source, pairs[row + (row >= begin)][1]) for row, (source, _) in enumerate(pairs[:-1])]
    (finding,) = checked(shifted).findings
    assert abs(finding.rows.first - begin) <= 6
    assert f"from line {finding.rows.first + 1:,} on the sides do not belong together: " in finding.text
    assert (
        "the translation of each source is in the line before it: is a line of the target side missing" in finding.text
    )
    assert checked(shifted).wrong == pytest.approx(1 - begin / 1199, abs=0.01)


def test_a_missing_source_is_found(seed: int) -> None:
    pairs = invented_pairs(1200, seed)
    shifted = [(pairs[row + (row >= 500)][0], target) for row, (_, target) in enumerate(pairs[:-1])]
    (finding,) = checked(shifted).findings
    assert abs(finding.rows.first - 500) <= 6
    assert (
        "the translation of each source is in the line after it: is a line of the source side missing" in finding.text
    )


def test_shuffled_lines_are_found_where_they_are(seed: int) -> None:
    pairs = invented_pairs(1500, seed)
    targets = [target for _, target in pairs]
    part = targets[500:900]
    random.Random(seed).shuffle(part)
    targets[500:900] = part
    (finding,) = checked([(source, target) for (source, _), target in zip(pairs, targets, strict=True)]).findings
    assert abs(finding.rows.first - 500) <= 10
    assert abs(finding.rows.end - 900) <= 10
    assert "was one side sorted, shuffled, or taken from another text?" in finding.text
    random.Random(seed).shuffle(targets)
    whole = checked([(source, target) for (source, _), target in zip(pairs, targets, strict=True)])
    assert "in all lines the sides do not belong together" in whole.findings[0].text
    assert whole.wrong > 0.95


def test_columns_that_are_swapped_from_a_line_on_are_found(seed: int) -> None:
    pairs = in_languages("en", "fr", 1500, seed)
    late = [(target, source) if row >= 1000 else (source, target) for row, (source, target) in enumerate(pairs)]
    found = checked(late)
    (finding,) = found.findings
    assert abs(finding.rows.first - 1000) <= 3
    assert (
        "the source side looks like fr, elsewhere like en; the target side looks like en, elsewhere like fr"
        in finding.text
    )
    assert "are the sides swapped there?" in finding.text
    assert found.languages == ("en", "fr")
    assert found.wrong == pytest.approx(1 / 3, abs=0.01)


def test_a_stretch_in_another_language_is_found(seed: int) -> None:
    pairs, others = in_languages("en", "fr", 1500, seed), in_languages("en", "es", 1500, seed)
    (finding,) = checked(pairs[:600] + others[600:800] + pairs[800:]).findings
    assert abs(finding.rows.first - 600) <= 3
    assert abs(finding.rows.end - 800) <= 3
    assert "the target side looks like es, elsewhere like fr; are these lines of another text?" in finding.text


def test_what_cannot_be_told_is_not_said(seed: int) -> None:
    """Few pairs, and pairs of words that occur once."""
    pairs = invented_pairs(100, seed)
    wrong = [(one, other) for (one, _), (_, other) in zip(pairs, pairs[::-1], strict=True)]
    assert checked(wrong) == SideCheck()
    assert checked([]) == SideCheck()
    names = [(f"word{number}", f"wort{2 * number}") for number in range(500)]
    assert checked(names) == SideCheck()


def test_a_declared_language_is_compared_with_the_whole_side() -> None:
    swapped = [(TEXTS["fr"], TEXTS["en"])] * 40
    found = checked(swapped, "en", "fr")
    assert found.wrong == 1
    assert found.findings[0].text.endswith("are the sides swapped?")
    words = list(zip(TEXTS["fr"].split() * 30, (TEXTS["en"].split() * 30), strict=False))
    found = checked(words, "en", "fr")
    assert found.wrong == 0  # a warning
    assert found.findings


def test_the_language_of_most_of_a_file_may_be_an_uncertain_one(seed: int) -> None:
    """Words such as "to", "my", "a" and "do" are Czech as well, so English is uncertain here, and French is not."""
    draw = random.Random(seed)
    english, french = ("to my do to my and the you", "je ne pas est une dans les vous pour")
    pairs = [
        (
            f"{one} {' '.join(draw.choices(english.split(), k=8))}",
            f"{other} {' '.join(draw.choices(french.split(), k=8))}",
        )
        for one, other in invented_pairs(1500, seed)
    ]
    assert likely_language([source for source, _ in pairs]) == ""
    assert likely_language([target for _, target in pairs]) == "fr"
    found = checked([pair[::-1] if 600 <= row < 1000 else pair for row, pair in enumerate(pairs)])
    assert all(each.rows.first >= 590 and each.rows.end <= 1010 for each in found.findings)
    assert found.languages[0] != "fr"
    assert found.languages[1] == "fr"
