"""Segments of a translation memory: TMX 1.4b (and older versions, which have the same elements)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from limelight.text.pair import BadLine
from limelight.text.readers.codes import Code, Parts
from limelight.text.readers.segments import Segment, Variant, matches
from limelight.text.readers.xml_units import Element, read_units

_CODES = ("bpt", "ept", "ph", "it", "ut")
"""Elements whose content is code, not text."""


def scan_tmx(path: str | Path) -> Iterator[Segment | BadLine]:
    """The translation units of a memory. The text in its source language comes first, unless that is `*all*`."""
    own = ""
    for unit in read_units(path, "tmx", ("header", "tu")):
        if isinstance(unit, BadLine):
            yield unit
        elif unit.element.name == "header":
            own = unit.element.get("srclang")
        else:
            yield _segment(unit.element, own, str(path))


def _segment(unit: Element, own: str, file: str) -> Segment | BadLine:
    variants = []
    for variant in unit.elements("tuv"):
        language = variant.language or variant.get("lang")
        if not language:
            return BadLine(file, variant.line, "a <tuv> without a language (xml:lang)")
        text = variant.first("seg")
        if text is not None:
            variants.append(Variant(language, _parts(text)))
    source = unit.get("srclang") or own
    variants.sort(key=lambda each: not (source and matches(source, each.language)))  # stable
    return Segment(unit.line, variants, unit.get("tuid"))


def _parts(segment: Element) -> Parts:
    """Text and codes. The content of codes is not text; that of highlighting (`hi`) is."""
    parts: list[str | Code] = []
    opened: dict[str, str] = {}  # the keys of <bpt> by their i
    _collect(segment, parts, opened)
    return parts


def _collect(element: Element, parts: list[str | Code], opened: dict[str, str]) -> None:
    for child in element.children:
        if isinstance(child, str):
            parts.append(child)
        elif child.name in _CODES:
            parts.append(_code(child, opened))
        else:
            _collect(child, parts, opened)


def _code(element: Element, opened: dict[str, str]) -> Code:
    """A code with its key: `x`, which is equal on both sides; else `i` for a pair, else the content."""
    said, pair = element.get("x"), element.get("i")
    if element.name == "bpt":
        opened[pair] = f"bpt x{said}" if said else f"bpt i{pair}"
        return Code(opened[pair], "open")
    if element.name == "ept":
        return Code(opened.get(pair, f"bpt i{pair}"), "close")
    return Code(f"{element.name} x{said}" if said else f"{element.name} {element.text()}")
