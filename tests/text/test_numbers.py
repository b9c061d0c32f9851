"""Numbers: what is written in a notation is read back, carried into another one, and found when it is changed."""

import random
import re
import time
from fractions import Fraction
from unittest.mock import Mock

import pytest

from limelight.text import numbers
from limelight.text.marking import placeholder
from limelight.text.numbers import NOTATIONS, carried_numbers, compare_numbers, find_numbers
from limelight.text.words import replaced

WORDS = ["we", "saw", "about", "of", "them", "and", "it", "was", "then", "with", "more", "less"]


def written(value: Fraction, language: str, places: int) -> str:
    """A value as a language writes it, with groups of three digits."""
    whole, decimals = divmod(abs(value), 1)
    digits = f"{int(whole):,}".replace(",", NOTATIONS[language].group)
    tail = f"{int(decimals * 10**places):0{places}}" if places else ""
    return f"{'-' * (value < 0)}{digits}{NOTATIONS[language].decimal * bool(tail)}{tail}"


def drawn(draw: random.Random, languages: tuple[str, str]) -> tuple[str, str, list[Fraction]]:
    """A sentence with numbers, the same in another language, and their values."""
    values, texts = list[Fraction](), (list[str](), list[str]())
    for _ in range(draw.randint(1, 4)):
        places = draw.choice((0, 0, 1, 2, 3))
        value = Fraction(draw.choice((draw.randint(13, 999), draw.randint(1000, 10**8)))) + Fraction(
            draw.randint(0, 10**places - 1), 10**places
        )
        values.append(value)
        for several, language in zip(texts, languages, strict=True):
            several += [draw.choice(WORDS), written(value, language, places)]
    return " ".join([*texts[0], "here"]), " ".join([*texts[1], "there"]), values


@pytest.fixture(params=range(6))
def draw(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(request.param)


def test_what_is_written_in_a_notation_is_read_back_and_carried(draw: random.Random) -> None:
    for _ in range(200):
        languages = draw.choice([*NOTATIONS]), draw.choice([*NOTATIONS])
        source, output, values = drawn(draw, languages)
        pairs = zip(find_numbers(source, languages[0]), values, strict=True)
        assert all(value in each.readings for each, value in pairs)
        assert compare_numbers(source, output, languages) == ((), ())
        carried = list(carried_numbers(source, languages, every=True))
        replaced = source
        for begin, end, *_, text in reversed(carried):
            replaced = replaced[:begin] + text + replaced[end:]
        pairs = zip(find_numbers(replaced, languages[1]), values, strict=True)
        assert all(value in each.readings for each, value in pairs)


def test_a_changed_digit_is_found(draw: random.Random) -> None:
    for _ in range(200):
        languages = draw.choice([*NOTATIONS]), draw.choice([*NOTATIONS])
        source, output, _ = drawn(draw, languages)
        digits = [match.start() for match in re.finditer(r"(?<!\d)[1-9]", output)]
        place = draw.choice(digits)
        other = draw.choice([each for each in "123456789" if each != output[place]])
        assert compare_numbers(source, output[:place] + other + output[place + 1 :], languages).lost


SAME = [
    ("3 dogs and 5 cats", "drei Hunde und fünf Katzen", "en", "de"),
    ("at 7:05 pm", "um 19:05 Uhr", "en", "de"),
    ("at 3 p.m. today", "heute um 15 Uhr", "en", "de"),
    ("à 7 h 30", "at 7:30", "fr", "en"),
    ("à 19h05", "at 19:05", "fr", "en"),
    ("on May 3, 1987", "am 3. Mai 1987", "en", "de"),
    ("the 12th of June 1999", "le 12 juin 1999", "en", "fr"),
    ("5/12/2026", "12. Mai 2026", "en", "de"),
    ("on May 3, 1987", "3 maja 1987", "en", "pl"),
    ("1½ cups", "1,5 Tassen", "en", "de"),
    ("3万人", "30,000 people", "zh", "en"),
    ("2 million people", "200万人", "en", "zh"),
    ("3万5千人と1億2345万円", "35,000 people and 123,450,000 yen", "ja", "en"),
    ("1万2,000人と1億2,345万円、-3万5千", "12,000 people and 123,450,000 yen, -35,000", "ja", "en"),
    ("投资500万3年收回", "5 million, back in 3 years", "zh", "en"),
    ("2千5百万円と1億2千3百万", "25 million yen and 123,000,000", "ja", "en"),
    ("12.5 percent", "12,5 في المائة", "en", "ar"),
    ("In March 15 people died.", "Im März starben 15 Menschen.", "en", "de"),
    ("१२ दिन", "12 days", "hi", "en"),
    ("٣٫٥", "3.5", "ar", "en"),
    ("version 3.12, A4, 192.168.0.1", "Version 3.12, A4, 192.168.0.1", "en", "de"),
    ("1990s", "90er", "en", "de"),
]
OTHER = [
    ("1,299 euros", "1,299 Euro", "en", "de"),
    ("-5 °C", "5 °C", "en", "de"),
    ("at 7:05 pm", "um 7:05 Uhr", "en", "de"),
    ("3万5千人", "3,500 people", "ja", "en"),
    ("at 7:05 pm", "um 7:05 pm", "en", "de"),
    ("on May 3, 1987", "am 4. Mai 1987", "en", "de"),
    ("at 19:30", "à 19 30", "en", "fr"),
    ("3 dogs", "4 Hunde", "en", "de"),
    ("version 3.12", "Version 3.21", "en", "de"),
]


@pytest.mark.parametrize(("source", "output", "one", "other"), SAME[:-1])
def test_equal_values_in_other_notations(source: str, output: str, one: str, other: str) -> None:
    assert compare_numbers(source, output, (one, other)) == ((), ())
    assert compare_numbers(output, source, (other, one)) == ((), ())


@pytest.mark.parametrize(("source", "output", "one", "other"), OTHER)
def test_other_values(source: str, output: str, one: str, other: str) -> None:
    assert compare_numbers(source, output, (one, other)).lost


def test_what_is_within_a_number_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of such numbers would take the square of its length."""
    read = Mock(side_effect=numbers._read)
    monkeypatch.setattr(numbers, "_read", read)
    assert len(numbers.find_numbers("1万" * 50, "ja")) == read.call_count == 1


def test_a_wide_colon_is_a_colon() -> None:
    assert compare_numbers("at 14:30", "在14：30", ("en", "zh")) == ((), ())


def test_only_numbers_with_separators_are_carried_at_first() -> None:
    text = "In 2024 we paid $1,299.50 for 3 of 10.5 kg (A4, 1.2.3), 21st, at 7:05 pm on May 3, 2024; ½ of -5 °C."
    found = [text for *_, text in carried_numbers(text, ("en", "de"))]
    assert found == ["1.299,50\u00a0$", "10,5 kg", "1.2.3", "½", "-5 °C"]
    every = [text for *_, text in carried_numbers(text, ("en", "de"), every=True)]
    assert every == ["2024", "1.299,50\u00a0$", "3", "10,5 kg", "A4", "1.2.3", "19:05", "3", "2024", "½", "-5 °C"]


@pytest.mark.parametrize(
    ("text", "source", "target", "carried"),
    [
        ("2 500 mg tablets", "en", "de", ["2 500 mg"]),  # maybe two numbers
        ("2 500,5", "fr", "en", ["2,500.5"]),
        ("1 250 000,50 €", "de", "en", ["€1,250,000.50"]),
        ("at 5:30 pm", "en", "zh", ["17:30"]),
        ("May 3, 2024", "en", "zh", ["3", "2024"]),
        ("2.5 kg, 2.5", "en", "ru", ["2,5"]),  # the model writes a unit in another script
        ("٣٫٥", "ar", "en", ["3.5"]),
        ("١٢٫٥٪", "ar", "en", ["12.5%"]),
        ("۱۴۰۲/۰۵/۱۲", "fa", "en", ["1402/05/12"]),
        ("১,২৯৯", "bn", "en", ["1,299"]),
    ],
)
def test_what_another_language_has_instead(text: str, source: str, target: str, carried: list[str]) -> None:
    assert [text for *_, text in carried_numbers(text, (source, target), every=True)] == carried


def test_a_language_without_a_notation_keeps_numbers_as_they_are() -> None:
    assert [text for *_, text in carried_numbers("1,299.50", ("en", "xx"))] == ["1,299.50"]
    assert compare_numbers("1,299.50", "1.299,50", ("", "")) == ((), ())


def test_a_number_is_only_added_where_the_source_has_numbers() -> None:
    assert compare_numbers("twenty dogs", "20 Hunde", ("en", "de")) == ((), ())
    assert compare_numbers("5 dogs", "5 Hunde, 60 Katzen", ("en", "de")).added == ("60",)
    mark = placeholder(0)
    assert compare_numbers(f"{mark} dogs", f"{mark} 60 Hunde", ("en", "de")).added == ("60",)


@pytest.mark.parametrize("text", ["1" + "'11" * 20_000, "1" + ".111" * 20_000 + ".11", "\u0384" * 40_000 + " 1"])
def test_digits_in_groups_take_linear_time(text: str) -> None:
    began = time.process_time()
    find_numbers(text, "en")
    assert time.process_time() - began < 3  # 10 seconds and more in quadratic time


@pytest.mark.parametrize(
    ("source", "target", "languages"),
    [
        ("No.5 is here", "No.5 is here", ("en", "de")),
        ("see Fig.3 and p.12", "see Fig.3 and p.12", ("en", "de")),
        ("US$5.50 or HK$1,200", "US$5,50 or HK$1.200", ("en", "de")),
        ("$5.50", "5,50\u00a0$", ("en", "de")),
        ("$1.5B", "$1,5B", ("en", "de")),
        ("१,२३४.५", "1,234.5", ("hi", "en")),
    ],
)
def test_numbers_beside_letters_and_signs(source: str, target: str, languages: tuple[str, str]) -> None:
    carried = carried_numbers(source, languages)
    assert replaced(source, ((begin, end, text) for begin, end, *_, text in carried)) == target


def test_a_number_of_thousands_of_digits_is_compared_as_text() -> None:
    """Python refuses to read it as an integer."""
    number = "1." + "9" * 5000
    assert [text for *_, text in carried_numbers(f"{number} A{number}", ("en", "de"))] == [number]
    assert compare_numbers(number, number[:-1], ("en", "de")).lost == (number,)
    assert compare_numbers(number, number, ("en", "de")) == ((), ())
