"""Units of HTML and XML. In HTML: the text of blocks, with inline tags as codes, and readable attributes. In any XML:
the text between structural tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from html import unescape
from typing import NamedTuple

from limelight.formats.tags import Tag, scan_tags
from limelight.formats.unit import Code, Lines, Splice, Unit, has_words, make_unit, with_codes, with_inner
from limelight.formats.xml import escape_xml, parse_xml
from limelight.text.notations import Role

INLINE = frozenset(
    re.findall(
        r"\w+",
        "a abbr acronym b bdi bdo big br cite code data del dfn em font i img input ins kbd label mark math meter "
        "output picture q rb rp rt ruby s samp small source span strike strong sub sup svg time tspan tt u var wbr",
    )
)
VOID = frozenset(re.findall(r"\w+", "area base br col embed hr img input link meta param source track wbr"))
OPAQUE = frozenset(re.findall(r"\w+", "script style pre code kbd samp var tt svg math"))
"""Elements whose content is not translated."""
ATTRIBUTES = ("alt", "title", "placeholder", "aria-label", "label", "summary")
_META = re.compile(r"description|keywords|(og|twitter):(title|description)", re.IGNORECASE)
_AMPERSAND = re.compile(r"&(?=#?\w)")
_SPACE = re.compile(r"[ \t\r\n\f]+")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ENTITIES_OF_SPACE = re.compile(r"(?:&(?:nbsp|ensp|emsp|thinsp|#160|#[xX][aA]0|#x202[fF]|#8239|#x200[0-9aA]);)+")


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


def html_units(text: str, language: str = "", tags: Tags = PLAIN) -> list[Unit]:
    """The blocks and attributes of a page. The attribute `lang` of `html`, if present, is set to `language`."""
    return list(_Reader(text, language, tags).units())


def xml_units(text: str, tags: Tags = PLAIN) -> list[Unit]:
    """The texts of an XML document or fragment. Attributes are not translated.

    Raises `FormatError` if it is not well-formed, declares an entity, or nests too deeply.
    """
    whole = text.lstrip().startswith(("<?xml", "<!DOCTYPE"))
    parse_xml(text.lstrip() if whole else f"<x>{text}</x>")
    return list(_XmlReader(text, "", tags).units())


def is_opaque(tag: Tag) -> bool:
    """Whether the content of an element is not translated by the rules of HTML."""
    return tag.name in OPAQUE or tag.get("translate").lower() == "no" or "notranslate" in tag.get("class").split()


class _Reader:
    """Divides a file into units at its tags."""

    xml = False

    def __init__(self, text: str, language: str, special: Tags) -> None:
        self.text, self.lines = text, Lines(text)
        self.language, self.special = language, special
        self.tags = list(scan_tags(text, html=not self.xml))
        self.also: list[Splice] = []
        """Splices that the first unit also writes."""
        self.inner: list[Splice] = []
        """Splices inside codes so far."""

    def units(self) -> Iterator[Unit]:
        yield from self._units(0, len(self.tags), 0, len(self.text))

    def _units(self, first: int, last: int, place: int, stop: int, *, is_inner: bool = False) -> Iterator[Unit]:
        """The units between two places, of the tags with these numbers; with `is_inner` inside a code."""
        tags, skipped_until = self.tags, -1
        for number in range(first, last):
            tag = tags[number]
            if number <= skipped_until:
                continue
            yield from self._attributes(tag)
            if tag.kind == "open" and self._is_opaque(tag) and not (is_inner and tag.name == "svg"):
                skipped_until = _closing(tags, number)
                if tag.name == "svg" and not self.xml:
                    inside = tag.end, tags[skipped_until].begin
                    yield from self._units(number + 1, skipped_until, *inside, is_inner=True)
                if self._is_inline(number):
                    continue
                end = tags[skipped_until].end
            elif self._is_inline(number) or tag.kind in ("comment", "instruction"):
                continue
            else:
                end = tag.end
            yield from self._block(place, tag.begin, tags[first:number], is_inner=is_inner)
            place, first = end, max(number, skipped_until) + 1
        yield from self._block(place, stop, tags[first:last], is_inner=is_inner)

    def _block(self, begin: int, end: int, tags: Sequence[Tag], *, is_inner: bool) -> Iterator[Unit]:
        """The text between two block tags."""
        raw = self.text[begin:end]
        if not has_words(raw):
            return
        written = list[str]()
        parts = list(self._parts(begin, end, tags, written))
        if not any(has_words(part) for part in parts if isinstance(part, str)):
            return
        also, self.also = self.also, []

        def write(new: str) -> Iterator[Splice]:
            yield from also
            escape = Entities("".join(written), self._escape)
            done = Splice(begin, end, with_codes(new, with_inner(unit.codes, self.inner), escape))
            self.inner += [done] * is_inner
            yield done

        unit = make_unit(parts, write, self.lines.at(begin + len(raw) - len(raw.lstrip())))
        yield unit

    def _parts(self, begin: int, end: int, tags: Sequence[Tag], written: list[str]) -> Iterator[str | Code]:
        """Text and codes. Adds the text to `written` as it is in the file."""
        place, skipped = begin, -1
        for number, tag in enumerate(tags):
            if tag.begin < place:
                continue
            yield from self._plain(place, tag.begin, written)
            place = tag.end
            if tag.kind == "open" and self._is_opaque(tag):
                skipped = _closing(tags, number)
                place = tags[skipped].end
                yield Code(self.text[tag.begin : place], place=tag.begin)
            else:
                yield Code(self.text[tag.begin : tag.end], self._role(tag), tag.name or "code", tag.begin)
        yield from self._plain(place, end, written)

    def _role(self, tag: Tag) -> Role:
        if self._is_void(tag) or tag.kind not in ("open", "close"):
            return "break" if tag.name == "br" and not self.xml else "alone"
        return "open" if tag.kind == "open" else "close"

    def _plain(self, begin: int, end: int, written: list[str]) -> Iterator[str | Code]:
        """Text as a browser shows it: inner white space becomes one space; outer white space is not included. White
        space that is written as an entity is a code."""
        raw = self.text[begin:end]
        head, tail = raw[: len(raw) - len(raw.lstrip(" \t\r\n\f"))], raw[len(raw.rstrip(" \t\r\n\f")) :]
        inner = raw[len(head) : len(raw) - len(tail)] if raw.strip(" \t\r\n\f") else ""
        raw = head + _SPACE.sub(" ", inner) + tail if inner else raw
        place = 0
        for match in _ENTITIES_OF_SPACE.finditer(raw):
            if unescape(match[0]).isspace():
                written.append(raw[place : match.start()])
                yield unescape(written[-1])
                yield Code(match[0], "space", "space")
                place = match.end()
        written.append(raw[place:])
        yield unescape(written[-1])

    def _is_inline(self, number: int) -> bool:
        """Whether a sentence may include this tag."""
        name = self.tags[number].name
        return name in self.special.inline or (name in INLINE and name not in self.special.splitting)

    def _is_opaque(self, tag: Tag) -> bool:
        """Whether the content of the element that begins here is not translated."""
        return (is_opaque(tag) or tag.name in self.special.ignored) and tag.name not in VOID

    def _is_void(self, tag: Tag) -> bool:
        return tag.name in VOID

    def _escape(self, text: str) -> str:
        return escape_text(text)

    def _attributes(self, tag: Tag) -> Iterator[Unit]:
        if tag.kind not in ("open", "empty") or tag.get("translate") == "no":
            return
        if tag.name == "html" and self.language and (found := tag.where("lang")):
            self.also.append(Splice(found[1], found[2], self.language))
        names = list(ATTRIBUTES)
        if tag.name == "meta" and _META.fullmatch(tag.get("name") or tag.get("property")):
            names.append("content")
        if tag.name == "input" and tag.get("type").lower() in ("submit", "button", "reset"):
            names.append("value")
        for name in names:
            value = tag.where(name)
            if value and has_words(value[0]):
                raw, begin, end = value
                yield make_unit([unescape(raw)], partial(self._write, begin, end, raw), self.lines.at(begin))

    def _write(self, begin: int, end: int, raw: str, new: str) -> list[Splice]:
        """The value of an attribute, in the quotes that it has, or in new ones."""
        own = self.text[begin - 1]
        quote = own if own in "\"'" else '"'
        text = Entities(raw, escape_xml)(new).replace(quote, "&quot;" if quote == '"' else "&#39;")
        self.inner.append(Splice(begin, end, text if quote == own else f'"{text}"'))
        return self.inner[-1:]


class _XmlReader(_Reader):
    """Divides XML into units; it has no predefined tag names."""

    xml = True

    def __init__(self, text: str, language: str, special: Tags) -> None:
        super().__init__(text, language, special)
        self.structure = _structure(text, self.tags) if special.outline else frozenset[int]()

    def _is_inline(self, number: int) -> bool:
        name = self.tags[number].name
        if name in self.special.inline:
            return True
        return name not in self.special.splitting and number not in self.structure

    def _is_opaque(self, tag: Tag) -> bool:
        return tag.name in self.special.ignored

    def _is_void(self, tag: Tag) -> bool:
        return False

    def _escape(self, text: str) -> str:
        return escape_xml(text)

    def _attributes(self, tag: Tag) -> Iterator[Unit]:
        yield from ()


def _structure(text: str, tags: Sequence[Tag]) -> frozenset[int]:
    """The numbers of structural tags: no text is beside their element in its parent."""
    found, place = set[int](), 0
    inside, beside = [list[int]()], [False]
    for number, tag in enumerate(tags):
        beside[-1] = beside[-1] or bool(text[place : tag.begin].strip()) or tag.kind == "cdata"
        place = tag.end
        if tag.kind == "open":
            inside[-1].append(number)
            inside.append([])
            beside.append(False)
        elif tag.kind == "close" and len(inside) > 1:
            found.update([] if beside.pop() else inside[-1])
            inside.pop()
            inside[-1].append(number)
        elif tag.kind == "empty":
            inside[-1].append(number)
    return frozenset(found if beside[0] or text[place:].strip() else {*found, *inside[0]})


class Entities:
    """Escapes a translation, in which characters are written as in the source, where some of them are entities."""

    def __init__(self, source: str, escape: Callable[[str], str]) -> None:
        self._escape = escape
        self._forms: dict[str, list[str]] = {}
        """The forms of such a character, in order. The last one holds for all others."""
        entities = {unescape(each): each for each in _ENTITY.findall(source) if unescape(each) != each}
        if entities:
            self._found = re.compile("|".join(map(re.escape, entities)))
            forms = re.compile(f"{_ENTITY.pattern}|{self._found.pattern}")
            for form in forms.findall(source):
                self._forms.setdefault(unescape(form), []).insert(0, form)

    def __call__(self, text: str) -> str:
        if not self._forms:
            return self._escape(text)
        parts, place = list[str](), 0
        for match in self._found.finditer(text):
            forms = self._forms[match[0]]
            form = forms.pop() if len(forms) > 1 else forms[0]
            is_entity = form == "&" and text[match.end() : match.end() + 1].strip()
            parts += [self._escape(text[place : match.start()]), "&amp;" if is_entity else form]
            place = match.end()
        return "".join([*parts, self._escape(text[place:])])


def escape_text(text: str) -> str:
    """Text escaped for HTML; an ampersand that does not begin an entity is not escaped."""
    return _AMPERSAND.sub("&amp;", text).replace("<", "&lt;").replace("\u00a0", "&nbsp;")


def _closing(tags: Sequence[Tag], number: int) -> int:
    """The number of the tag that closes an element; the last one if none does."""
    name, depth = tags[number].name, 0
    for place in range(number, len(tags)):
        if tags[place].name == name:
            depth += (tags[place].kind == "open") - (tags[place].kind == "close")
            if depth == 0:
                return place
    return len(tags) - 1
