"""Untrusted XML, element by element: streamed in bounded memory, without entity declarations and external files.

Expat is not configured to read external files or DTDs. Entity declarations are refused, so nothing expands. Depth, the
length of a tag and the size of an element are bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from limelight.errors import shown
from limelight.formats.lines import damaged, encoding_advice
from limelight.formats.opening import open_segments
from limelight.text.pair import BadLine

MAX_DEPTH = 100
"""Maximum nesting of elements."""
MAX_CHARACTERS = 1_000_000
"""Maximum length of an element that is read as a whole, without its tags; a longer one is reported and skipped."""
MAX_NODES = 20_000
"""Maximum number of elements and texts inside such an element."""
MAX_TAG_BYTES = 1_000_000
"""Maximum length of a tag or comment, which has to be in memory as a whole."""

_STEP = 1 << 16
_LANGUAGE = "http://www.w3.org/XML/1998/namespace lang"


@dataclass(slots=True)
class Element:
    """An element with its content."""

    name: str
    """Without its namespace."""
    namespace: str
    attributes: dict[str, str]
    """Names with a namespace are written `namespace name`."""
    line: int
    children: list[Element | str] = field(default_factory=list)

    def get(self, name: str) -> str:
        """The value of an attribute; empty if there is none."""
        return self.attributes.get(name, "")

    @property
    def language(self) -> str:
        """`xml:lang`."""
        return self.get(_LANGUAGE)

    def elements(self, *names: str) -> Iterator[Element]:
        """The children with one of these names and the namespace of this element."""
        for child in self.children:
            if not isinstance(child, str) and child.name in names and child.namespace == self.namespace:
                yield child

    def first(self, name: str) -> Element | None:
        """The first child with this name; None if there is none."""
        return next(self.elements(name), None)

    def text(self) -> str:
        """All text inside, including that of nested elements."""
        found, waiting = [], list[Element | str](reversed(self.children))
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                found.append(node)
            else:
                waiting += reversed(node.children)
        return "".join(found)


@dataclass(frozen=True, slots=True)
class Unit:
    """A requested element, and its ancestors without their content, the root first."""

    element: Element
    ancestors: tuple[Element, ...]


def read_units(path: str | Path, root: str, names: Collection[str]) -> Iterator[Unit | BadLine]:
    """The elements with one of these names, in the namespace of the root, in document order; others are discarded.

    An element that is too large is a `BadLine`. A fatal one ends the iteration: another root element, XML that is not
    well-formed or incomplete, an unknown encoding, an entity declaration, an exceeded bound, a damaged file.
    """
    file, parser = str(path), _Parser(root, names)
    with open_segments(path, xml=True) as stream:
        while True:
            try:
                data = stream.read(_STEP)
                parser.feed(data)
            except OSError as error:
                yield damaged(file, parser.line, error)
                return
            except _RefusedError as refused:
                yield from parser.take(file)
                yield BadLine(file, parser.line, str(refused), fatal=True)
                return
            yield from parser.take(file)
            if not data:
                return


class _RefusedError(Exception):
    """A fault for which the rest of a file is not read."""


class _Parser:
    """Expat with bounds; collects units until `take` is called."""

    def __init__(self, root: str, names: Collection[str]) -> None:
        self._root, self._names = root, names
        self._stack: list[Element] = []
        self._unit_depth = 0  # depth of the current unit, from 1; 0 outside units
        self._namespace = ""
        self._characters = self._nodes = 0
        self._found: list[Unit | int] = []  # a number is the line of a unit that is too large
        self._fed, self._data, self._encoding = 0, b"", ""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler, parser.SkippedEntityHandler = self._declared, self._skipped
        parser.ExternalEntityRefHandler = self._declared
        parser.XmlDeclHandler = self._declaration
        self._parser = parser

    @property
    def line(self) -> int:
        return max(1, self._parser.CurrentLineNumber)

    def feed(self, data: bytes) -> None:
        """Parse some more bytes; empty at the end of the file. Raises `_RefusedError`."""
        first, self._data = not self._fed, data
        self._fed += len(data)
        try:
            self._parser.Parse(data, not data)
        except expat.ExpatError as error:
            raise _RefusedError(self._fault(error, first=first)) from None
        except (LookupError, ValueError):  # a multi-byte encoding, or unknown to Python
            raise _RefusedError(self._foreign_encoding()) from None
        if self._fed - max(0, self._parser.CurrentByteIndex) > MAX_TAG_BYTES + _STEP:
            raise _RefusedError(f"a tag or a comment of more than {MAX_TAG_BYTES:,} bytes")

    def take(self, file: str) -> list[Unit | BadLine]:
        """The units found since the last call."""
        reason = f"a segment of more than {MAX_CHARACTERS:,} characters or {MAX_NODES:,} tags"
        found: list[Unit | BadLine] = [
            BadLine(file, each, reason) if isinstance(each, int) else each for each in self._found
        ]
        self._found = []
        return found

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        namespace, _, local = name.rpartition(" ")
        if not self._stack:
            self._namespace = namespace
            if local != self._root:
                raise _RefusedError(f"the file begins with <{shown(local, 40)}>, not with <{self._root}>")
        if len(self._stack) >= MAX_DEPTH:
            raise _RefusedError(f"more than {MAX_DEPTH} elements inside one another")
        element = Element(local, namespace, attributes, self._parser.CurrentLineNumber)
        if self._unit_depth:
            self._add(element, sum(map(len, attributes.values())))
        elif local in self._names and namespace == self._namespace:
            self._unit_depth, self._characters, self._nodes = len(self._stack) + 1, 0, 0
        self._stack.append(element)

    def _end(self, _name: str) -> None:
        element = self._stack.pop()
        if self._unit_depth == len(self._stack) + 1:
            self._unit_depth = 0
            self._found.append(element.line if self._too_large else Unit(element, tuple(self._stack)))

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

    def _declared(self, *_: object) -> NoReturn:
        raise _RefusedError(
            "the file declares an entity, and such files are not read; write what it stands for instead"
        )

    def _skipped(self, name: str, _is_parameter: int) -> None:
        raise _RefusedError(f"the entity &{shown(name, 40)}; is declared nowhere in the file")

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
