"""The tags of HTML and XML with their places, without a tree."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

_TOKEN = re.compile(
    r"<!--(?P<comment>.*?)(?:-->|\Z)"
    r"|<!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)"
    r"|<\?(?P<instruction>.*?)(?:\?>|\Z)"
    r"|<!(?P<declaration>[^<>\[]*+(?:\[[^\]]{0,4000}\]\s*)?)>"
    r"|<(?P<close>/?)(?P<name>[A-Za-z_][^\s/<>]*)(?P<attributes>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(?P<empty>/?)>",
    re.DOTALL,
)
"""A construct that is not closed ends at the next `<`, so that the time is linear in the text."""
_ATTRIBUTE = re.compile(r"(?<![^\s=/>\"'])([^\s=/>\"']++)\s*+=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`]+))")


class Tag(NamedTuple):
    """A tag, comment, processing instruction, declaration or CDATA section."""

    kind: str
    """`open`, `close`, `empty`, or `comment`, `cdata`, `instruction`, `declaration`."""
    name: str
    """Without its namespace; lower case in HTML."""
    begin: int
    end: int
    attributes: str = ""
    """The unparsed attributes."""
    place: int = 0
    """Where the attributes begin."""

    def get(self, name: str) -> str:
        """The value of an attribute; empty if there is none."""
        found = self.where(name)
        return unescape(found[0]) if found else ""

    def where(self, name: str) -> tuple[str, int, int] | None:
        """The raw value of an attribute, and where it is in the file."""
        for match in _ATTRIBUTE.finditer(self.attributes):
            if match[1].lower() == name.lower():
                group = next(number for number in (2, 3, 4) if match[number] is not None)
                begin, end = match.span(group)
                return match[group], self.place + begin, self.place + end
        return None


def scan_tags(text: str, *, html: bool = False) -> Iterator[Tag]:
    """All tags in order. In HTML, the content of `script` and `style` has no tags."""
    place, raw = 0, None
    while match := (raw or _TOKEN).search(text, place):
        place = match.end()
        if raw:
            raw, place = None, match.start()
            continue
        kind = match.lastgroup or ""
        if match["name"] is None:
            kind = next(name for name in ("comment", "cdata", "instruction", "declaration") if match[name] is not None)
            yield Tag(kind, "", *match.span())
            continue
        name = match["name"].lower() if html else match["name"].rpartition(":")[2]
        kind = "close" if match["close"] else "empty" if match["empty"] else "open"
        yield Tag(kind, name, *match.span(), match["attributes"], match.start("attributes"))
        if html and kind == "open" and name in ("script", "style", "textarea", "title"):
            raw = re.compile(rf"</{name}\b|\Z", re.IGNORECASE)
