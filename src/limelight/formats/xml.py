"""Untrusted XML: streamed unit by unit for pairs, or as one tree with the places of its tags for documents.

Expat is not configured to read external files or DTDs. Entity declarations are refused, so nothing expands. Depth, the
length of a tag and the size of an element are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from limelight.errors import shown
from limelight.formats.lines import damaged, encoding_advice
from limelight.formats.opening import open_segments
from limelight.formats.unit import Code, FormatError, Splice
from limelight.text.notations import Role
from limelight.text.pair import BadLine

MAX_DEPTH = 250
"""Maximum nesting of elements: nested tables of a document are deep."""
MAX_CHARACTERS = 1_000_000
"""Maximum length of an element that is read as a whole, without its tags; a longer one is reported and skipped."""
MAX_NODES = 20_000
"""Maximum number of elements and texts inside such an element."""
MAX_TAG_BYTES = 1_000_000
"""Maximum length of a tag or comment, which has to be in memory as a whole."""

_STEP = 1 << 16
_TAG = re.compile(r"<(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_OPENING = re.compile(r"<([^\s/>]+)(.*?)\s*/?>", re.DOTALL)
_INDENT = re.compile(r"\r?\n[ \t]*\Z")


@dataclass(slots=True, eq=False)
class Element:
    """An element with its content."""

    name: str
    """Without its prefix."""
    prefix: str
    """Stands for its namespace."""
    attributes: dict[str, str]
    """With and without prefixes: `lang` is also `xml:lang`."""
    line: int
    children: list[Element | str] = field(default_factory=list)
    begin: int = 0
    """Where its first tag begins. Places are those of documents."""
    content: int = 0
    """Where its content begins."""
    close: int = 0
    """Where its content ends."""
    end: int = 0

    def get(self, name: str) -> str:
        """The value of an attribute; empty if there is none."""
        return self.attributes.get(name, "")

    def elements(self, *names: str) -> Iterator[Element]:
        """The children with one of these names and the prefix of this element."""
        for child in self.children:
            if not isinstance(child, str) and child.name in names and child.prefix == self.prefix:
                yield child

    def first(self, name: str) -> Element | None:
        """The first child with this name; None if there is none."""
        return next(self.elements(name), None)

    def walk(self) -> Iterator[Element | str]:
        """All elements and texts inside, in document order."""
        waiting = list[Element | str](reversed(self.children))
        while waiting:
            node = waiting.pop()
            yield node
            if not isinstance(node, str):
                waiting += reversed(node.children)

    def text(self) -> str:
        """All text inside."""
        return "".join(node for node in self.walk() if isinstance(node, str))


class XmlUnit(NamedTuple):
    """A requested element, and its ancestors, the root first; in a stream without their content."""

    element: Element
    ancestors: tuple[Element, ...]

    def inherited(self, name: str) -> str:
        """An attribute of the element, or of the nearest enclosing one that has it."""
        return next((found for each in (self.element, *reversed(self.ancestors)) if (found := each.get(name))), "")


def read_units(path: str | Path, root: str, names: Collection[str]) -> Iterator[XmlUnit | BadLine]:
    """The elements with one of these names, with the prefix of the root, in document order; others are discarded.

    An element that is too large is a `BadLine`. A fatal one ends the iteration: another root element, XML that is not
    well-formed or incomplete, an unknown encoding, an entity declaration, an exceeded bound, a damaged file.
    """
    file, parser = str(path), _Stream(root, names)
    with open_segments(path, xml=True) as stream:
        while True:
            try:
                data = stream.read(_STEP)
                parser.feed(data)
            except OSError as error:
                yield damaged(file, parser.line, error)
                return
            except FormatError as refused:
                yield from parser.take(file)
                yield BadLine(file, parser.line, refused.reason, fatal=True)
                return
            yield from parser.take(file)
            if not data:
                return


def parse_xml(text: str) -> Element:
    """The root of a document, with places. Raises `FormatError` for XML that is not well-formed, declares an entity, or
    nests too deeply."""
    return _Tree(text).parse()


def find_units(root: Element, *names: str) -> Iterator[XmlUnit]:
    """The elements with one of these names and the prefix of the root, in document order."""
    ancestors, waiting = [root], [iter(root.children)]
    while waiting:
        child = next(waiting[-1], None)
        if child is None:
            waiting.pop()
            ancestors.pop()
        elif not isinstance(child, str):
            if child.name in names and child.prefix == root.prefix:
                yield XmlUnit(child, tuple(ancestors))
            ancestors.append(child)
            waiting.append(iter(child.children))


class _Parser:
    """Expat with bounds."""

    def __init__(self, encoding: str | None = None) -> None:
        parser = expat.ParserCreate(encoding)
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler, parser.SkippedEntityHandler = self._declared, self._skipped
        parser.ExternalEntityRefHandler = self._declared
        self._parser = parser
        self._stack: list[Element] = []

    @property
    def line(self) -> int:
        return max(1, self._parser.CurrentLineNumber)

    def _opened(self, name: str, attributes: dict[str, str]) -> Element:
        if len(self._stack) >= MAX_DEPTH:
            raise FormatError(f"more than {MAX_DEPTH} elements inside one another", self.line)
        prefix, _, local = name.rpartition(":")
        named = {each.rpartition(":")[2]: value for each, value in attributes.items() if ":" in each}
        named = {**named, **attributes} if named else attributes
        return Element(local, prefix, named, self._parser.CurrentLineNumber)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def _end(self, _name: str) -> None:
        raise NotImplementedError

    def _text(self, text: str) -> None:
        raise NotImplementedError

    def _declared(self, *_: object) -> NoReturn:
        reason = "the file declares an entity, and such files are not read; write what it stands for instead"
        raise FormatError(reason, self.line)

    def _skipped(self, name: str, _is_parameter: object) -> NoReturn:
        raise FormatError(f"the entity &{shown(name, 40)}; is declared nowhere in the file", self.line)


class _Tree(_Parser):
    """Expat over the text of a document, whose places it records."""

    def __init__(self, text: str) -> None:
        super().__init__("utf-8")
        self._string, self._data = text, text.encode("utf-8", "replace")
        self._bytes = self._place = 0
        """The same place in bytes and in characters."""
        self._root = Element("", "", {}, 1)

    def parse(self) -> Element:
        try:
            self._parser.Parse(self._data, True)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code) or "error"
            raise FormatError(f"not well-formed XML ({what}, column {error.offset + 1})", error.lineno) from None
        return self._root

    def _here(self) -> int:
        now = self._parser.CurrentByteIndex
        self._place += len(self._data[self._bytes : now].decode())
        self._bytes = now
        return self._place

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = self._opened(name, attributes)
        if self._stack:
            self._stack[-1].children.append(element)
        else:
            self._root = element
        element.begin = self._here()
        tag = _TAG.match(self._string, element.begin)
        element.content = tag.end() if tag else element.begin
        self._stack.append(element)

    def _end(self, _name: str) -> None:
        element, place = self._stack.pop(), self._here()
        element.close = max(place, element.content)
        empty = place == element.content and self._string[place - 2 : place] == "/>" and place > element.begin
        tag = None if empty else _TAG.match(self._string, place)
        element.end = tag.end() if tag else element.close

    def _text(self, text: str) -> None:
        self._stack[-1].children.append(text)


class _Stream(_Parser):
    """Expat that collects units until `take` is called."""

    def __init__(self, root: str, names: Collection[str]) -> None:
        super().__init__()
        self._root, self._names = root, names
        self._unit_depth = 0  # depth of the current unit, from 1; 0 outside units
        self._prefix = ""
        self._characters = self._nodes = 0
        self._found: list[XmlUnit | int] = []  # a number is the line of a unit that is too large
        self._fed, self._data, self._encoding = 0, b"", ""
        self._parser.XmlDeclHandler = self._declaration

    def feed(self, data: bytes) -> None:
        """Parse some more bytes; empty at the end of the file. Raises `FormatError`."""
        first, self._data = not self._fed, data
        self._fed += len(data)
        try:
            self._parser.Parse(data, not data)
        except expat.ExpatError as error:
            raise FormatError(self._fault(error, first=first)) from None
        except FormatError:
            raise
        except (LookupError, ValueError):  # a multi-byte encoding, or unknown to Python
            raise FormatError(self._foreign_encoding()) from None
        if self._fed - max(0, self._parser.CurrentByteIndex) > MAX_TAG_BYTES + _STEP:
            raise FormatError(f"a tag or a comment of more than {MAX_TAG_BYTES:,} bytes")

    def take(self, file: str) -> list[XmlUnit | BadLine]:
        """The units found since the last call."""
        reason = f"a segment of more than {MAX_CHARACTERS:,} characters or {MAX_NODES:,} tags"
        found: list[XmlUnit | BadLine] = [
            BadLine(file, each, reason) if isinstance(each, int) else each for each in self._found
        ]
        self._found = []
        return found

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        element = self._opened(name, attributes)
        if not self._stack:
            self._prefix = element.prefix
            if element.name != self._root:
                raise FormatError(f"the file begins with <{shown(element.name, 40)}>, not with <{self._root}>")
        if self._unit_depth:
            self._add(element, sum(map(len, attributes.values())))
        elif element.name in self._names and element.prefix == self._prefix:
            self._unit_depth, self._characters, self._nodes = len(self._stack) + 1, 0, 0
        self._stack.append(element)

    def _end(self, _name: str) -> None:
        element = self._stack.pop()
        if self._unit_depth == len(self._stack) + 1:
            self._unit_depth = 0
            self._found.append(element.line if self._too_large else XmlUnit(element, tuple(self._stack)))

    def _text(self, text: str) -> None:
        if self._unit_depth:
            self._add(text, len(text))

    def _add(self, node: Element | str, characters: int) -> None:
        """Add a node to the current element, unless its unit is too large."""
        self._characters += characters
        self._nodes += 1
        if not self._too_large:
            self._stack[-1].children.append(node)

    @property
    def _too_large(self) -> bool:
        return self._characters > MAX_CHARACTERS or self._nodes > MAX_NODES

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self._encoding = encoding or ""

    def _foreign_encoding(self) -> str:
        return f"the encoding {shown(self._encoding, 40)!r} is not read; convert the file to UTF-8"

    def _fault(self, error: expat.ExpatError, *, first: bool) -> str:
        """The message for a fault of the XML or of its encoding."""
        what = expat.ErrorString(error.code) or "error"
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING]:
            return self._foreign_encoding()
        if not self._fed:
            return "the file is empty"
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]:
            place = self._parser.ErrorByteIndex - (self._fed - len(self._data))
            byte = self._data[place] if 0 <= place < len(self._data) else 0
            if byte >= 0x80 and self._encoding.lower() in ("", "utf-8", "utf8"):
                return (
                    f"not valid UTF-8 (byte 0x{byte:02x}); write the encoding into the first line, or convert the file"
                )
            if hint := encoding_advice(self._data[:_STEP], first=first):
                return f"not XML; {hint}"
        return f"not well-formed XML ({what} at column {error.offset + 1}); is the file damaged or cut off?"


class Inline(NamedTuple):
    """What an element inside a text is."""

    key: str
    """Equal on both sides of a pair, and for both tags of a pair of codes."""
    role: Role = "alone"
    is_text: bool = False
    """Whether its content is text, between two codes."""
    in_pairs: bool = True
    """Whether it is a code in pairs for training, not only in documents."""


def inline_parts(element: Element, kind_of: Callable[[Element], Inline], text: str = "") -> Iterator[str | Code]:
    """The text and codes of a segment. Of a document its `text` is given: codes then are as in the file, and all
    elements are codes; what must not be translated is one."""
    for child in element.children:
        if isinstance(child, str):
            yield child
            continue
        kind = kind_of(child) if child.prefix == element.prefix else Inline("", in_pairs=False)
        is_code = bool(text) or kind.in_pairs
        kept = bool(text) and (child.content == child.end or _is_kept(child))
        if kind.is_text and not kept:
            yield from [Code(text[child.begin : child.content], "open", kind.key)] * is_code
            yield from inline_parts(child, kind_of, text)
            yield from [Code(text[child.close : child.end], "close", kind.key)] * is_code
        elif is_code:
            is_alone = kind.is_text or kind.role == "alone"
            name = "code" if text and is_alone else kind.key
            yield Code(text[child.begin : child.end], "alone" if is_alone else kind.role, name)


def _is_kept(element: Element) -> bool:
    return element.get("translate") == "no" or element.get("mtype") == "protected"


def has_content(parts: Iterable[str | Code]) -> bool:
    """Whether there is more than white space."""
    return any(not isinstance(part, str) or part.strip() for part in parts)


def opening_tag(text: str, element: Element) -> tuple[str, str]:
    """The name of an element with its prefix, and its attributes with the spaces before them, as in the file."""
    found = _OPENING.fullmatch(text, element.begin, element.content)
    return (found[1], found[2]) if found else (element.name, "")


def with_attribute(text: str, element: Element, name: str, value: str) -> Splice:
    """A splice that sets an attribute, or adds it after the others."""
    tag = text[element.begin : element.content]
    found = re.search(rf"\s(?:[\w.-]+:)?{name}\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", tag)
    if found:
        begin, end = found.span(1 if found[1] is not None else 2)
        return Splice(element.begin + begin, element.begin + end, value)
    place = element.begin + len(tag.rstrip("/>").rstrip())
    return Splice(place, place, f' {name}="{value}"')


def indent(text: str, place: int) -> str:
    """The line break and spaces before a tag; empty if other text precedes it."""
    found = _INDENT.search(text[max(0, place - 200) : place])
    return found[0] if found else ""


def escape_xml(text: str) -> str:
    """Text escaped as the content of an element, without characters that XML does not permit."""
    text = _FORBIDDEN.sub("", text)
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
