"""Plural forms: expressions of C, and what they say of one."""

import pytest

from limelight.formats.plurals import forms_of_header, forms_of_language


@pytest.mark.parametrize(
    "expression",
    ["", "n n", "n ? 1", "(n", "n)", "__import__('os')", "n = 1", "n ** 2", "(" * 900, "0" * 2000, "n % 0"],
)
def test_what_is_no_expression(expression: str) -> None:
    assert forms_of_header(f"nplurals=2; plural={expression};") is None


@pytest.mark.parametrize(
    ("language", "forms"),
    [("de", (2, 0)), ("pt_BR", (2, 0)), ("deu", (2, 0)), ("pl-PL", (3, 0)), ("ar", (6, 1)), ("ja", (1, -1))],
)
def test_forms_of_a_language(language: str, forms: tuple[int, int]) -> None:
    assert forms_of_language(language)[:2] == forms
    assert forms_of_language("xx") is forms_of_language("") is None
