"""XLIFF 1.2 and 2.x: translated segments as pairs, and those without a translation as units."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from limelight.formats.html import scan_tags
from limelight.formats.segments import Segment, Variant
from limelight.formats.unit import Options, Parts, Splice, Unit, has_words, make_unit, with_codes, with_splices
from limelight.formats.xml import (
    Element,
    Inline,
    XmlUnit,
    escape_xml,
    find_units,
    has_content,
    inline_parts,
    read_units,
)

APPROVED = ("final", "signed-off", "reviewed")
"""States of reviewed translations."""
DONE = ("", "translated", *APPROVED)
"""States in which a translation is used."""
UNITS = ("trans-unit", "unit")
_CATALOG_HEADER = "x-gettext-domain-header"
"""The type of a unit with the header of a PO file, which is not text."""
_MACHINE = ("leveraged-mt", "mt-suggestion")
_STATES = ' state="needs-review-translation" state-qualifier="leveraged-mt"'
"""Of translations that are written, in 1.2."""
_INDENT = re.compile(r"\r?\n[ \t]*\Z")
_STATE = re.compile(r"(?<!\s)\s+state(?:-qualifier)?\s*=\s*(?:\"[^\"]*\"|'[^']*')")


def _inline(element: Element) -> Inline:
    """Both tags of a pair get the same key: in 1.2 by `rid` if present, in 2.x by the reference of the end."""
    name, identifier = element.name, element.get("id")
    if name in ("g", "pc", "mrk"):
        return Inline(f"{name} {identifier}", is_text=True)
    if name in ("sc", "ec") and element.get("isolated") != "yes":
        return Inline(f"sc {element.get('startRef') or identifier}", "open" if name == "sc" else "close")
    if name in ("bx", "ex", "bpt", "ept"):
        key = f"{'bx' if name in ('bx', 'ex') else 'bpt'} {element.get('rid') or identifier}"
        return Inline(key, "open" if name in ("bx", "bpt") else "close")
    return Inline(f"{name} {identifier}")


class _Sides(NamedTuple):
    """The source of a segment and its target: a `trans-unit`, a `segment` of 2.x, or an `mrk` of a divided unit."""

    unit: XmlUnit
    source: Element
    target: Element | None
    name: str
    state: str
    divided: Element | None = None
    """The target whose `mrk` the segment is."""

    @property
    def is_filled(self) -> bool:
        """Whether it has a translation."""
        return self.target is not None and has_content(inline_parts(self.target, _inline))

    @property
    def is_kept(self) -> bool:
        """Whether `translate="no"` holds."""
        return self.unit.inherited("translate") == "no"

    @property
    def is_approved(self) -> bool:
        return self.state in APPROVED or self.unit.element.get("approved") == "yes"

    @property
    def is_draft(self) -> bool:
        """Whether the translation is not finished, or was made by a machine and is not approved."""
        holder = self.divided or self.target
        by_machine = holder is not None and holder.get("state-qualifier") in _MACHINE
        refused = self.unit.element.get("approved") == "no" and not self.state
        return not self.is_approved and (self.state not in DONE or refused or by_machine)


def _sides(unit: XmlUnit) -> Iterator[_Sides]:
    """The segments of a unit, without suggestions (`alt-trans`, `mtc:match`) and `ignorable` text.

    A `trans-unit` is several if both sides are divided into `mrk` with the same numbers, and some of them are filled.
    """
    element = unit.element
    for number, segment in enumerate(element.elements("segment"), start=1):  # 2.x
        if inner := segment.first("source"):
            name = f"{element.get('id')}/{segment.get('id') or number}"
            segment_unit = XmlUnit(segment, (*unit.ancestors, element))
            yield _Sides(segment_unit, inner, segment.first("target"), name, segment.get("state"))
    source, target = element.first("source"), element.first("target")
    if source is None or element.get("restype") == _CATALOG_HEADER:
        return
    sides = _Sides(unit, source, target, element.get("id"), target.get("state") if target else "")
    sources, targets = _marks(element.first("seg-source")), _marks(target)
    if sources and sources.keys() == targets.keys() and sides.is_filled:
        for mid in sources:
            yield sides._replace(source=sources[mid], target=targets[mid], divided=target)
    else:
        yield sides


def _marks(side: Element | None) -> dict[str, Element]:
    """The segments of a side by their numbers."""
    marks = side.walk("mrk") if side is not None else ()
    return {mark.get("mid"): mark for mark in marks if mark.get("mtype") == "seg"}


def scan_xliff(path: str | Path) -> Iterator[Segment]:
    """The segments of a file, once for each: those in a translated state, or with a translation and without a state."""
    for unit in read_units(path, "xliff", UNITS):
        yield from map(_segment, _sides(unit))


def _segment(sides: _Sides) -> Segment:
    element, target = sides.unit.element, sides.divided or sides.target
    texts: list[Parts] = [list(inline_parts(side, _inline)) if side else [] for side in (sides.source, sides.target)]
    inherited = sides.unit.inherited
    source = inherited("srcLang") or inherited("source-language") or sides.source.get("lang")
    named = inherited("trgLang") or inherited("target-language") or (target.get("lang") if target else "")
    unused = 'translate="no"' if sides.is_kept else "" if has_content(texts[1]) else "not translated"
    if not unused and sides.is_draft:
        unused = f"not approved (its state is {sides.state})" if sides.state else "not approved"
    return Segment(element.line, [Variant(source, texts[0]), Variant(named, texts[1])], sides.name, unused)


def xliff_units(text: str, options: Options) -> list[Unit]:
    """Segments of XLIFF 1.2 and 2.x without a target, or whose target is not yet translated; with `options.everything`
    also segments whose target is not approved.

    Sets the target's state to `needs-review-translation` with `leveraged-mt` (1.2), the segment's state to `translated`
    (2.x). Segments that are approved, final or not to be translated are unchanged.
    """
    units = list[Unit]()
    for unit in find_units(text, "xliff", UNITS):
        is_second = unit.ancestors[0].get("version").startswith("2")
        holder, name = ("xliff", "trgLang") if is_second else ("file", "target-language")
        languages = [
            _with_attribute(text, ancestor, name, options.target)
            for ancestor in unit.ancestors
            if ancestor.name == holder and options.target and not ancestor.get(name)
        ]
        for sides in _sides(unit):
            done = sides.is_filled and sides.state in DONE
            if not (sides.is_kept or sides.is_approved) and (options.everything or not done):
                units += with_splices([*_unit(text, sides)], languages)
    return units


def _unit(text: str, sides: _Sides) -> Iterator[Unit]:
    element, target, divided = sides.unit.element, sides.target, sides.divided
    source = sides.source if divided else element.first("seg-source") or sides.source
    prefix = f"{(target or source).prefix}:".removeprefix(":")

    def write(new: str) -> Iterator[Splice]:
        content = with_codes(new, unit.codes, escape_xml)
        states = _STATES if element.name == "trans-unit" else ""
        if target is None:
            indent = _INDENT.search(text, max(0, source.begin - 200), source.begin)
            line = indent[0] if indent else ""
            written = f"{line}<{prefix}target{states}>{content}</{prefix}target>"
            yield Splice(source.end, source.end, written)
        else:
            opened = _with_states(text, target, "" if divided else states)
            yield Splice(target.begin, target.end, f"{opened}{content}</{prefix}{target.name}>")
        if divided:
            yield Splice(divided.begin, divided.content, _with_states(text, divided, states))
        if element.name == "segment":
            yield _with_attribute(text, element, "state", "translated")

    unit = make_unit(list(inline_parts(source, _inline, text)), write, element.line)
    if has_words(unit.text):
        yield unit


def _with_states(text: str, element: Element, states: str) -> str:
    """The first tag of an element with other states."""
    return f"{_STATE.sub('', text[element.begin : element.content]).rstrip('/>').rstrip()}{states}>"


def _with_attribute(text: str, element: Element, name: str, value: str) -> Splice:
    """A splice that sets an attribute, or adds it after the others."""
    tag = next(scan_tags(text, element.begin, html=False))
    if attribute := tag.find(name):
        return Splice(*attribute[1:], value)
    position = tag.attributes_begin + len(tag.attributes.rstrip())
    return Splice(position, position, f' {name}="{value}"')
