"""Qt translation files (TS): their finished translations as pairs."""

from collections.abc import Iterator
from pathlib import Path

from limelight.formats.segments import Segment, Variant
from limelight.formats.unit import Parts
from limelight.formats.xml import Element, Inline, has_content, inline_parts, read_units

_UNUSED = {"unfinished": "unfinished", "vanished": "obsolete", "obsolete": "obsolete"}
"""Why a message is not used, by the type of its translation."""


def scan_qt(path: str | Path) -> Iterator[Segment]:
    """The messages of a file. Of the forms of a plural the last one is used: the general one in nearly all
    languages."""
    for unit in read_units(path, "TS", ("message",)):
        root, source, translation = unit.ancestors[0], unit.element.first("source"), unit.element.first("translation")
        if source is not None:
            forms = list(translation.elements("numerusform")) if translation else []
            target = _parts(forms[-1] if forms else translation)
            kind = translation.get("type") if translation else "unfinished"
            unused = _UNUSED.get(kind) or "not translated" * (not has_content(target))
            variants = [Variant(root.get("sourcelanguage"), _parts(source)), Variant(root.get("language"), target)]
            yield Segment(unit.element.line, variants, unit.element.get("id"), unused)


def _parts(element: Element | None) -> Parts:
    return list(inline_parts(element, lambda child: Inline(child.name))) if element else []
