"""Marks inside text: placeholders, term annotations and tags as single characters of a private-use area.

A marked text is a string in which the characters U+F0000 to U+F001F (plane 15) represent the reserved tokens `<ph0>` to
`<ph31>`, and the two after them a form of address. The rest of the plane represents codes
of documents (`formats/unit.py`) and placeholders of a whole text, before its sentences get placeholders of their own.
Only functions for marked text interpret them (`tokens/marked.py`); in all other text they are ordinary characters. Code
that inserts marks into untrusted text has to check for such characters first (`has_marks`).
"""

import re
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

MARK_COUNT = 32
MAX_PLACEHOLDERS = 30
"""Placeholders for protected spans: `<ph0>` to `<ph29>`."""

_FIRST = 0xF0000

TERM_BEGIN = chr(_FIRST + 30)
"""Follows a source word and begins the required target form: `<ph30>`."""
TERM_END = chr(_FIRST + 31)
"""Ends the required target form: `<ph31>`."""

FORMALITY_MARKS = {"formal": chr(_FIRST + MARK_COUNT), "informal": chr(_FIRST + MARK_COUNT + 1)}
"""Precede a source whose translation has this form of address."""

MARK = re.compile("[\U000f0000-\U000ffffd]")
PLACEHOLDER = re.compile(f"[{chr(_FIRST)}-{chr(_FIRST + MAX_PLACEHOLDERS - 1)}]")
ANNOTATION = re.compile(f"{TERM_BEGIN}[^{TERM_END}]*{TERM_END}")
FIRST_CODE, LAST_CODE = 0xF1000, 0xFFFFD
CODES = re.compile(f"[{chr(FIRST_CODE)}-{chr(LAST_CODE)}]")
"""Matches the character of a code in the text of a document, or the placeholder of a whole text."""


Role = Literal["alone", "open", "close", "sequential", "break", "space"]
"""`open` and `close` for the tags of an element; `sequential` for a positional argument such as `%s`: several of them
have to keep their order; `break` for the end of a line (`<br>`) or `{{else}}`, which no sentence crosses; `space`
for white space (`&nbsp;`), which separates words; `alone` for all others."""


class Found(NamedTuple):
    """A span of a text."""

    begin: int
    end: int
    role: Role = "alone"
    name: str = ""
    """The name of a tag, or the first two characters of a comment or declaration. Empty for other spans."""
    text: str = ""
    """What the translation has instead, such as a number in the notation of its language; empty for the span itself."""


Protector = Callable[[str], Iterable[Found]]
"""Finds spans that a translation keeps; they may overlap the spans of other protectors."""


def placeholder(number: int) -> str:
    """The character for `<ph0>` ... `<ph29>` in marked text. Raises `ValueError` for other numbers."""
    if not 0 <= number < MAX_PLACEHOLDERS:
        raise ValueError(f"placeholder {number}: must be 0 to {MAX_PLACEHOLDERS - 1}")
    return chr(_FIRST + number)


def text_placeholder(number: int) -> str:
    """The character for a span of a whole text, which may have any number of them."""
    return chr(FIRST_CODE + number)


def mark_numbers(text: str) -> list[int]:
    """The numbers of the marks of a text, in order."""
    return [mark_number(mark) for mark in MARK.findall(text)]


def mark_number(mark: str) -> int:
    """The number of a mark: 0 to 29 for placeholders, 30 and 31 for the beginning and the end of a term. The
    placeholders of a whole text are numbered from 0, too."""
    code = ord(mark)
    return code - (FIRST_CODE if code >= FIRST_CODE else _FIRST)


def mark_of(number: int) -> str:
    """The inverse of `mark_number`."""
    return chr(_FIRST + number)


def annotated(source: str, target: str) -> str:
    """A source term, annotated with the required target form."""
    return f"{source} {TERM_BEGIN} {target} {TERM_END}"


def has_marks(text: str) -> bool:
    """Whether a text has a character that marked text would interpret as a mark."""
    return MARK.search(text) is not None


def without_marks(text: str) -> str:
    """Marked text without its marks."""
    return MARK.sub("", text)
