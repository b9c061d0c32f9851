"""Units of HTML and XML. In HTML: the text of blocks, with inline tags as codes, and readable attributes. In any XML:
the text between structural tags."""

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from html import escape, unescape
from typing import NamedTuple

from limelight.formats.unit import (
    Code,
    Splice,
    Unit,
    has_words,
    line_at,
    make_unit,
    parts_of,
    text_unit,
    with_splices,
)
from limelight.formats.xml import Element, escape_xml, parse_xml
from limelight.text.marking import Role
from limelight.text.protectors import VOID

INLINE = frozenset(
    re.findall(
        r"\w+",
        "a abbr acronym b bdi bdo big br cite code data del dfn em font i img input ins kbd label mark math meter "
        "output picture q rb rp rt ruby s samp small source span strike strong sub sup svg time tspan tt u var wbr",
    )
)
OPAQUE = frozenset(re.findall(r"\w+", "script style pre code kbd samp var tt svg math"))
"""Elements whose content is not translated."""
_IMPLIED = ("dd", "dt", "li", "optgroup", "option", "p", "tbody", "td", "tfoot", "th", "thead", "tr")
"""Elements whose end tag may be left out: they end with the one around them."""
ATTRIBUTES = ("alt", "title", "placeholder", "aria-label", "label", "summary")
FRONT = re.compile(
    r"\A(?:(---|\+\+\+)[ \t]*\r?\n(?![ \t]*\r?\n).*?\n(?:\1|\.\.\.)"
    r"|\{[ \t]*\r?\n(?:[ \t]*\".*?\n)?\})[ \t]*(?:\r?\n|\Z)",
    re.DOTALL,
)
"""Metadata at the beginning of a page, in YAML, TOML or JSON."""
_HUGE_NUMBER = re.compile("&#[0-9]{4000,};?")
"""An entity of no character, whose number Python refuses to read."""
_META = re.compile(r"description|keywords|(og|twitter):(title|description)", re.IGNORECASE)
_WHITE = " \t\r\n\f"
_SPACE = re.compile(f"[{_WHITE}]+")
_ENTITIES_OF_SPACE = re.compile(r"((?:&(?:nbsp|ensp|emsp|thinsp|#160|#[xX][aA]0|#x202[fF]|#8239|#x200[0-9aA]);)+)")

_TOKEN = re.compile(
    r"<!--(?P<comment>.*?)(?:-->|\Z)"
    r"|<!\[CDATA\[(?P<cdata>.*?)(?:\]\]>|\Z)"
    r"|<\?(?P<instruction>.*?)(?:\?>|\Z)"
    r"|<!(?P<declaration>[^<>\[]*+(?:\[[^\]]{0,4000}\]\s*)?)>"
    r"|<(?P<close>/?)(?P<name>[A-Za-z_][^\s/<>\"']*+)(?P<attributes>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(?P<empty>/?)>",
    re.DOTALL,
)
"""A construct that is not closed ends at the next `<`, so that the time is linear in the text."""
_TEMPLATE = re.compile(r"(\{\{.{0,300}?\}\}|\{%.{0,300}?%\}|<%.{0,300}?%>)", re.DOTALL)
"""Variables and statements that a server fills in, of a length that keeps the time linear in the text."""
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
    attributes_begin: int = 0
    """Position of the attributes."""

    def get(self, name: str) -> str:
        """The value of an attribute; empty if there is none."""
        attribute = self.find(name)
        return _unescaped(attribute[0]) if attribute else ""

    def find(self, name: str) -> tuple[str, int, int] | None:
        """The raw value of an attribute, and its begin and end in the file; None if there is none."""
        for match in _ATTRIBUTE.finditer(self.attributes):
            if match[1].lower() == name.lower():
                value = match.lastindex or 0
                begin, end = match.span(value)
                return match[value], self.attributes_begin + begin, self.attributes_begin + end
        return None

    @property
    def is_opaque(self) -> bool:
        """Whether the content of its element is not translated by the rules of HTML."""
        return self.name in OPAQUE or self.is_kept

    @property
    def is_kept(self) -> bool:
        """Whether it says that it is not translated."""
        return self.get("translate").lower() == "no" or "notranslate" in self.get("class").split()


def scan_tags(text: str, position: int = 0, end: int = sys.maxsize, *, html: bool) -> Iterator[Tag]:
    """All tags between two positions. In HTML, the content of `script`, `style`, `textarea` and `title` has no tags."""
    while match := _TOKEN.search(text, position, end):
        position = match.end()
        if match["name"] is None:
            yield Tag(match.lastgroup or "", "", *match.span())
            continue
        name = match["name"].lower() if html else match["name"].rpartition(":")[2]
        is_void = html and name in VOID
        kind = "empty" if is_void else "close" if match["close"] else "empty" if match["empty"] else "open"
        yield Tag(kind, name, *match.span(), match["attributes"], match.start("attributes"))
        if html and kind == "open" and name in ("script", "style", "textarea", "title"):
            closing = re.compile(rf"</{name}\b", re.IGNORECASE).search(text, position, end)
            position = closing.start() if closing else len(text)


class Tags(NamedTuple):
    """How tags are interpreted, in addition to the rules of HTML. For HTML, names are in lower case."""

    ignored: frozenset[str] = frozenset()
    """Elements whose content is not translated."""
    splitting: frozenset[str] = frozenset()
    """Tags that end a sentence."""
    inline: frozenset[str] = frozenset()
    """Tags that may occur within sentences."""
    outline: bool = True
    """Whether XML tags without text beside their element also end sentences: they are structural."""


PLAIN = Tags()


def _unescaped(text: str) -> str:
    """The text with characters for its entities."""
    return unescape(_HUGE_NUMBER.sub("\ufffd", text))


def html_units(text: str, language: str = "", tags: Tags = PLAIN, span: tuple[int, int] | None = None) -> list[Unit]:
    """The blocks and attributes of a page, or of its `span`. The attributes `lang` and `xml:lang` of `html`, if
    present, are set to `language`."""
    front = None if span else FRONT.match(text)
    reader = _Reader(text, tags, span or (front.end() if front else 0, len(text)))
    names = ("lang", "xml:lang") if language else ()
    named = [tag.find(name) for tag in reader.tags if tag.name == "html" for name in names]
    return with_splices(reader.units, [Splice(*attribute[1:], language) for attribute in named if attribute])


def xml_units(text: str, tags: Tags = PLAIN) -> list[Unit]:
    """The texts of an XML document or fragment. Attributes are not translated.

    Raises `FormatError` if it is not well-formed, declares an entity, or nests too deeply.
    """
    begin = len(text) - len(text.lstrip())
    is_document = text.startswith(("<?xml", "<!DOCTYPE"), begin)
    root = parse_xml(text[begin:] if is_document else f"<x>{text}</x>")
    offset = begin if is_document else -len("<x>")
    structure = {offset + position for position in (root.begin, root.close, *_structure(root))}
    return _Reader(text, tags, (0, len(text)), structure if tags.outline else set()).units


class _Reader:
    """Divides a file into units at its tags. XML has no predefined names."""

    def __init__(self, text: str, special: Tags, span: tuple[int, int], structure: set[int] | None = None) -> None:
        """`structure` has the positions of structural tags in XML; without it, the text is HTML."""
        self.text, self.special, self.xml = text, special, structure is not None
        self.structure = structure or set[int]()
        self.tags = list(scan_tags(text, *span, html=not self.xml))
        self.closings = self._find_closings()
        self.units = list(self._units(*span))

    def _units(self, begin: int, end: int) -> Iterator[Unit]:
        """The units between two positions."""
        first = number = 0
        while number < len(self.tags):
            tag, last = self.tags[number], self._last_tag(number)
            if not self.xml:
                yield from self._attributes(tag)
            if not self._is_inline(number):
                yield from self._block(range(first, number), begin, tag.begin)
                begin, first = self.tags[last].end, last + 1
            number = last + 1
        yield from self._block(range(first, len(self.tags)), begin, end)

    def _block(self, numbers: range, begin: int, end: int) -> Iterator[Unit]:
        """The text between two block tags, without outer white space."""
        raw = self.text[begin:end]
        if not has_words(raw):
            return
        begin += len(raw) - len(raw.lstrip(_WHITE))
        end = max([end - len(raw) + len(raw.rstrip(_WHITE)), *(self.tags[last].end for last in numbers[-1:])])

        def write(new: str) -> Iterator[Splice]:
            plain = escape_xml if self.xml else partial(escape, quote=False)
            yield Splice(begin, end, tuple(parts_of(new, unit.codes, partial(_escaped, raw=raw, escaped=plain))))

        unit = make_unit(list(self._parts(numbers, begin, end)), write, line_at(self.text, begin))
        if has_words(unit.text):
            yield unit

    def _parts(self, numbers: range, begin: int, end: int) -> Iterator[str | Code]:
        position = begin
        for number in numbers:
            tag = self.tags[number]
            if tag.begin < position:
                continue
            yield from _plain(self.text[position : tag.begin])
            last = self._last_tag(number)
            position = self.tags[last].end
            raw, role = self.text[tag.begin : position], self._role(tag)
            yield Code(raw, begin=tag.begin) if last > number else Code(raw, role, tag.name or "code", tag.begin)
        yield from _plain(self.text[position:end])

    def _role(self, tag: Tag) -> Role:
        if tag.kind in ("open", "close"):
            return "open" if tag.kind == "open" else "close"
        return "break" if tag.name == "br" and not self.xml else "alone"

    def _is_inline(self, number: int) -> bool:
        """Whether a sentence may include this tag."""
        tag = self.tags[number]
        if tag.name in self.special.inline or tag.kind in ("comment", "instruction"):
            return True
        known = tag.begin not in self.structure if self.xml else tag.name in INLINE
        return known and tag.name not in self.special.splitting

    def _last_tag(self, number: int) -> int:
        """For the first tag of an element that is not translated: the number of its closing tag, or of the last tag if
        it is not closed. For other tags their own number."""
        tag = self.tags[number]
        opaque = tag.name in self.special.ignored or (tag.is_opaque and not self.xml)
        if tag.kind != "open" or not opaque:
            return number
        return self.closings.get(number, len(self.tags) - 1)

    def _find_closings(self) -> dict[int, int]:
        """For the number of each opening tag that of its closing tag, or of an element around it."""
        named, opened, closings = defaultdict[str, list[int]](list), list[int](), dict[int, int]()
        for number, tag in enumerate(self.tags):
            if tag.kind == "open":
                named[tag.name].append(number)
                opened.append(number)
            elif tag.kind == "close" and named[tag.name]:
                opening = named[tag.name].pop()
                for name in _IMPLIED:
                    while named[name] and named[name][-1] > opening:
                        named[name].pop()
                while opened and opened[-1] >= opening:  # unless their own closing tags follow
                    closings.setdefault(opened.pop(), number)
                closings[opening] = number
        return closings

    def _attributes(self, tag: Tag) -> Iterator[Unit]:
        if tag.kind not in ("open", "empty") or tag.is_kept:
            return
        names = list(ATTRIBUTES)
        if tag.name == "meta" and _META.fullmatch(tag.get("name") or tag.get("property")):
            names.append("content")
        if tag.name == "input" and tag.get("type").lower() in ("submit", "button", "reset"):
            names.append("value")
        for value in map(tag.find, names):
            if value and has_words(value[0]):
                raw, begin, end = value
                yield text_unit(_unescaped(raw), partial(self._write, begin, end), line_at(self.text, begin))

    def _write(self, begin: int, end: int, new: str) -> list[Splice]:
        """The value of an attribute, in the quotes that it has, or in new ones."""
        quote, raw = self.text[begin - 1], self.text[begin:end]
        if quote not in "\"'":
            return [Splice(begin, end, f'"{_escaped(new, raw, escape)}"')]
        escaped = _escaped(new, raw, lambda part: escape(part, quote=False).replace(quote, escape(quote)))
        return [Splice(begin, end, escaped)]


def _escaped(text: str, raw: str, escaped: Callable[[str], str]) -> str:
    """The text escaped, but for the templates that the file has in the same form."""
    return "".join(
        piece if number % 2 and piece in raw else escaped(piece) for number, piece in enumerate(_TEMPLATE.split(text))
    )


def _plain(raw: str) -> Iterator[str | Code]:
    """Text as a browser shows it: white space is one space. White space that is written as an entity is a code."""
    for number, piece in enumerate(_ENTITIES_OF_SPACE.split(_SPACE.sub(" ", raw))):
        yield Code(piece, "space", "space") if number % 2 else _unescaped(piece)


def _structure(element: Element) -> Iterator[int]:
    """Positions of the structural tags in an element. An element is structural if no text is beside it."""
    has_text = any(isinstance(child, str) and child.strip() for child in element.children)
    for child in element.inner:
        if not has_text:
            yield from (child.begin, child.close)
        yield from _structure(child)
