"""Numbers in the notation of another language, and the spans that protect them."""

import pytest

from limelight.text.number_notation import localized_numbers, number_spans


@pytest.mark.parametrize(
    ("text", "german", "french"),
    [
        ("0.5 mg", "0,5 mg", "0,5 mg"),
        ("1,299.99", "1.299,99", "1\u202f299,99"),
        ("1,299", "1.299", "1\u202f299"),
        ("$3.50", "3,50\u00a0$", "3,50\u00a0$"),
        ("-$1,299.99", "-1.299,99\u00a0$", "-1\u202f299,99\u00a0$"),
        ("-5.5 °C", "-5,5 °C", "-5,5 °C"),
        ("12.5%", "12,5%", "12,5%"),
        ("1.2.3", "1.2.3", "1.2.3"),
        ("192.168.1.1", "192.168.1.1", "192.168.1.1"),
        ("v2.0", "v2.0", "v2.0"),
        ("12/05/2027", "12/05/2027", "12/05/2027"),
        ("2027-12-05", "2027-12-05", "2027-12-05"),
        ("December 5, 2027", "5. Dezember 2027", "5 décembre 2027"),
        ("1 May", "1. Mai", "1er mai"),
        ("5 pm", "17 Uhr", "17\u00a0h"),
        ("5:30 p.m.", "17:30 Uhr", "17\u00a0h\u00a030"),
        ("12:05 am", "0:05 Uhr", "0\u00a0h\u00a005"),
        ("10:30", "10:30", "10:30"),
        ("10:30:15 pm", "10:30:15 pm", "10:30:15 pm"),
        ("4711", "4711", "4711"),
    ],
)
def test_a_number_is_written_as_the_target_writes_it(text: str, german: str, french: str) -> None:
    assert localized_numbers(f"at {text}, or", "en", "de")[text] == german
    assert localized_numbers(f"at {text}, or", "en", "fr")[text] == french
    assert localized_numbers(f"at {text}, or", "en", "en")[text] == text or text == "1 May"


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("1.299,99 €", "€1,299.99"),
        ("3,5 kg", "3.5 kg"),
        ("1.234.567", "1,234,567"),
        ("12.50", "12.50"),
        ("5. Dezember 2027", "December 5, 2027"),
        ("5.12.2027", "5.12.2027"),
    ],
)
def test_what_is_not_in_the_notation_of_the_source_is_kept(text: str, english: str) -> None:
    assert localized_numbers(text, "de", "en")[text] == english


def test_the_sign_of_a_currency_stays_before_a_number_with_a_scale() -> None:
    assert localized_numbers("It cost $1.5 million, €2.5bn.", "en", "de") == {"$1.5": "$1,5", "€2.5bn": "€2,5bn"}
    assert localized_numbers("Es kostet 2,5 Millionen €.", "de", "en") == {"2,5": "2.5"}


def test_a_language_without_a_known_notation_keeps_all() -> None:
    assert localized_numbers("0.5 mg", "en", "xx") == {}
    assert localized_numbers("0.5 mg", "", "de") == {}


def test_a_version_is_told_from_a_quantity_by_its_context() -> None:
    text = "Python 3.12 takes 2.5 s"
    assert localized_numbers(text, "en", "de") == {"3.12": "3.12", "2.5": "2,5"}


def spans(text: str, language: str, *, every: bool) -> list[str]:
    return [text[begin:end] for begin, end in number_spans(text, language, every=every)]


def test_numbers_with_separators_are_spans_with_signs_and_units() -> None:
    text = "Pay -$3.50, 1,299 or €5 for 0.5 mg of A4, 20 kg, v2.0 on 12/05/2027 at 5:30 pm"
    assert spans(text, "en", every=False) == ["-$3.50", "1,299", "0.5 mg", "v2.0", "12/05/2027"]
    every = ["-$3.50", "1,299", "€5", "0.5 mg", "A4", "20 kg", "v2.0", "12/05/2027", "5:30 pm"]
    assert spans(text, "en", every=True) == every
    assert spans("Der 1. Mai 2027 um 17.30 Uhr", "de", every=True) == ["1. Mai 2027", "17.30"]
    assert spans("no numbers", "en", every=True) == []


@pytest.mark.parametrize(
    ("price", "english"), [("3,-", "3"), ("3,-- €", "€3"), ("1.250,-€", "€1,250"), ("50,-EUR", "50\u00a0EUR")]
)
def test_the_dash_of_a_price_is_left_out(price: str, english: str) -> None:
    assert localized_numbers(f"Es kostet {price} oder mehr.", "de", "en") == {price: english}


@pytest.mark.parametrize(("text", "german"), [(".5 mg", "0,5 mg"), ("-.25", "-0,25"), ("$.50", "0,50\u00a0$")])
def test_a_decimal_without_a_whole_part_gets_one(text: str, german: str) -> None:
    assert localized_numbers(f"It is {text} now.", "en", "de") == {text: german}
    assert localized_numbers("A .22 rifle, an .5 mg dose", "en", "de") == {".22": ".22", ".5 mg": "0,5 mg"}


def test_identifiers_and_prices_with_a_dash_are_spans() -> None:
    text = "12,- € für SN-9F3K-22LM, 3dc65aa5 oder B-MW 1234"
    assert spans(text, "de", every=False) == ["12,- €", "SN-9F3K-22LM", "3dc65aa5", "B-MW 1234"]


@pytest.mark.parametrize(
    ("text", "french"),
    [
        ("1.6 x 9.4 m", "1,6 x 9,4 m"),
        ("3 × 4 m", "3 × 4 m"),
        ("3 m x 4 m", "3 m x 4 m"),
        ("2.5-3.5 kg", "2,5-3,5 kg"),
        ("10.5%–12.5%", "10,5%–12,5%"),
        ("+49 443 537672", "+49 443 537672"),
        ("555-123-4567", "555-123-4567"),
        ("01 23 45 67 89", "01 23 45 67 89"),
    ],
)
def test_products_ranges_and_telephone_numbers_are_one_span(text: str, french: str) -> None:
    whole = f"about {text} in all"
    assert spans(whole, "en", every=False) == spans(whole, "en", every=True) == [text]
    assert localized_numbers(whole, "en", "fr")[text] == french


def test_what_is_beside_a_number_is_no_product() -> None:
    assert spans("5 x faster, 2 and 3", "en", every=False) == []
    assert spans("2020 12.5 x", "en", every=False) == ["12.5"]
    assert spans("between 1.5 and 2.5", "en", every=False) == ["1.5", "2.5"]
