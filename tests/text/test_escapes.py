"""Escaped quotes of strings in programs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.text.escapes import escaped, unescaped


@pytest.mark.parametrize(
    ("text", "plain", "quotes"),
    [
        (r"It\'s %1$s\n", r"It's %1$s\n", "'"),
        (r"say \"it\'s\"", 'say "it\'s"', "'\""),
        (r"it's or it\'s", r"it's or it\'s", ""),
        (r"a \\' b", r"a \\' b", ""),
        ("it's", "it's", ""),
    ],
)
def test_quotes_are_escaped_where_all_of_them_are(text: str, plain: str, quotes: str) -> None:
    assert unescaped(text) == (plain, quotes)


@given(st.text("a\\'\" "))
def test_what_is_unescaped_is_escaped_again(text: str) -> None:
    assert escaped(*unescaped(text)) == text
