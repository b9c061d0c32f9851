"""Units of HTML: the text of block elements with inline tags as codes, and attributes that people read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from html import unescape

from limelight.text.units.markup import Tag, escape_attribute, scan_tags
from limelight.text.units.unit import Code, Lines, Splice, Unit, has_words, make_unit, with_codes, with_inner

INLINE = frozenset(
    re.findall(
        r"\w+",
        "a abbr acronym b bdi bdo big br cite code data del dfn em font i img input ins kbd label mark math meter "
        "output picture q rb rp rt ruby s samp small source span strike strong sub sup svg time tt u var wbr",
    )
)
VOID = frozenset(re.findall(r"\w+", "area base br col embed hr img input link meta param source track wbr"))
OPAQUE = frozenset(
    re.findall(r"\w+", "script style pre code kbd samp var tt svg math noscript template textarea select")
)
"""Elements whose content is not translated."""
ATTRIBUTES = ("alt", "title", "placeholder", "aria-label", "label", "summary")
_META = re.compile(r"description|keywords|(og|twitter):(title|description)", re.IGNORECASE)
_AMPERSAND = re.compile(r"&(?=#?\w)")
_SPACE = re.compile(r"[ \t\r\n\f]+")


def html_units(text: str, language: str = "") -> list[Unit]:
    """Its blocks and attributes. The attribute `lang` of `html`, where there is one, becomes the `language`."""
    return list(_Reader(text, language).units())


class _Reader:
    """Goes through the tags of a file."""

    def __init__(self, text: str, language: str) -> None:
        self.text, self.lines = text, Lines(text)
        self.language = language
        self.also: list[Splice] = []
        """What the first unit writes besides."""
        self.inner: list[Splice] = []
        """What was written in tags so far."""

    def units(self) -> Iterator[Unit]:
        tags = list(scan_tags(self.text, html=True))
        first, place = 0, 0
        skipped_until = -1
        for number, tag in enumerate(tags):
            if number <= skipped_until:
                continue
            yield from self._attributes(tag)
            if tag.kind == "open" and _is_opaque(tag):
                skipped_until = _closing(tags, number)
                if tag.name in INLINE:
                    continue
                end = tags[skipped_until].end
            elif tag.name in INLINE or tag.kind in ("comment", "instruction"):
                continue
            else:
                end = tag.end
            yield from self._block(place, tag.begin, tags[first:number])
            place, first = end, max(number, skipped_until) + 1
        yield from self._block(place, len(self.text), tags[first:])

    def _block(self, begin: int, end: int, tags: Sequence[Tag]) -> Iterator[Unit]:
        """The text between two tags of blocks."""
        raw = self.text[begin:end]
        if not has_words(raw):
            return
        parts = list(self._parts(begin, end, tags))
        if not any(has_words(part) for part in parts if isinstance(part, str)):
            return
        also, self.also = self.also, []

        def write(new: str) -> Iterator[Splice]:
            yield from also
            yield Splice(begin, end, with_codes(new, with_inner(unit.codes, self.inner), escape_text))

        unit = make_unit(parts, write, self.lines.at(begin + len(raw) - len(raw.lstrip())))
        yield unit

    def _parts(self, begin: int, end: int, tags: Sequence[Tag]) -> Iterator[str | Code]:
        place, skipped = begin, -1
        for number, tag in enumerate(tags):
            if tag.begin < place:
                continue
            yield self._plain(place, tag.begin)
            place = tag.end
            if tag.kind == "open" and _is_opaque(tag):
                skipped = _closing(tags, number)
                place = tags[skipped].end
                yield Code(self.text[tag.begin : place], place=tag.begin)
            else:
                role = "alone" if tag.kind not in ("open", "close") or tag.name in VOID else tag.kind
                yield Code(self.text[tag.begin : tag.end], role, tag.name or "code", tag.begin)  # type: ignore[arg-type]
        yield self._plain(place, end)

    def _plain(self, begin: int, end: int) -> str:
        """Text as a browser shows it: white space is one space, but at the ends, where it stays outside."""
        raw = unescape(self.text[begin:end])
        head, tail = raw[: len(raw) - len(raw.lstrip(" \t\r\n\f"))], raw[len(raw.rstrip(" \t\r\n\f")) :]
        inner = raw[len(head) : len(raw) - len(tail)] if raw.strip(" \t\r\n\f") else ""
        return head + _SPACE.sub(" ", inner) + tail if inner else raw

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
                yield make_unit([unescape(raw)], partial(self._write, begin, end), self.lines.at(begin))

    def _write(self, begin: int, end: int, new: str) -> list[Splice]:
        """The value of an attribute."""
        self.inner.append(Splice(begin, end, escape_attribute(new)))
        return self.inner[-1:]


def escape_text(text: str) -> str:
    """Text as content of HTML; an ampersand that cannot be read as an entity stays."""
    return _AMPERSAND.sub("&amp;", text).replace("<", "&lt;").replace("\u00a0", "&nbsp;")


def _is_opaque(tag: Tag) -> bool:
    return (
        tag.name in OPAQUE or tag.get("translate").lower() == "no" or "notranslate" in tag.get("class").split()
    ) and tag.name not in VOID


def _closing(tags: Sequence[Tag], number: int) -> int:
    """The number of the tag that ends an element; the last one where none does."""
    name, depth = tags[number].name, 0
    for place in range(number, len(tags)):
        if tags[place].name == name:
            depth += (tags[place].kind == "open") - (tags[place].kind == "close")
            if depth == 0:
                return place
    return len(tags) - 1
