"""Generated sentences with numbers, and the forms that their values may have."""

from collections import Counter

import pytest

from benchmarks.number_sentences import sentences
from benchmarks.values import differs, form_of


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_each_sentence_has_its_value_and_each_kind_is_there(language: str) -> None:
    found = sentences(language, 480, seed=3)
    assert len({each.text for each in found}) == 480
    assert found == sentences(language, 480, seed=3)
    assert found != sentences(language, 480, seed=4)
    assert min(Counter(each.kind for each in found).values()) >= 20
    assert [each for each in found if differs(each.values, each.text, language)] == []


@pytest.mark.parametrize(
    ("value", "target", "right", "wrong"),
    [
        ("0.5", "de", ["0,5", "0.5", "0,50"], ["05", "5", "0,05", "10,5", "0,51"]),
        ("1299", "de", ["1299", "1.299", "1 299", "1'299"], ["1,299", "12.99", "11.299"]),
        ("1299", "en", ["1299", "1,299", "1 299"], ["1.299"]),
        ("1299.99", "fr", ["1\u202f299,99", "1299,99", "1,299.99"], ["1,29999", "129999", "299,99"]),
        ("3.50 $", "en", ["$3.50", "3.5 dollars", "USD 3.50"], ["$350", "3.50", "£3.50"]),
        ("0.5 mg", "de", ["0,5 mg", "0,5 Milligramm"], ["0,5 g", "0,5 Mg", "0,5"]),
        ("-4.5 °C", "de", ["-4,5 °C", "−4,5 Grad", "minus 4,5 °C"], ["4,5 °C"]),
        ("40 %", "de", ["40 %", "vierzig Prozent"], ["40", "14 %"]),
        ("=1.2.3", "de", ["1.2.3"], ["1.23", "1.2.3.4", "11.2.3"]),
        ("17:30", "de", ["17:30", "17.30 Uhr", "17 Uhr 30", "halb sechs", "5:30 nachmittags"], ["5:30", "1730"]),
        ("17:00", "en", ["5 pm", "5 p.m.", "17:00", "5:00 in the afternoon"], ["5 am"]),
        ("23:30", "fr", ["23 h 30", "23 heures trente"], ["23 heures", "22 heures trente"]),
        ("9:05", "fr", ["9 h 05", "9h05", "9:05"], ["9 h 50", "905"]),
        ("2027-12-05", "de", ["05.12.2027", "5. Dezember 2027", "2027-12-05"], ["0512.2027", "5. Mai 2027", "5.12."]),
        ("2", "de", ["2", "zwei"], ["22", "2,5", "drei"]),
    ],
)
def test_forms_of_values(value: str, target: str, right: list[str], wrong: list[str]) -> None:
    assert form_of(value, target)
    assert [each for each in right if differs((value,), f"Es ist {each} hier.", target)] == []
    assert [each for each in wrong if not differs((value,), f"Es ist {each} hier.", target)] == []


def test_another_number_is_a_difference() -> None:
    assert differs(("2",), "zwei von 7", "de")
    assert differs((), "7", "de")
    assert not differs(("7", "2"), "zwei von 7", "de")
