"""What a check looks for first, because it takes less time, never changes its result."""

import random
import re
from collections.abc import Callable, Iterator

import pytest

from limelight.pipelines.guards import faults
from limelight.text import checks, kept_signs, measures, number_words, numbers, ordinals, spelling

ALWAYS, NEVER, EVERY_CHARACTER = re.compile(""), re.compile("(?!)"), re.compile("(?s:.)")
FILTERS = [
    (checks, "_PART_OF_ADDRESS", ALWAYS),
    (checks, "_ANY_QUOTE", ALWAYS),
    (checks, "_SMALL_WORD", NEVER),
    (checks, "_MAY_BE_CAPITAL", EVERY_CHARACTER),
    (checks, "_may_loop", lambda _word: True),
    (kept_signs, "_MAY_BE_SIGN", ALWAYS),
    (kept_signs, "_MAY_BE_FOREIGN", ALWAYS),
    (kept_signs, "_SIGN", re.compile(kept_signs._SIGN.pattern.removeprefix(f"(?={kept_signs._UNCOMMON})"))),
    (measures, "may_have_spoken_unit", lambda _text: True),
    (number_words, "_OF_ROMAN", ("",)),
    (numbers, "_MAY_BE_DIGIT", ALWAYS),
    (numbers, "_PART_OF_ROMAN", ALWAYS),
    (numbers, "_HALVES", ("",)),
    (ordinals, "_ENDS_OF_ROMAN", ("",)),
    (ordinals, "has_digits", lambda _text: True),
    (spelling, "_PART_OF_CODE", ALWAYS),
]
"""What each filter is replaced by, so that the check reads every text."""
LANGUAGES = ("en", "de", "fr")
WORDS = """
the a we walk home often street Haus über Straße gehen où l'été chose très never nicht kein pas ne two drei six ten zehn
onze hundred einhalb anderthalb half demi quarter Viertel quart past nach fünf to five heures miles Euro cent pound
dozen and und et or oder ou to bis à 3 12 1,299.50 1.5 10:30 10h30 5% 5 % €7 7 kg ½ ₂ ٣ ² & > < ≤5 ~3 ± § → * _ ` {x}
[1] | @ # “ ” „ ' ‘ ’ " « » . ... ? https://a.org/x a@b.de www.x.org A.B H2O kWh NATO Nato LaTeX COVID-19 base64 XIX
XXIe IV Xe I Łódź Ñandú Ã São Ålesund K ſ ǅ µ º ª ß Ÿ \u00a0 \u00ad \u200d 21st 3rd 13. 1990s 80er 5. Mai May 5
HOUSE HELLO The Big nononononono aaaaaaaaaaaaaaaa
""".split()  # noqa: SIM905


@pytest.fixture(autouse=True)
def _forget_digits() -> Iterator[None]:
    numbers.has_digits.cache_clear()
    yield
    numbers.has_digits.cache_clear()


def drawn(draw: random.Random) -> tuple[str, str, tuple[str, str]]:
    """A source, its translation, which has many of its words, and their languages."""
    source = draw.choices(WORDS, k=draw.randint(0, 12))
    output = [each if draw.random() < 0.7 else draw.choice(WORDS) for each in source if draw.random() < 0.9]
    if draw.random() < 0.2:
        output += 4 * output[-1:]
    glue = draw.choice((" ", " ", " ", ""))
    return " ".join(source), glue.join(output), (draw.choice(LANGUAGES), draw.choice(LANGUAGES))


def result(source: str, output: str, languages: tuple[str, str]) -> object:
    """What all checks find in a translation."""
    found = spelling.misspelled(source, output), kept_signs.find_foreign_words(source, languages)
    cases = checks.is_title(source), checks.is_capitals(source), checks.is_title(output), checks.is_capitals(output)
    return faults(source, output, languages), found, cases, [*kept_signs.find_signs(source)]


@pytest.mark.parametrize(("module", "name", "other"), FILTERS, ids=[f"{m.__name__}.{n}" for m, n, _ in FILTERS])
def test_a_check_finds_the_same_without_its_filter(
    module: object,
    name: str,
    other: re.Pattern[str] | tuple[str, ...] | Callable[..., bool],
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
) -> None:
    draw = random.Random(seed)
    cases = [drawn(draw) for _ in range(60)]
    with_filter = [result(*case) for case in cases]
    numbers.has_digits.cache_clear()
    monkeypatch.setattr(module, name, other)
    for case, expected in zip(cases, with_filter, strict=True):
        assert result(*case) == expected, case
