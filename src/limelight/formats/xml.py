"""Untrusted XML: one parser, which streams the units of a file of pairs, or gives positions in the text of a document.

Expat is not configured to read external files or DTDs. Entity declarations are refused, so nothing expands. Depth, the
length of a tag and the size of an element are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import NamedTuple, NoReturn
from xml.parsers import expat

from limelight.errors import shown
from limelight.formats.lines import damaged
from limelight.formats.opening import open_segments
from limelight.formats.unit import Code, FormatError, located
from limelight.text.marking import Role
from limelight.text.pair import NOT_XML

MAX_DEPTH = 250
"""Maximum nesting of elements: nested tables of a document are deep."""
MAX_CHARACTERS = 1_000_000
"""Maximum length of a unit, without its tags."""
MAX_NODES = 20_000
"""Maximum number of elements and texts inside a unit."""
MAX_TAG_BYTES = 1_000_000
"""Maximum length of a tag or comment, which has to be in memory as a whole."""

_STEP = 1 << 16
_TAG = re.compile(r"<(?:[^\"'>]|\"[^\"]*\"|'[^']*')*>")


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
    """Position of its first tag. Only elements of documents have positions."""
    content: int = 0
    """Position of its content."""
    close: int = 0
    """End of its content."""
    end: int = 0

    def get(self, name: str) -> str:
        """The value of an attribute; empty if there is none."""
        return self.attributes.get(name, "")

    @property
    def inner(self) -> Iterator[Element]:
        """The elements in it."""
        return (child for child in self.children if not isinstance(child, str))

    def elements(self, name: str) -> Iterator[Element]:
        """The elements in it with this name and the prefix of this element."""
        return (child for child in self.inner if child.name == name and child.prefix == self.prefix)

    def first(self, name: str) -> Element | None:
        """The first element in it with this name and prefix; None if there is none."""
        return next(self.elements(name), None)

    def walk(self, name: str) -> Iterator[Element]:
        """The elements with this name at any depth, in document order."""
        for child in self.inner:
            if child.name == name:
                yield child
            yield from child.walk(name)

    def text(self) -> str:
        """All text inside."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


class XmlUnit(NamedTuple):
    """A requested element, and its ancestors, the root first, without their content."""

    element: Element
    ancestors: tuple[Element, ...]

    def inherited(self, name: str) -> str:
        """An attribute of the element, or of the nearest enclosing one that has it."""
        return next(
            (value for element in (self.element, *reversed(self.ancestors)) if (value := element.get(name))), ""
        )


def read_units(path: str | Path, root: str, names: Collection[str]) -> Iterator[XmlUnit]:
    """The elements with one of these names, with the prefix of the root, in document order; others are discarded.

    Raises `UserError` after the elements before it: another root element, XML that is not well-formed or incomplete, an
    unknown encoding, an entity declaration, an exceeded bound, a damaged file.
    """
    file, parser, data = str(path), _Parser(root, names), b"-"
    with open_segments(path) as stream, located(file):
        while data:
            try:
                data = stream.read(_STEP)
                parser.feed(data, ends=not data)
            except OSError as error:
                raise damaged(file, parser.line, error) from None
            finally:
                yield from parser.taken()


def find_units(text: str, root: str, names: Collection[str]) -> list[XmlUnit]:
    """The elements of a document with one of these names, as in `read_units`, with positions. Raises `FormatError` for
    XML that is not well-formed, begins with another element, declares an entity, nests too deeply, or has an element
    that is too large."""
    parser = _Parser(root, names, text)
    parser.feed(text.encode("utf-8", "replace"), ends=True)
    return parser.taken()


def parse_xml(text: str) -> Element:
    """The root of a document with all of its content and positions. Raises `FormatError`, see `find_units`."""
    return find_units(text, "", ())[0].element


class _Parser:
    """Expat with bounds. It collects units, or the root with all of its content if no names are given."""

    def __init__(self, root: str, names: Collection[str], text: str = "") -> None:
        """With the `text` that is fed, elements get positions in it. Without the name of a `root`, any is read."""
        self._root, self._names, self._text = root, names, text
        self._stack: list[Element] = []
        self._depth = 0  # depth of the current unit, from 1; 0 outside units
        self._characters = self._nodes = 0
        self._found: list[XmlUnit] = []
        self._data, self._fed = b"", 0
        self._bytes = self._characters_read = 0  # the same position in bytes and in characters
        self._parser = parser = expat.ParserCreate("utf-8" if text else None)
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._add_text
        parser.EntityDeclHandler = parser.ExternalEntityRefHandler = self._refuse_declaration
        parser.SkippedEntityHandler = self._refuse_entity

    @property
    def line(self) -> int:
        return max(1, self._parser.CurrentLineNumber)

    def taken(self) -> list[XmlUnit]:
        """The units since the last call."""
        elements, self._found = self._found, []
        return elements

    def feed(self, data: bytes, *, ends: bool) -> None:
        """Parse some more bytes, or all of a document. Raises `FormatError`."""
        self._data, self._fed = data, self._fed + len(data)
        try:
            self._parser.Parse(data, ends)
        except expat.ExpatError as error:
            what = expat.ErrorString(error.code) or "error"
            reason = f"not well-formed XML ({what} at column {error.offset + 1}); is the file damaged or cut off?"
            if "encoding" in what or what.endswith("invalid token)"):
                reason = f"{reason} Or is it in another encoding than it says? Convert it to UTF-8"
            raise FormatError(reason, error.lineno) from None
        except FormatError:
            raise
        except (LookupError, ValueError):  # a multi-byte encoding, or unknown to Python
            raise FormatError("the encoding that it names is not read; convert the file to UTF-8", self.line) from None
        if not self._text and self._fed - max(0, self._parser.CurrentByteIndex) > MAX_TAG_BYTES + _STEP:
            raise FormatError(f"a tag or a comment of more than {MAX_TAG_BYTES:,} bytes", self.line)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise FormatError(f"more than {MAX_DEPTH} elements inside one another", self.line)
        prefix, _, local = name.rpartition(":")
        if not self._stack and self._root not in ("", local):
            raise FormatError(f"the file begins with <{shown(local, 40)}>, not with <{self._root}>", 1)
        named = {name_with_prefix.rpartition(":")[2]: value for name_with_prefix, value in attributes.items()}
        element = Element(local, prefix, named | attributes, self.line)
        if self._text:
            element.begin = self._position()
            tag = _TAG.match(self._text, element.begin)
            element.content = tag.end() if tag else element.begin
        if self._depth:
            self._add(element, sum(map(len, attributes.values())))
        elif not self._names or (local in self._names and prefix == (self._stack or [element])[0].prefix):
            self._depth, self._characters, self._nodes = len(self._stack) + 1, 0, 0
        self._stack.append(element)

    def _end(self, _name: str) -> None:
        element = self._stack.pop()
        if self._text:
            position = self._position()
            element.close = max(position, element.content)
            empty = position == element.content and self._text[position - 2 : position] == "/>"
            tag = None if empty else _TAG.match(self._text, position)
            element.end = tag.end() if tag else element.close
        if self._depth == len(self._stack) + 1:
            self._depth = 0
            self._found.append(XmlUnit(element, tuple(self._stack)))

    def _position(self) -> int:
        now = self._parser.CurrentByteIndex
        self._characters_read += len(self._data[self._bytes : now].decode())
        self._bytes = now
        return self._characters_read

    def _add_text(self, text: str) -> None:
        if self._depth:
            self._add(text, len(text))

    def _add(self, node: Element | str, characters: int) -> None:
        """Add a node to the current element. Raises `FormatError` for a unit that is too large."""
        self._characters += characters
        self._nodes += 1
        if self._names and (self._characters > MAX_CHARACTERS or self._nodes > MAX_NODES):
            raise FormatError(f"a segment of more than {MAX_CHARACTERS:,} characters or {MAX_NODES:,} tags", self.line)
        self._stack[-1].children.append(node)

    def _refuse_declaration(self, *_: object) -> NoReturn:
        reason = "the file declares an entity, and such files are not read; write what it stands for instead"
        raise FormatError(reason, self.line)

    def _refuse_entity(self, name: str, _is_parameter: object) -> NoReturn:
        raise FormatError(f"the entity &{shown(name, 40)}; is declared nowhere in the file", self.line)


class Inline(NamedTuple):
    """What an element inside a text is."""

    key: str
    """Equal for both tags of a pair of codes."""
    role: Role = "alone"
    is_text: bool = False
    """Whether its content is text, between two codes."""


def inline_parts(element: Element, kind_of: Callable[[Element], Inline], text: str = "") -> Iterator[str | Code]:
    """The text and codes of a segment. Of a document its `text` is given: codes then are as in the file, and so are the
    tags around text; what must not be translated is one code."""
    for child in element.children:
        if isinstance(child, str):
            yield child
            continue
        kind = kind_of(child) if child.prefix == element.prefix else Inline("")
        is_kept = child.content == child.end or child.get("translate") == "no" or child.get("mtype") == "protected"
        if kind.is_text and not (text and is_kept):
            yield from [Code(text[child.begin : child.content], "open", kind.key)] * bool(text)
            yield from inline_parts(child, kind_of, text)
            yield from [Code(text[child.close : child.end], "close", kind.key)] * bool(text)
        else:
            is_alone = kind.is_text or kind.role == "alone"
            name = "code" if is_alone else kind.key
            yield Code(text[child.begin : child.end], "alone" if is_alone else kind.role, name)


def has_content(parts: Iterable[str | Code]) -> bool:
    """Whether there is more than white space."""
    return any(not isinstance(part, str) or part.strip() for part in parts)


def escape_xml(text: str) -> str:
    """Text escaped as the content of an element, without characters that XML does not permit."""
    return escape(NOT_XML.sub("", text), quote=False)
