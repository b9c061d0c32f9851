"""XML and HTML as tags and text with their places, without a tree. XML is first checked by expat."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from limelight.errors import shown
from limelight.formats.unit import FormatError

MAX_DEPTH = 250
"""Maximum nesting of elements: nested tables of a document are deep."""

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
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")


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


class Element(NamedTuple):
    """An element with the places of its tags and its content."""

    open: Tag
    begin: int
    """Where its content begins."""
    end: int
    close: Tag

    @property
    def name(self) -> str:
        return self.open.name

    @property
    def outer(self) -> tuple[int, int]:
        """Begin and end, including its tags."""
        return self.open.begin, self.close.end

    @property
    def is_empty_tag(self) -> bool:
        """Whether it is written as one tag."""
        return self.open.kind == "empty"


def closing_tag(tags: Sequence[Tag], number: int) -> int:
    """The number of the tag that closes an element of XML: its own if it opens nothing, the last if none does."""
    depth = 0
    for place in range(number, len(tags)):
        depth += (tags[place].kind == "open") - (tags[place].kind == "close")
        if depth <= 0:
            return place
    return len(tags) - 1


def scan_elements(text: str) -> list[tuple[Element, tuple[Element, ...]]]:
    """The elements of well-formed XML in the order of their ends, each with its ancestors, the outermost first. The
    ends of ancestors are not yet known: their `close` is their opening tag."""
    found: list[tuple[Element, tuple[Element, ...]]] = []
    stack: list[Element] = []
    for tag in scan_tags(text):
        if tag.kind == "open":
            stack.append(Element(tag, tag.end, tag.end, tag))
        elif tag.kind == "empty":
            found.append((Element(tag, tag.end, tag.end, tag), tuple(stack)))
        elif tag.kind == "close" and stack:
            opened = stack.pop()
            found.append((Element(opened.open, opened.open.end, tag.begin, tag), tuple(stack)))
    return found


def check_xml(data: bytes) -> None:
    """Raise `FormatError` for XML that is not well-formed, declares an entity, or nests too deeply."""
    depth = 0

    def begin(_name: str, _attributes: object) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise FormatError(f"more than {MAX_DEPTH} elements inside one another", parser.CurrentLineNumber)

    def end(_name: str) -> None:
        nonlocal depth
        depth -= 1

    def declared(*_: object) -> NoReturn:
        raise FormatError("the file declares an entity, and such files are not read", parser.CurrentLineNumber)

    def skipped(name: str, _is_parameter: object) -> NoReturn:
        raise FormatError(f"the entity &{shown(name, 40)}; is declared nowhere in the file", parser.CurrentLineNumber)

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.EntityDeclHandler = parser.ExternalEntityRefHandler = declared
    parser.SkippedEntityHandler = skipped
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code) or "error"
        raise FormatError(f"not well-formed XML ({what}, column {error.offset + 1})", error.lineno) from None
    except (LookupError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError("its encoding is not read; convert the file to UTF-8", 1) from None


def escape_xml(text: str) -> str:
    """Text escaped as the content of an element, without characters that XML does not permit."""
    text = _FORBIDDEN.sub("", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
