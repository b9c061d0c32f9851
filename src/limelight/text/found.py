"""A span that a protector found in a text."""

from __future__ import annotations

from typing import Literal, NamedTuple

Role = Literal["alone", "open", "close", "sequential", "break", "space"]
"""`open` and `close` for the tags of an element; `sequential` for a positional argument such as `%s`: several of them
have to keep their order; `break` for the end of a line (`<br>`) or `{{else}}`, which no sentence crosses; `space` for
white space (`&nbsp;`), which separates words; `alone` for all others."""


class Found(NamedTuple):
    """A span of a text."""

    begin: int
    end: int
    role: Role = "alone"
    name: str = ""
    """The name of a tag, or the first two characters of a comment or declaration. Empty for other spans."""
