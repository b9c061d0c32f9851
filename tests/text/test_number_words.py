"""Numbers as words."""

from fractions import Fraction

import pytest

from limelight.text.number_words import _ONES, _TENS, MAX_LETTERS, has_fraction, number_runs, scale_of, word_values


@pytest.mark.parametrize(
    ("text", "language", "value"),
    [
        ("twenty-five dogs", "en", 25),
        ("two hundred and five", "en", 205),
        ("two thousand and five", "en", 2005),
        ("three hundred thousand", "en", 300_000),
        ("a million", "en", 10**6),
        ("the twelfth", "en", 12),
        ("the nineties", "en", 90),
        ("fünfundzwanzig Hunde", "de", 25),
        ("zweihundertfünf", "de", 205),
        ("dreiundzwanzigtausend", "de", 23_000),
        ("in den Achtzigern", "de", 80),
        ("am Dreißigsten", "de", 30),
        ("zehnminütig", "de", 10),
        ("ein Dutzend", "de", 12),
        ("vingt-cinq", "fr", 25),
        ("vingt et un", "fr", 21),
        ("soixante-dix-sept", "fr", 77),
        ("quatre-vingt-dix-sept", "fr", 97),
        ("quatre-vingts", "fr", 80),
        ("deux cents", "fr", 200),
        ("la première", "fr", 1),
        ("mille neuf cent", "fr", 1900),
        ("mille neuf cent quatre-vingt-dix-huit", "fr", 1998),
        ("cent quatre-vingts", "fr", 180),
        ("nineteen ninety-eight", "en", 1998),
        ("two dozen", "en", 24),
        ("deux douzaines", "fr", 24),
        ("ein Fünftel", "de", 5),
        ("am ersten Mai", "de", 1),
        ("zu dreien", "de", 3),
        ("zweieinhalb", "de", 2),
        ("une cinquantaine", "fr", 50),
        ("drei Zwanzigstel", "de", 20),
        ("XIXe siècle", "fr", 19),
        ("XX. Jahrhundert", "de", 20),
        ("zwei", "", 2),
    ],
)
def test_words_have_their_value(text: str, language: str, value: int) -> None:
    assert word_values(text, language)[value] > 0


def test_each_word_counts_once() -> None:
    assert word_values("two dogs and two cats", "en")[2] == 2
    assert word_values("nichts davon", "de").total() == 0
    assert word_values("two", "de")[2] == 0


@pytest.mark.parametrize(
    ("text", "language", "runs"),
    [
        ("two million three hundred thousand and five", "en", [(2_300_005, 6)]),
        ("a twenty-year-old", "en", [(1, 1), (20, 1)]),
        ("une vingtaine de livres", "fr", [(1, 1), (20, 1)]),
        ("thirteen, fourteen", "en", [(13, 1), (14, 1)]),
        ("between twenty and thirty", "en", [(20, 1), (30, 1)]),
        ("entre vingt et trente et un", "fr", [(20, 1), (31, 2)]),
        ("half a dozen", "en", [(12, 2)]),
        ("im siebzehnten Jahrhundert", "de", [(17, 1)]),
        ("vingt milles", "fr", [(20, 1)]),
        ("soixante et onze", "fr", [(71, 2)]),
        ("ten thirty", "en", [(10, 1), (30, 1)]),
        ("hundred hundred thousand thousand", "en", [(100, 1), (100_000, 2), (1000, 1)]),
    ],
)
def test_a_number_ends_where_another_one_begins(text: str, language: str, runs: list[tuple[int, int]]) -> None:
    assert number_runs(text, language) == runs
    assert all(word_values(text, language)[value] for value, _ in runs)


@pytest.mark.parametrize("part", ["tausend", "hundert", "und", "ein"])
def test_a_long_german_word_is_no_number(part: str) -> None:
    assert number_runs(f"{part * 5000} zwei", "de") == [(2, 1)]
    longest = "siebenhundertsiebenundsiebzigtausendsiebenhundertsiebenundsiebzig"
    assert len(longest) < MAX_LETTERS
    assert number_runs(longest, "de") == [(777_777, 1)]


def test_words_of_every_number_below_a_thousand_in_german() -> None:
    ones = _ONES["de"].split()
    tens = _TENS["de"].split()
    for number in range(1, 1000):
        hundreds, rest = divmod(number, 100)
        text = f"{ones[hundreds] if hundreds > 1 else 'ein'}hundert" if hundreds else ""
        text += "" if not rest else ones[rest] if rest < 20 else ("" if not rest % 10 else f"{ones[rest % 10]}und")
        text += tens[rest // 10 - 2] if rest >= 20 else ""
        assert word_values(text, "de")[number] > 0, text


def test_scales_differ_by_language() -> None:
    assert [scale_of("billion", each) for each in ("en", "de", "fr")] == [10**9, 10**12, 10**12]
    assert scale_of("Mrd", "de") == 10**9
    assert scale_of("cents", "fr") == scale_of("milles", "fr") == 1
    assert scale_of("millones", "es") == 10**6
    assert scale_of("dogs", "en") == 1


def test_fractions_have_words() -> None:
    assert has_fraction(Fraction(1, 2), "eine halbe Stunde")
    assert has_fraction(Fraction(1, 4), "un quart")
    assert not has_fraction(Fraction(1, 3), "half")
    assert not has_fraction(Fraction(1, 7), "half")
