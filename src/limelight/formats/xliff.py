"""XLIFF 1.2 and 2.x: translated segments as pairs, and those without a translation as units."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from limelight.errors import shown
from limelight.formats.segments import Segment, Variant
from limelight.formats.unit import FormatError, Limits, Parts, Splice, Unit, make_unit, with_codes, with_first
from limelight.formats.xml import (
    Element,
    Inline,
    XmlUnit,
    escape_xml,
    find_units,
    has_content,
    indent,
    inline_parts,
    opening_tag,
    parse_xml,
    read_units,
    with_attribute,
)
from limelight.text.marking import CODES
from limelight.text.pair import BadLine

DONE = ("translated", "final", "signed-off", "reviewed")
"""States in which a translation is used."""
APPROVED = ("final", "signed-off", "reviewed")
"""States of reviewed translations."""
UNITS = ("trans-unit", "unit")
_CATALOG_HEADER = "x-gettext-domain-header"
"""The type of a unit with the header of a PO file, which is not text."""
_MACHINE = ("leveraged-mt", "mt-suggestion")
_STATES = ' state="needs-review-translation" state-qualifier="leveraged-mt"'
"""Of translations that are written, in 1.2."""
_STATE = re.compile(r"\s+state(?:-qualifier)?\s*=\s*(?:\"[^\"]*\"|'[^']*')")


def inline_of(element: Element) -> Inline:
    """Both tags of a pair get the same key: in 1.2 by `rid` if present, in 2.x by the reference of the end."""
    name, identifier = element.name, element.get("id")
    if name in ("g", "pc"):
        return Inline(f"{name} {identifier}", is_text=True)
    if name in ("mrk", "sm", "em", "cp"):
        return Inline(name, is_text=name == "mrk", in_pairs=False)
    if name in ("sc", "ec") and element.get("isolated") != "yes":
        return Inline(f"sc {element.get('startRef') or identifier}", "open" if name == "sc" else "close")
    if name in ("bx", "ex", "bpt", "ept"):
        key = f"{'bx' if name in ('bx', 'ex') else 'bpt'} {element.get('rid') or identifier}"
        return Inline(key, "open" if name in ("bx", "bpt") else "close")
    return Inline(f"{name} {identifier}")


class Sides(NamedTuple):
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
        return self.target is not None and has_content(inline_parts(self.target, inline_of))

    @property
    def is_kept(self) -> bool:
        """Whether `translate="no"` holds."""
        return self.unit.inherited("translate") == "no"

    @property
    def is_approved(self) -> bool:
        return self.state in APPROVED or self.unit.element.get("approved") == "yes"

    @property
    def draft(self) -> str:
        """Why the translation is not finished; empty if it is."""
        approved = self.unit.element.get("approved")
        if self.state and self.state not in DONE and approved != "yes":
            return f"its state is {shown(self.state, 30)}"
        if approved == "no" and not self.state:
            return "not approved"
        target = self.divided or self.target
        by_machine = target is not None and target.get("state-qualifier") in _MACHINE and not self.is_approved
        return "a machine translation that is not approved" if by_machine else ""

    def is_wanted(self, *, everything: bool) -> bool:
        """Whether a document wants a translation; with `everything` also instead of one that is not approved."""
        done = self.is_filled and self.state in ("", *DONE)
        return not (self.is_kept or self.is_approved) and (everything or not done)


def sides_of(unit: XmlUnit) -> Iterator[Sides]:
    """The segments of a unit, without suggestions (`alt-trans`, `mtc:match`) and `ignorable` text.

    A `trans-unit` is several if both sides are divided into `mrk` with the same numbers, and some of them are filled.
    """
    element = unit.element
    if element.name == "unit":
        for number, segment in enumerate(element.elements("segment"), start=1):
            source = segment.first("source")
            if source is not None:
                name = f"{element.get('id')}/{segment.get('id') or number}"
                place = XmlUnit(segment, (*unit.ancestors, element))
                yield Sides(place, source, segment.first("target"), name, segment.get("state"))
        return
    source, target = element.first("source"), element.first("target")
    if source is None or element.get("restype") == _CATALOG_HEADER:
        return
    whole = Sides(unit, source, target, element.get("id"), target.get("state") if target else "")
    divided = element.first("seg-source")
    sources, targets = _marks(divided), _marks(target)
    if sources.keys() != targets.keys() or not (sources and whole.is_filled):
        yield whole
    for mid in sources if sources.keys() == targets.keys() and whole.is_filled else ():
        yield whole._replace(source=sources[mid], target=targets[mid], divided=target)


def _marks(side: Element | None) -> dict[str, Element]:
    """The segments of a side by their numbers."""
    nodes = side.walk() if side is not None else ()
    marks = (node for node in nodes if not isinstance(node, str) and node.name == "mrk")
    return {mark.get("mid"): mark for mark in marks if mark.get("mtype") == "seg"}


def scan_xliff(path: str | Path) -> Iterator[Segment | BadLine]:
    """The segments of a file, each once: those in a translated state, or with a translation and without a state."""
    for unit in read_units(path, "xliff", UNITS):
        if isinstance(unit, BadLine):
            yield unit
        else:
            yield from map(_segment, sides_of(unit))


def _segment(sides: Sides) -> Segment:
    element, target = sides.unit.element, sides.divided or sides.target
    texts: list[Parts] = [list(inline_parts(each, inline_of)) if each else [] for each in (sides.source, sides.target)]
    root = sides.unit.ancestors[0]
    source = root.get("srcLang") or sides.unit.inherited("source-language") or sides.source.get("lang")
    named = root.get("trgLang") or sides.unit.inherited("target-language") or (target.get("lang") if target else "")
    closed = 'translate="no"' if sides.is_kept else "" if has_content(texts[1]) else "not translated"
    draft = "" if closed else sides.draft
    variants = [Variant(source, texts[0]), Variant(named, texts[1])]
    return Segment(element.line, variants, sides.name, closed or draft, bool(draft), sides.is_approved)


def xliff_units(text: str, language: str = "", *, everything: bool = False) -> list[Unit]:
    """Segments of XLIFF 1.2 and 2.x without a target, or whose target is not yet translated.

    Sets the target's state to `needs-review-translation` with `leveraged-mt` (1.2), the segment's state to `translated`
    (2.x). Segments that are approved, final or not to be translated are unchanged.
    """
    root = parse_xml(text)
    if root.name != "xliff":
        raise FormatError("not XLIFF: its first element is not <xliff>", 1)
    profile = _profile(root) if "sizeRestriction" in text else ""
    units = list[Unit]()
    for unit in find_units(root, *UNITS):
        for sides in sides_of(unit):
            if sides.is_wanted(everything=everything):
                units += _unit(text, sides, profile)
    holders = [root] if root.get("version").startswith("2") else list(root.elements("file"))
    attribute = "trgLang" if root.get("version").startswith("2") else "target-language"
    named = [with_attribute(text, each, attribute, language) for each in holders if not each.get(attribute)]
    return with_first(units, named if language else [])


def _unit(text: str, sides: Sides, profile: str) -> Iterator[Unit]:
    element, target = sides.unit.element, sides.target
    after = sides.source if sides.divided else element.first("seg-source") or sides.source
    parts = list(inline_parts(after, inline_of, text))
    if element.name == "segment":
        limits = size_limits(sides.unit, profile)
    else:
        limits = width_limits(sides.unit, "".join(part for part in parts if isinstance(part, str)))

    def write(new: str) -> Iterator[Splice]:
        content = with_codes(new, unit.codes, escape_xml)
        states = _STATES if element.name == "trans-unit" else ""
        if target is None:
            prefix = opening_tag(text, after)[0].rpartition(":")[0]
            name = f"{prefix}:target" if prefix else "target"
            written = f"{indent(text, after.begin)}<{name}{states}>{content}</{name}>"
            yield Splice(after.end, after.end, written)
        elif sides.divided:
            name, attributes = opening_tag(text, target)
            yield Splice(target.begin, target.end, f"<{name}{attributes}>{content}</{name}>")
            name, attributes = opening_tag(text, sides.divided)
            opened = f"<{name}{_STATE.sub('', attributes)}{states}>"
            yield Splice(sides.divided.begin, sides.divided.content, opened)
        else:
            name, attributes = opening_tag(text, target)
            opened = f"<{name}{_STATE.sub('', attributes)}{states}>"
            yield Splice(target.begin, target.end, f"{opened}{content}</{name}>")
        if element.name == "segment":
            yield with_attribute(text, element, "state", "translated")

    unit = make_unit(parts, write, element.line, limits)
    return iter([unit] * unit.has_words)


_DIGITS = re.compile("[0-9]{1,9}")
_RESTRICTIONS: dict[str, tuple[str, Callable[[str], int]]] = {
    "xliff:codepoints": ("characters", len),
    "xliff:utf8": ("bytes", lambda text: len(text.encode())),
    "xliff:utf16": ("units of UTF-16", lambda text: len(text.encode("utf-16-le")) // 2),
    "xliff:utf32": ("characters", len),
}
"""Profiles of the size restriction module of XLIFF 2: the unit, and how it is counted."""


def width_limits(unit: XmlUnit, source: str) -> Limits:
    """`maxwidth` of XLIFF 1.2, of the innermost element that has one, in its `size-unit`.

    Other units than characters and bytes cannot be measured without a font: there a text is reported if it has more
    characters than the limit, or more than its source.
    """
    holders = (unit.element, *reversed(unit.ancestors))
    holder = next((each for each in holders if _DIGITS.fullmatch(each.get("maxwidth"))), None)

    def exceeded(new: str) -> Iterator[str]:
        if holder is None:
            return
        text, most, kind = CODES.sub("", new), int(holder.get("maxwidth")), holder.get("size-unit")
        size, name = (len(text.encode()), "bytes") if kind == "byte" else (len(text), "characters")
        if size > most:
            yield f"too long: {size} {name}, maxwidth is {most}{f' {kind}' * (kind not in ('char', 'byte', ''))}"
        elif kind not in ("char", "glyph", "", "byte") and len(text) > len(source):
            yield f"longer than its source, and its width is not measured: maxwidth is {most} {kind}"

    return exceeded


def _profile(root: Element) -> str:
    nodes = (node for node in root.walk() if not isinstance(node, str) and node.name == "profiles")
    return next((node.get("generalProfile") for node in nodes), "")


def size_limits(unit: XmlUnit, profile: str) -> Limits:
    """`slr:sizeRestriction` of XLIFF 2, of the innermost element that has one; `profile` is the `generalProfile` of the
    file. Other profiles are not checked."""
    holders: Sequence[Element] = (unit.element, *reversed(unit.ancestors))
    bounds = (each.get("sizeRestriction").rpartition(",")[2].strip() for each in holders)
    most = next((int(bound) for bound in bounds if _DIGITS.fullmatch(bound)), None)

    def exceeded(new: str) -> Iterator[str]:
        if profile in _RESTRICTIONS and most is not None:
            name, count = _RESTRICTIONS[profile]
            size = count(CODES.sub("", new))
            if size > most:
                yield f"too long: {size} {name}, sizeRestriction is {most}"

    return exceeded
