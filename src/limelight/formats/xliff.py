"""Segments of XLIFF 1.2 and 2.x: those in a translated state, or with a translation and without a state; and the
finished translations of Qt's files (TS).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from limelight.errors import shown
from limelight.formats.segments import Code, Parts, Segment, Variant
from limelight.formats.xml_units import Element, Unit, read_units
from limelight.text.pair import BadLine

DONE = ("translated", "final", "signed-off", "reviewed")
"""States in which a translation is used."""
APPROVED = ("final", "signed-off", "reviewed")
"""States of reviewed translations."""
NOT_TRANSLATED = "not translated"
CATALOG_HEADER = "x-gettext-domain-header"
"""The type of a unit with the header of a PO file, which is not text."""
_MACHINE = ("leveraged-mt", "mt-suggestion")
_TRANSPARENT = ("mrk", "sm", "em")


def scan_xliff(path: str | Path) -> Iterator[Segment | BadLine]:
    """The segments of a file, each once, without suggestions (`alt-trans`, `mtc:match`) and `ignorable` text."""
    for unit in read_units(path, "xliff", ("trans-unit", "unit")):
        if isinstance(unit, BadLine):
            yield unit
        elif unit.element.name == "unit":
            yield from _unit_2(unit)
        else:
            yield from _unit_1(unit)


def _unit_1(unit: Unit) -> Iterator[Segment]:
    """A `trans-unit` of 1.2: one segment, or several if both texts are divided into segments with the same numbers."""
    element = unit.element
    source, target = element.first("source"), element.first("target")
    if source is None or element.get("restype") == CATALOG_HEADER:
        return
    named = _inherited(unit, "source-language"), _inherited(unit, "target-language")
    texts = [_parts(source), _parts(target) if target else []]
    closed = _kept_from_translation(unit) or ("" if target and _has_text(texts[1]) else NOT_TRANSLATED)
    draft = "" if closed or target is None else _draft_1(element, target)
    approved = element.get("approved") == "yes" or (target is not None and target.get("state") in APPROVED)
    reason = closed or draft
    languages = named[0] or source.language, named[1] or (target.language if target else "")
    divided = element.first("seg-source")
    pieces = _divided(divided, target) if divided and target and not closed else []
    for left, right in pieces or [(texts[0], texts[1])]:
        variants = [Variant(languages[0], left), Variant(languages[1], right)]
        yield Segment(element.line, variants, element.get("id"), reason, bool(draft), approved)


def _draft_1(unit: Element, target: Element) -> str:
    """Why the translation of a `trans-unit` is not finished."""
    state, origin = target.get("state"), target.get("state-qualifier")
    if unit.get("approved") == "yes":
        return ""
    if state and state not in DONE:
        return _state(state)
    if unit.get("approved") == "no" and not state:
        return "not approved"
    by_machine = origin in _MACHINE and state not in APPROVED
    return "a machine translation that is not approved" if by_machine else ""


def _divided(source: Element, target: Element) -> list[tuple[Parts, Parts]]:
    """The segments inside a `trans-unit`, by their numbers; none if these differ between the sides."""
    sides = [
        {mark.get("mid"): _parts(mark) for mark in _all(side, "mrk") if mark.get("mtype") == "seg"}
        for side in (source, target)
    ]
    if sides[0].keys() != sides[1].keys():
        return []
    return [(sides[0][number], sides[1][number]) for number in sides[0]]


def _all(element: Element, name: str) -> Iterator[Element]:
    """All elements with a name, at any depth."""
    for child in element.children:
        if not isinstance(child, str):
            if child.name == name:
                yield child
            yield from _all(child, name)


def _unit_2(unit: Unit) -> Iterator[Segment]:
    """The segments of a `unit` of 2.x."""
    root, element = unit.ancestors[0], unit.element
    closed = _kept_from_translation(unit)
    for number, segment in enumerate(element.elements("segment"), start=1):
        source, target = segment.first("source"), segment.first("target")
        if source is None:
            continue
        text = _parts(target) if target else []
        state = segment.get("state")
        reason = closed or ("" if _has_text(text) else NOT_TRANSLATED)
        draft = _state(state) if not reason and state and state not in DONE else ""
        name = f"{element.get('id')}/{segment.get('id') or number}"
        variants = [Variant(root.get("srcLang"), _parts(source)), Variant(root.get("trgLang"), text)]
        yield Segment(segment.line, variants, name, reason or draft, bool(draft), state in APPROVED)


def _state(state: str) -> str:
    return f"its state is {shown(state, 30)}"


def _kept_from_translation(unit: Unit) -> str:
    """`translate="no"` of the element, or of the nearest enclosing one with this attribute."""
    return 'translate="no"' if _inherited(unit, "translate") == "no" else ""


def _inherited(unit: Unit, name: str) -> str:
    """An attribute of the element, or of the nearest enclosing one that has it."""
    return next((found for each in (unit.element, *reversed(unit.ancestors)) if (found := each.get(name))), "")


def _has_text(parts: Parts) -> bool:
    return any(not isinstance(part, str) or part.strip() for part in parts)


def _parts(text: Element) -> Parts:
    parts: list[str | Code] = []
    _collect(text, parts)
    return parts


def _collect(element: Element, parts: list[str | Code]) -> None:
    for child in element.children:
        if isinstance(child, str):
            parts.append(child)
        elif child.name in ("g", "pc"):
            key = f"{child.name} {child.get('id')}"
            parts.append(Code(key, "open"))
            _collect(child, parts)
            parts.append(Code(key, "close"))
        elif child.name in _TRANSPARENT:
            _collect(child, parts)
        elif child.namespace == element.namespace and child.name != "cp":
            parts.append(_code(child))  # cp: a character that XML cannot represent


def _code(element: Element) -> Code:
    """Both tags of a pair get the same key: in 1.2 by `rid` if present, in 2.x by the reference of the end."""
    name, isolated = element.name, element.get("isolated") == "yes"
    identifier = element.get("id")
    if name in ("sc", "ec") and not isolated:
        return Code(f"sc {element.get('startRef') or identifier}", "open" if name == "sc" else "close")
    if name in ("bx", "ex", "bpt", "ept"):
        key = f"{'bx' if name in ('bx', 'ex') else 'bpt'} {element.get('rid') or identifier}"
        return Code(key, "open" if name in ("bx", "bpt") else "close")
    return Code(f"{name} {identifier}")


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
    text = _qt_parts(forms[-1] if forms else target) if target is not None else []
    reason = _UNUSED.get(kind, "")
    empty = not any(not isinstance(part, str) or part.strip() for part in text)
    reason = reason or ("not translated" if empty else "")
    variants = [Variant(root.get("sourcelanguage"), _qt_parts(source)), Variant(root.get("language"), text)]
    return Segment(message.line, variants, message.get("id"), reason, is_draft=reason == UNFINISHED and not empty)


def _qt_parts(element: Element) -> Parts:
    """Text, and `<byte value="x1b"/>` as codes; of several length variants the first."""
    variants = list(element.elements("lengthvariant"))
    children = (variants[0] if variants else element).children
    return [child if isinstance(child, str) else Code(f"{child.name} {child.get('value')}") for child in children]
