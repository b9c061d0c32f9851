"""Qt translation files (TS): finished translations as pairs, and messages without one as units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from limelight.formats.accelerators import Accelerator, divide_label, with_accelerator, without_accelerator
from limelight.formats.plurals import PluralForms, forms_of_qt
from limelight.formats.segments import Segment, Variant
from limelight.formats.unit import Code, FormatError, Parts, Splice, Unit, make_unit, with_codes, with_first
from limelight.formats.xml import (
    Element,
    Inline,
    escape_xml,
    find_units,
    has_content,
    indent,
    inline_parts,
    parse_xml,
    read_units,
    with_attribute,
)
from limelight.text.pair import BadLine

UNFINISHED = "unfinished"
_UNUSED = {UNFINISHED: UNFINISHED, "vanished": "obsolete", "obsolete": "obsolete"}
_OPTIONAL = re.compile(r"(?<=\w)\((e?s)\)")


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

    @property
    def is_filled(self) -> bool:
        return has_content(self.target) or any(each.text().strip() for each in self.forms)


def _messages(elements: Iterator[Element]) -> Iterator[_Message]:
    for element in elements:
        source, target = element.first("source"), element.first("translation")
        if source is not None:
            forms = list(target.elements("numerusform")) if target else []
            text = _parts(forms[-1] if forms else target) if target else []
            kind = _UNUSED.get(target.get("type") if target else UNFINISHED, "")
            yield _Message(element, source, target, forms, kind, text)


def _inline(element: Element) -> Inline:
    return Inline(f"{element.name} {element.get('value')}")  # <byte value="x1b"/>


def _parts(element: Element, text: str = "") -> list[str | Code]:
    """Of several length variants the first."""
    return list(inline_parts(element.first("lengthvariant") or element, _inline, text))


def scan_qt(path: str | Path) -> Iterator[Segment | BadLine]:
    """The messages of a file."""
    for unit in read_units(path, "TS", ("message",)):
        if isinstance(unit, BadLine):
            yield unit
            continue
        root = unit.ancestors[0]
        for message in _messages(iter([unit.element])):
            element, is_empty = message.element, not has_content(message.target)
            reason = message.kind or "not translated" * is_empty
            variants = [
                Variant(root.get("sourcelanguage"), _parts(message.source)),
                Variant(root.get("language"), message.target),
            ]
            is_draft = reason == UNFINISHED and not is_empty
            yield Segment(element.line, variants, element.get("id"), reason, is_draft)


def qt_units(text: str, language: str = "", *, everything: bool = False) -> list[Unit]:
    """Messages of a Qt file whose translation is missing or unfinished. They remain `unfinished`, for review."""
    root = parse_xml(text)
    if root.name != "TS":
        raise FormatError("not a Qt translation file: its first element is not <TS>", 1)
    plurals = forms_of_qt(root.get("language") or language)
    units = list[Unit]()
    for message in _messages(unit.element for unit in find_units(root, "message")):
        wanted = everything or message.kind or not message.is_filled
        if wanted and message.kind != "obsolete":
            units += (unit for unit in _units(text, message, plurals) if unit.has_words)
    named = language and not root.get("language")
    return with_first(units, [with_attribute(text, root, "language", language)] if named else [])


def _units(text: str, message: _Message, plurals: PluralForms | None) -> Iterator[Unit]:
    """A message as a unit. One with a number, such as `%n file(s)`, has two: `%n file` becomes the form for one, `%n
    files` all others."""
    parts, forms = _parts(message.source, text), message.forms
    if message.element.get("numerus") != "yes":
        yield _unit(text, message, parts)
        return
    if message.translation is None:
        yield _unit(text, message, parts, range(plurals.total if plurals else 1))
        return
    count = max(plurals.total if plurals else 1, len(forms))
    one = plurals.one if plurals and plurals.total == count > 1 and plurals.one < len(forms) else -1
    sides = [_counted(parts, several=several) for several in (False, True)]
    if one < 0 or sides[0] == sides[1]:
        yield _unit(text, message, sides[1] if count == 1 or one >= 0 else parts, range(count))
        return
    yield _unit(text, message, sides[0], [one])
    yield _unit(text, message, sides[1], [each for each in range(count) if each != one])


def _counted(parts: Sequence[str | Code], *, several: bool) -> list[str | Code]:
    """`%n file(s)` for one or for several."""
    return [_OPTIONAL.sub(r"\1" if several else "", part) if isinstance(part, str) else part for part in parts]


def _unit(text: str, message: _Message, parts: Sequence[str | Code], numbers: Sequence[int] = ()) -> Unit:
    """A text that becomes the translation, or the forms with these numbers; forms that the file lacks come behind the
    others."""
    source, translation, forms = message.source, message.translation, message.forms
    opened, accelerator = f'<translation type="{UNFINISHED}">', Accelerator()
    if len(parts) == 1 and isinstance(parts[0], str):
        label, short_cut = divide_label(parts[0])
        plain, accelerator = without_accelerator(label, "&")
        parts = [plain, *[Code(escape_xml(short_cut))] * bool(short_cut)]

    def write(new: str) -> Iterator[Splice]:
        content = with_codes(with_accelerator(new, accelerator), unit.codes, escape_xml)
        form = f"<numerusform>{content}</numerusform>"
        if translation is not None and numbers and forms:
            yield Splice(translation.begin, translation.content, opened)
            yield from (Splice(forms[each].begin, forms[each].end, form) for each in numbers if each < len(forms))
            more = sum(each >= len(forms) for each in numbers)
            yield Splice(forms[-1].end, forms[-1].end, (indent(text, forms[-1].begin) + form) * more)
            return
        written = f"{opened}{form * len(numbers) if numbers else content}</translation>"
        if translation is None:
            yield Splice(source.end, source.end, indent(text, source.begin) + written)
        else:
            yield Splice(translation.begin, translation.end, written)

    unit = make_unit(parts, write, message.element.line)
    return unit
