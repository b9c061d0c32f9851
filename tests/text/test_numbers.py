"""The values of numbers, read by the rules of a language."""

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.text.numbers import NOTATIONS, find_numbers

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


def readings(text: str, language: str = "") -> list[set[object]]:
    return [set(each.readings) for each in find_numbers(text, language)]


@pytest.mark.parametrize(
    ("text", "language", "values"),
    [
        ("1,299", "en", {1299}),
        ("1,299", "de", {Fraction(1299, 1000)}),
        ("1.299", "de", {1299}),
        ("1.299", "en", {Fraction(1299, 1000)}),
        ("1.299", "fr", {1299, Fraction(1299, 1000)}),
        ("1.299", "", {1299, Fraction(1299, 1000)}),
        ("1,299", "es", {1299, Fraction(1299, 1000)}),
        ("0.5", "de", {HALF}),
        ("05", "de", {5}),
        ("3,50", "en", {Fraction(7, 2)}),
        ("0.125", "de", {Fraction(1, 8)}),
        ("1,299.99", "en", {Fraction(129999, 100)}),
        ("1,299.99", "de", {Fraction(129999, 100)}),
        ("1.299,99", "en", {Fraction(129999, 100)}),
        ("1,29999", "en", {Fraction(129999, 100000)}),
        ("1\u202f299,99", "fr", {Fraction(129999, 100)}),
        ("1'299.50", "de", {Fraction(2599, 2)}),
        ("12,34,567", "en", {1234567}),
        ("12 500", "fr", {12500, (12, 500)}),
        ("+12 500 000 €", "fr", {12_500_000, (12, 500, 0)}),
        ("+49 443 537", "fr", {49_443_537, (49, 443, 537)}),
        ("+33 1 23 45 67 89", "fr", {(3, 3, 1, 2, 3, 4, 5, 6, 7, 8, 9)}),
        ("0800/123456", "de", {(0, 8, 0, 0, 1, 2, 3, 4, 5, 6)}),
        ("1/2", "en", {HALF, (1, 2)}),
        ("3 1/2", "en", {Fraction(7, 2)}),
        ("3\u00a01/2", "fr", {Fraction(7, 2)}),
        ("3\u202f1/2", "fr", {Fraction(7, 2)}),
        ("3 ½", "en", {Fraction(7, 2)}),
        ("3 1/0", "en", set()),
        ("½", "en", {HALF}),
        ("2½", "en", {Fraction(5, 2)}),
        ("1.5 million", "en", {1_500_000}),
        ("3 Mrd.", "de", {3 * 10**9}),
        ("$3bn", "de", {3 * 10**9}),
        ("3 milliers", "fr", {3000}),
        ("2 dozen", "en", {2, 24}),
        ("2 billion", "en", {2 * 10**9}),
        ("2 Billionen", "de", {2 * 10**12}),
        ("$66m", "en", {66_000_000}),
        ("5 m", "en", {5, 5_000_000}),
        ("3 euros 50", "fr", {Fraction(7, 2), (3, 50)}),
        ("1 m 80", "fr", {Fraction(9, 5), (1, 80)}),
        ("1:0", "en", {(1, 0)}),
        ("1:00", "en", {1, (1, 0)}),
        ("24 Uhr", "de", {24, 0}),
        ("2,5 M€", "fr", {Fraction(5, 2), 2_500_000}),
        ("the 1960s", "en", {1960, 60}),
        ("5 pm", "en", {17}),
        ("12 am", "en", {0, 24}),
        ("5:30 p.m. today", "en", {(17, 30)}),
        ("17.30 Uhr", "de", {(17, 30)}),
        ("17 h 30", "fr", {(17, 30)}),
        ("05.12.2027", "de", {(5, 12, 2027)}),
        ("2027-12-05", "en", {(5, 12, 2027)}),
        ("12/5/2027", "en", {(5, 12, 2027)}),
        ("0800", "en", set()),
        ("1.2.3", "en", set()),
    ],
)
def test_a_number_is_worth_what_its_language_says(text: str, language: str, values: set[object]) -> None:
    assert readings(text, language) == [values]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("-5 °C", [{-5}]),
        ("\u22125", [{-5}]),
        ("-$3.50", [{Fraction(-7, 2)}]),
        ("5-10", [{5}, {10}]),
        ("5–10", [{5}, {10}]),
        ("COVID-19", [{19}]),
        ("10 -5", [{10}, {5, -5}]),
        ("- 5 apples", [{5}]),
        ("(-5)", [{-5}]),
    ],
)
def test_a_hyphen_is_a_sign_where_no_range_can_be(text: str, values: list[set[int]]) -> None:
    assert readings(text, "en") == values


@pytest.mark.parametrize("text", ["A4", "B2B", "v2.0", "0xFF", "1e-5", "MP3", "CO₂", "192.168.1.1", "1.2.3"])
def test_codes_and_versions_are_exact(text: str) -> None:
    [found] = find_numbers(f"see {text} there", "en")
    assert (found.text, found.exact, found.readings) == (text, True, frozenset())


@pytest.mark.parametrize(
    "text",
    [
        *(
            "550e8400-e29b-41d4-a716-446655440000",
            "00:1B:44:11:3A:B7",
            "DE89 3704 0044 0532 0130 00",
            "978-3-16-148410-0",
        ),
        *("FR7630006000011234567890189", "4111 1111 1111 1111", "0-306-40615-2", "B-MW 1234", "6E84-OFUG-FU0L"),
        *("3dc65aa5", "d41d8cd98f00b204e9800998ecf8427e", "WVWZZZ1JZXW000001", "zux7j9uHCqAv"),
    ],
)
def test_identifiers_are_exact_as_a_whole(text: str) -> None:
    for language in ("en", "de", "fr"):
        [found] = find_numbers(f"see {text} there", language)
        assert (found.text, found.kind, found.exact) == (text, "identifier", True)


@pytest.mark.parametrize("text", [".5", "-.5", "$.50", "(.5", "<.5"])
def test_a_decimal_may_have_no_whole_part(text: str) -> None:
    [found] = find_numbers(f"Take {text} mg of it.", "en")
    assert found.readings == {Fraction(-1 if text[0] == "-" else 1, 2)}


@pytest.mark.parametrize("text", ["end.5", "a .5b", ".5.2", "..5", "x .5,3"])
def test_a_full_stop_is_no_decimal_point(text: str) -> None:
    assert all(each.text[0] != "." for each in find_numbers(text, "en"))


@pytest.mark.parametrize(
    "text", ["5ft11in", "10h30min", "1920x1080", "Zigbee2MQTT", "BIN2HEX", "2020 2021 2022", "2024-12-05", "10-12-14"]
)
def test_what_is_like_an_identifier_is_read_in_parts(text: str) -> None:
    assert all(each.kind != "identifier" for each in find_numbers(text, "en"))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Das kostet 3,- Euro.", {"3,-": 3}),
        ("Das kostet 3,-- €.", {"3,--": 3}),
        ("3.– pro Stück, Fr. 15.- pro Person", {"3.–": 3, "15.-": 15}),
        ("CHF 4.– und 1.250,-€", {"4.–": 4, "1.250,-": 1250}),
        ("Nur 99,-! Für 50,-EUR", {"99,-": 99, "50,-": 50}),
        ("vom 3.- 5. Mai, 3.–5. Mai, 3,-5", {}),
        ("am 3.- und 4. Mai die 3.-Klässler", {}),
        ("Es war 1990.– Sie ging.", {}),
    ],
)
def test_a_dash_stands_for_no_cents(text: str, found: dict[str, int]) -> None:
    prices = [each for each in find_numbers(text, "de") if each.kind == "price"]
    assert {each.text: set(each.readings) for each in prices} == {text: {value} for text, value in found.items()}


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("Use Python 3.12 here", True),
        ("Python 3.12 is fast", True),
        ("see chapter 2.10", True),
        ("Only 2.5 people", False),
        ("about 2.5 people", False),
        ("It costs EUR 3.50", False),
        ("The Samsung 2.5 kg", False),
    ],
)
def test_a_decimal_after_a_name_may_be_a_version(text: str, exact: bool) -> None:
    assert find_numbers(text, "en")[0].exact == exact


def formatted(value: int, decimals: str, point: str, group: str) -> str:
    whole = f"{value:,}".replace(",", group) if group else str(value)
    return whole + (point + decimals if decimals else "")


@given(
    st.integers(0, 10**12),
    st.text("0123456789", max_size=4),
    st.sampled_from(sorted(NOTATIONS)),
    st.sampled_from(["", "local", "'", "\u00a0", "\u202f"]),
)
def test_what_is_written_in_a_notation_is_read_as_it_was(value: int, decimals: str, language: str, group: str) -> None:
    notation = NOTATIONS[language]
    written = formatted(value, decimals, notation.decimal, notation.group if group == "local" else group)
    [found] = find_numbers(written, language)
    assert found.text == written
    assert Fraction(f"{value}.{decimals}" if decimals else value) in found.readings


@given(st.text("0123456789.,'’ \u00a0\u2009:/-+eEhxXam½%€A", max_size=60), st.sampled_from(["", "en", "de", "fr"]))
def test_any_text_is_read(text: str, language: str) -> None:
    for number in find_numbers(text, language):
        assert text[number.begin : number.end].startswith(number.text)


@pytest.mark.parametrize(
    "text",
    [
        "9" * 100_000,
        "1e999999999",
        "1." * 50_000,
        "1 000 " * 20_000,
        "1:" * 50_000 + "1",
        "A1" * 50_000,
        "AB-" * 30_000,
        "1234 " * 20_000,
        "00:" * 30_000,
        "3,-" * 10_000,  # each of them is a number, which takes more time than the rest
    ],
)
def test_hostile_numbers_take_no_time(text: str) -> None:
    begin = time.process_time()
    find_numbers(text, "en")
    assert time.process_time() - begin < 2


def test_groups_of_three_digits_are_a_number_only_if_no_other_group_follows() -> None:
    assert [each.text for each in find_numbers("en 2020 12 500 personnes", "fr")] == ["2020", "12 500"]
    assert [each.text for each in find_numbers("49 443 5376", "fr")] == ["49", "443", "5376"]


def test_a_letter_after_a_number_belongs_to_it_in_numbers_of_houses() -> None:
    assert [(each.text, each.exact) for each in find_numbers("22b, 3D and 5d.", "en")] == [
        ("22b", True), ("3", False), ("5", False),
    ]  # fmt: skip
