"""Qt translation files (TS): finished translations as pairs, and messages without one as units."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from limelight.formats.accelerators import label_parts, with_accelerator
from limelight.formats.plurals import PluralForms, forms_of_qt
from limelight.formats.segments import Segment, Variant
from limelight.formats.unit import Parts, Splice, Unit, make_unit, with_codes
from limelight.formats.xml import (
    Element,
    Inline,
    XmlUnit,
    escape_xml,
    find_units,
    has_content,
    indent,
    inline_parts,
    read_units,
    with_languages,
)

UNFINISHED = "unfinished"
_UNUSED = {UNFINISHED: UNFINISHED, "vanished": "obsolete", "obsolete": "obsolete"}


class _Message(NamedTuple):
    """A message with its translation, of which the last form is used: the general one in nearly all languages."""

    element: Element
    source: Element
    translation: Element | None
    forms: Sequence[Element]
    """Its forms for numbers (`numerusform`)."""
    kind: str
    """Why the translation is not used; empty if it is."""
    target: Parts


def _messages(unit: XmlUnit) -> Iterator[_Message]:
    source, target = unit.element.first("source"), unit.element.first("translation")
    if source is not None:
        forms = list(target.elements("numerusform")) if target else []
        text = _parts(forms[-1] if forms else target) if target else []
        kind = _UNUSED.get(target.get("type") if target else UNFINISHED, "")
        yield _Message(unit.element, source, target, forms, kind, text)


def _parts(element: Element, text: str = "") -> Parts:
    return list(inline_parts(element, lambda each: Inline(each.name), text))


def scan_qt(path: str | Path) -> Iterator[Segment]:
    """The messages of a file."""
    for unit in read_units(path, ("TS",), ("message",)):
        root = unit.ancestors[0]
        for message in _messages(unit):
            reason = message.kind or "not translated" * (not has_content(message.target))
            source = Variant(root.get("sourcelanguage"), _parts(message.source))
            variants = [source, Variant(root.get("language"), message.target)]
            yield Segment(unit.element.line, variants, unit.element.get("id"), reason)


def qt_units(text: str, language: str = "", *, everything: bool = False) -> list[Unit]:
    """Messages of a Qt file whose translation is missing or unfinished. They remain `unfinished`, for review."""
    units, roots = list[Unit](), dict[Element, str]()
    for element in find_units(text, ("TS",), ("message",)):
        root = element.ancestors[0]
        plurals = forms_of_qt(root.get("language") or language)
        roots[root] = "language"
        for message in _messages(element):
            is_filled = has_content(message.target) or any(form.text().strip() for form in message.forms)
            if message.kind != "obsolete" and (everything or message.kind or not is_filled):
                unit = _unit(text, message, plurals)
                units += [unit] * unit.has_words
    return with_languages(units, text, roots, language)


def _unit(text: str, message: _Message, plurals: PluralForms | None) -> Unit:
    """The text becomes the translation, or all of its forms if it has a number, such as `%n file(s)`."""
    parts, count = _parts(message.source, text), 0
    if message.element.get("numerus") == "yes":
        count = max(plurals.total if plurals else 1, len(message.forms))
    source, translation, forms = message.source, message.translation, message.forms
    opened, letter = f'<translation type="{UNFINISHED}">', ""
    if len(parts) == 1 and isinstance(parts[0], str):
        parts, letter = label_parts(parts[0], escape_xml)

    def write(new: str) -> Iterator[Splice]:
        content = with_codes(with_accelerator(new, letter), unit.codes, escape_xml)
        if count:
            before = indent(text, forms[0].begin) if forms else ""
            after = indent(text, translation.close) if translation and forms else ""
            content = "".join([f"{before}<numerusform>{content}</numerusform>"] * count) + after
        written = f"{opened}{content}</translation>"
        if translation is None:
            yield Splice(source.end, source.end, indent(text, source.begin) + written)
        else:
            yield Splice(translation.begin, translation.end, written)

    unit = make_unit(parts, write, message.element.line)
    return unit
