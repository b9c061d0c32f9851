"""Qt translation files (TS): finished translations as pairs, and messages without one as units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from limelight.formats.accelerators import Accelerator, divide_label, with_accelerator, without_accelerator
from limelight.formats.plurals import PluralForms, forms_of_qt
from limelight.formats.segments import Segment, Variant
from limelight.formats.unit import Code, Parts, Splice, Unit, make_unit, with_codes, with_first
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


def _messages(unit: XmlUnit) -> Iterator[_Message]:
    source, target = unit.element.first("source"), unit.element.first("translation")
    if source is not None:
        forms = list(target.elements("numerusform")) if target else []
        text = _parts(forms[-1] if forms else target) if target else []
        kind = _UNUSED.get(target.get("type") if target else UNFINISHED, "")
        yield _Message(unit.element, source, target, forms, kind, text)


def _parts(element: Element, text: str = "") -> Parts:
    """Of several length variants the first."""
    inner = element.first("lengthvariant") or element
    return list(inline_parts(inner, lambda each: Inline(f"{each.name} {each.get('value')}"), text))


def scan_qt(path: str | Path) -> Iterator[Segment | BadLine]:
    """The messages of a file."""
    for unit in read_units(path, ("TS",), ("message",)):
        if isinstance(unit, BadLine):
            yield unit
            continue
        root = unit.ancestors[0]
        for message in _messages(unit):
            is_empty = not has_content(message.target)
            reason = message.kind or "not translated" * is_empty
            source = Variant(root.get("sourcelanguage"), _parts(message.source))
            variants = [source, Variant(root.get("language"), message.target)]
            is_draft = reason == UNFINISHED and not is_empty
            yield Segment(unit.element.line, variants, unit.element.get("id"), reason, is_draft)


def qt_units(text: str, language: str = "", *, everything: bool = False) -> list[Unit]:
    """Messages of a Qt file whose translation is missing or unfinished. They remain `unfinished`, for review."""
    units, unnamed = list[Unit](), dict[Element, str]()
    for found in find_units(text, ("TS",), ("message",)):
        root = found.ancestors[0]
        plurals = forms_of_qt(root.get("language") or language)
        unnamed |= {root: language} if language and not root.get("language") else {}
        for message in _messages(found):
            is_filled = has_content(message.target) or any(each.text().strip() for each in message.forms)
            if message.kind != "obsolete" and (everything or message.kind or not is_filled):
                units += (unit for unit in _units(text, message, plurals) if unit.has_words)
    return with_first(units, [with_attribute(text, root, "language", new) for root, new in unnamed.items()])


def _units(text: str, message: _Message, plurals: PluralForms | None) -> Iterator[Unit]:
    """A message as a unit. One with a number, such as `%n file(s)`, has two: `%n file` becomes the form for one, `%n
    files` all others."""
    parts = _parts(message.source, text)
    if message.element.get("numerus") != "yes":
        yield _unit(text, message, parts)
        return
    count = max(plurals.total if plurals else 1, len(message.forms))
    one, several = _counted(parts, ""), _counted(parts, r"\1")
    number = plurals.one if plurals and plurals.total == count > 1 and one != several else -1
    if 0 <= number < len(message.forms):
        yield _unit(text, message, one, [number])
        yield _unit(text, message, several, [each for each in range(count) if each != number])
    else:
        yield _unit(text, message, several, range(count))


def _counted(parts: Parts, ending: str) -> Parts:
    """`%n file(s)` with this ending instead of the one in brackets."""
    return [_OPTIONAL.sub(ending, part) if isinstance(part, str) else part for part in parts]


def _unit(text: str, message: _Message, parts: Parts, numbers: Sequence[int] = ()) -> Unit:
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
        written = f"{opened}{form * len(numbers) if numbers else content}</translation>"
        if translation is None:
            yield Splice(source.end, source.end, indent(text, source.begin) + written)
        elif numbers and forms:
            yield Splice(translation.begin, translation.content, opened)
            yield from (Splice(forms[each].begin, forms[each].end, form) for each in numbers if each < len(forms))
            more = sum(each >= len(forms) for each in numbers)
            yield Splice(forms[-1].end, forms[-1].end, (indent(text, forms[-1].begin) + form) * more)
        else:
            yield Splice(translation.begin, translation.end, written)

    unit = make_unit(parts, write, message.element.line)
    return unit
