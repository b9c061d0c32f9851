"""Plural forms: expressions of C, and what they say of one."""

import pytest

from limelight.formats.plurals import forms_of_header, forms_of_language, forms_of_qt, plural_form

SLAVIC = "n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2"


@pytest.mark.parametrize(
    ("expression", "values"),
    [
        ("n != 1", {0: 1, 1: 0, 2: 1}),
        ("(n>1)", {0: 0, 1: 0, 2: 1}),
        (SLAVIC, {1: 0, 2: 1, 5: 2, 11: 2, 12: 2, 21: 0, 22: 1, 112: 2}),
        ("1 + 2 * 3 - n / 2", {4: 5}),
        ("!n || n == 3 && n > 2", {0: 1, 3: 1, 1: 0}),
        ("n ? n == 1 ? 5 : 6 : 7", {0: 7, 1: 5, 2: 6}),
    ],
)
def test_expressions_of_c(expression: str, values: dict[int, int]) -> None:
    assert {number: plural_form(expression, number) for number in values} == values


@pytest.mark.parametrize(
    "expression",
    ["", "n n", "n ? 1", "(n", "n)", "__import__('os')", "n = 1", "n ** 2", "(" * 900, "0" * 2000, "n % 0"],
)
def test_what_is_no_expression(expression: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        plural_form(expression, 1)


def test_forms_of_a_header() -> None:
    assert forms_of_header(f"Language: ru\nPlural-Forms: nplurals=3; plural=({SLAVIC});\n")[:2] == (3, 0)
    assert forms_of_header("nplurals=1; plural=0;")[:2] == (1, -1)
    assert forms_of_header("nplurals=2; plural=0;")[:2] == (2, -1)
    for text in ("", "nplurals=INTEGER; plural=EXPRESSION;", "nplurals=99; plural=0;", "nplurals=2; plural=x;"):
        assert forms_of_header(text) is None


@pytest.mark.parametrize(
    ("language", "forms"),
    [("de", (2, 0)), ("pt_BR", (2, 0)), ("deu", (2, 0)), ("pl-PL", (3, 0)), ("ar", (6, 1)), ("ja", (1, -1))],
)
def test_forms_of_a_language(language: str, forms: tuple[int, int]) -> None:
    assert forms_of_language(language)[:2] == forms
    assert forms_of_language("xx") is forms_of_language("") is None


def test_qt_counts_otherwise() -> None:
    assert [forms_of_qt(code)[:2] for code in ("hu", "tr", "mk", "de")] == [(1, -1), (1, -1), (3, 0), (2, 0)]
