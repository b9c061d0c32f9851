"""TMX 1.4b and older versions: pairs of two languages, and units without a text in the target language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from limelight.formats.segments import Segment, Variant, matches
from limelight.formats.unit import FormatError, Splice, Unit, make_unit, with_codes
from limelight.formats.xml import (
    Element,
    Inline,
    escape_xml,
    find_units,
    indent,
    inline_parts,
    opening_tag,
    read_units,
)
from limelight.text.pair import BadLine

_CODES = ("ph", "it", "ut")
"""Elements whose content is code, besides `bpt` and `ept`; other elements, such as `hi`, have text."""


def _texts(unit: Element) -> Iterator[tuple[str, Element, Element]]:
    """The language, the `tuv` and the `seg` of each text of a unit."""
    for variant in unit.elements("tuv"):
        segment = variant.first("seg")
        if segment is not None:
            yield variant.get("lang"), variant, segment


class _Inline:
    """The codes of a text. Their key is `x`, which is equal on both sides; else `i` for a pair, else the content."""

    def __init__(self) -> None:
        self._opened = dict[str, str]()

    def __call__(self, element: Element) -> Inline:
        name, said, pair = element.name, element.get("x"), element.get("i")
        if name == "bpt":
            self._opened[pair] = f"bpt x{said}" if said else f"bpt i{pair}"
        if name in ("bpt", "ept"):
            return Inline(self._opened.get(pair, f"bpt i{pair}"), "open" if name == "bpt" else "close")
        if name in _CODES:
            return Inline(f"{name} x{said}" if said else f"{name} {element.text()}")
        return Inline(name, is_text=True, in_pairs=False)


def scan_tmx(path: str | Path) -> Iterator[Segment | BadLine]:
    """The translation units of a memory. The text in its source language comes first, unless that is `*all*`."""
    own = ""
    for unit in read_units(path, ("tmx",), ("header", "tu")):
        if unit.element.name == "header":
            own = unit.element.get("srclang")
        elif not all(each.get("lang") for each in unit.element.elements("tuv")):
            yield BadLine(str(path), unit.element.line, "a <tuv> without a language (xml:lang)")
        else:
            source = unit.element.get("srclang") or own
            texts = _texts(unit.element)
            variants = [Variant(language, list(inline_parts(text, _Inline()))) for language, _, text in texts]
            variants.sort(key=lambda each: not (source and matches(source, each.language)))  # stable
            yield Segment(unit.element.line, variants, unit.element.get("tuid"))


def tmx_units(text: str, source: str, target: str) -> list[Unit]:
    """Units of a translation memory with a text in the source language, and none yet in the target language.

    Raises `FormatError` if the text is not TMX, or a language is not given.
    """
    if not (source and target):
        raise FormatError("a TMX file names its languages: say which with --from and --to")
    units = list[Unit]()
    for element, _ in find_units(text, ("tmx",), ("tu",)):
        texts = list(_texts(element))
        found = next((segment for language, _, segment in texts if matches(source, language)), None)
        if found is not None and not any(matches(target, language) for language, _, _ in texts):
            unit = _unit(text, element, found, target)
            units += [unit] * unit.has_words
    return units


def _unit(text: str, element: Element, segment: Element, target: str) -> Unit:
    *_, last = element.elements("tuv")
    attribute = "xml:lang" if "xml:lang" in opening_tag(text, last)[1] else "lang"

    def write(new: str) -> Iterator[Splice]:
        content = with_codes(new, unit.codes, escape_xml)
        written = f'<tuv {attribute}="{target}" changeid="MT"><seg>{content}</seg></tuv>'
        yield Splice(last.end, last.end, indent(text, last.begin) + written)

    unit = make_unit(list(inline_parts(segment, _Inline(), text)), write, element.line)
    return unit
