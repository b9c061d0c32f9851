"""Quotes that a file format escapes in its strings, as Android, PHP and JavaScript do: `It\\'s late`."""

import re

_BARE = {quote: re.compile(rf"(?<!\\){quote}|\\\\{quote}") for quote in "'\""}
"""A quote that is not escaped, or whose backslash is escaped itself."""


def unescaped(text: str) -> tuple[str, str]:
    """The text without the backslashes before quotes, and these quotes. Quotes that are not all escaped stay."""
    quotes = "".join(quote for quote, bare in _BARE.items() if f"\\{quote}" in text and not bare.search(text))
    for quote in quotes:
        text = text.replace(f"\\{quote}", quote)
    return text, quotes


def escaped(text: str, quotes: str) -> str:
    """The text with a backslash before these quotes."""
    for quote in quotes:
        text = text.replace(quote, f"\\{quote}")
    return text
