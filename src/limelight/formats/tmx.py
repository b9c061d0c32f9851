"""TMX 1.4b and older versions: pairs of two languages."""

from collections.abc import Iterator
from pathlib import Path

from limelight.formats.segments import Segment, Variant, matches
from limelight.formats.xml import Element, Inline, inline_parts, read_units
from limelight.text.pair import BadLine

_CODES = {"bpt": Inline("", "open"), "ept": Inline("", "close"), **dict.fromkeys(("ph", "it", "ut"), Inline(""))}
"""Elements whose content is code; other elements, such as `hi`, have text."""


def _inline(element: Element) -> Inline:
    return _CODES.get(element.name, Inline("", is_text=True))


def scan_tmx(path: str | Path) -> Iterator[Segment | BadLine]:
    """The translation units of a memory. The text in its source language comes first, unless that is `*all*`."""
    own = ""
    for unit in read_units(path, "tmx", ("header", "tu")):
        element = unit.element
        if element.name == "header":
            own = element.get("srclang")
        elif not all(variant.get("lang") for variant in element.elements("tuv")):
            yield BadLine(str(path), element.line, "a <tuv> without a language (xml:lang)")
        else:
            source = element.get("srclang") or own
            texts = ((variant.get("lang"), variant.first("seg")) for variant in element.elements("tuv"))
            variants = [Variant(language, list(inline_parts(text, _inline))) for language, text in texts if text]
            variants.sort(key=lambda variant: not matches(source, variant.language))  # stable
            yield Segment(element.line, variants, element.get("tuid"))
