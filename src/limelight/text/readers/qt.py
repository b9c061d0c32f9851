"""Segments of a Qt translation file (TS): the finished translations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from limelight.text.pair import BadLine
from limelight.text.readers.codes import Code, Parts
from limelight.text.readers.segments import Segment, Variant
from limelight.text.readers.xml_units import Element, Unit, read_units

UNFINISHED = "unfinished"
_UNUSED = {UNFINISHED: UNFINISHED, "vanished": "obsolete", "obsolete": "obsolete"}


def scan_qt(path: str | Path) -> Iterator[Segment | BadLine]:
    """The messages of a file. Of several plural forms (`numerusform`) the last one is used: the general one in nearly
    all languages."""
    for unit in read_units(path, "TS", ("message",)):
        if isinstance(unit, BadLine):
            yield unit
        elif (segment := _segment(unit)) is not None:
            yield segment


def _segment(unit: Unit) -> Segment | None:
    root, message = unit.ancestors[0], unit.element
    source, target = message.first("source"), message.first("translation")
    if source is None:
        return None
    kind = target.get("type") if target is not None else "unfinished"
    forms = list(target.elements("numerusform")) if target is not None else []
    text = _parts(forms[-1] if forms else target) if target is not None else []
    reason = _UNUSED.get(kind, "")
    empty = not any(not isinstance(part, str) or part.strip() for part in text)
    reason = reason or ("not translated" if empty else "")
    variants = [Variant(root.get("sourcelanguage"), _parts(source)), Variant(root.get("language"), text)]
    return Segment(message.line, variants, message.get("id"), reason, is_draft=reason == UNFINISHED and not empty)


def _parts(element: Element) -> Parts:
    """Text, and `<byte value="x1b"/>` as codes; of several length variants the first."""
    variants = list(element.elements("lengthvariant"))
    children = (variants[0] if variants else element).children
    return [child if isinstance(child, str) else Code(f"{child.name} {child.get('value')}") for child in children]
