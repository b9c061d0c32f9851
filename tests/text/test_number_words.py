"""Numbers as words."""

from fractions import Fraction

import pytest

from limelight.text.number_words import _ONES, _TENS, has_fraction, scale_of, word_values


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
    assert scale_of("cents", "fr") == 1
    assert scale_of("millones", "es") == 10**6
    assert scale_of("dogs", "en") == 1


def test_fractions_have_words() -> None:
    assert has_fraction(Fraction(1, 2), "eine halbe Stunde")
    assert has_fraction(Fraction(1, 4), "un quart")
    assert not has_fraction(Fraction(1, 3), "half")
    assert not has_fraction(Fraction(1, 7), "half")
