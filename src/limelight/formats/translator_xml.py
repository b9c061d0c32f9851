"""Units of XLIFF, TMX and Qt files: segments without a translation, with their inline codes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import unescape

from limelight.formats.markup import Element, Tag, closing_tag, escape_xml, scan_elements, scan_tags
from limelight.formats.plurals import PluralForms, forms_of_qt
from limelight.formats.segments import matches
from limelight.formats.unit import (
    CODES,
    Code,
    FormatError,
    Limits,
    Lines,
    Splice,
    Unit,
    has_words,
    make_unit,
    with_codes,
)
from limelight.formats.xliff import CATALOG_HEADER


class InlineCodes:
    """Which elements of a format are codes, and of which kind."""

    def __init__(self, around: str, begin: str, end: str, alone: str, ids: Mapping[str, tuple[str, ...]]) -> None:
        self.around = frozenset(around.split())
        """Elements whose tags are a pair of codes around text."""
        self.begin, self.end, self.alone = (frozenset(names.split()) for names in (begin, end, alone))
        """Elements that, including their content, are one code."""
        self.ids = ids
        """The attributes that identify the pair of a code."""

    def pair(self, tag: Tag) -> str:
        """The identifier of the pair of a code."""
        return next((tag.get(name) for name in self.ids.get(tag.name, ()) if tag.get(name)), tag.name)


XLIFF_1 = InlineCodes(
    "g mrk sub", "bx bpt", "ex ept", "x ph it",
    {"bx": ("rid", "id"), "ex": ("rid", "id"), "bpt": ("rid", "id"), "ept": ("rid", "id")},
)  # fmt: skip
XLIFF_2 = InlineCodes("pc mrk", "sc", "ec", "ph cp sm em", {"sc": ("id",), "ec": ("startRef", "id")})
TMX = InlineCodes("hi", "bpt", "ept", "ph it ut", {"bpt": ("i",), "ept": ("i",)})
QT = InlineCodes("", "", "", "byte", {})


def inline_parts(text: str, begin: int, end: int, inline: InlineCodes) -> Iterator[str | Code]:
    """The text and codes of a segment, whose content is from `begin` to `end`."""
    raw = text[begin:end]
    tags, place, number = list(scan_tags(raw)), 0, 0
    while number < len(tags):
        tag = tags[number]
        yield unescape(raw[place : tag.begin])
        if tag.kind == "cdata":
            yield raw[tag.begin + 9 : tag.end - 3]
            place, number = tag.end, number + 1
            continue
        if tag.name in inline.around and tag.kind in ("open", "close"):
            yield Code(raw[tag.begin : tag.end], tag.kind, tag.name)  # type: ignore[arg-type]
            place, number = tag.end, number + 1
            continue
        last = closing_tag(tags, number)
        whole = raw[tag.begin : tags[last].end]
        if tag.name in inline.begin:
            yield Code(whole, "open", inline.pair(tag))
        elif tag.name in inline.end:
            yield Code(whole, "close", inline.pair(tag))
        else:
            yield Code(whole)
        place, number = tags[last].end, last + 1
    yield unescape(raw[place:])


Around = tuple[Element, ...]
_OPTIONAL = re.compile(r"(?<=\w)\((e?s)\)")
_DONE = {"final", "signed-off", "translated", "reviewed"}


class _File:
    """The elements of a file, by parent."""

    def __init__(self, text: str) -> None:
        self.text, self.lines = text, Lines(text)
        self.elements = scan_elements(text)
        self.children: dict[int, list[Element]] = {}
        for element, around in self.elements:
            if around:
                self.children.setdefault(around[-1].open.begin, []).append(element)

    def child(self, element: Element, name: str) -> Element | None:
        return next((each for each in self.children.get(element.open.begin, ()) if each.name == name), None)

    def all(self, *names: str) -> Iterator[tuple[Element, Around]]:
        """All elements with these names, in document order."""
        found = [each for each in self.elements if each[0].name in names]
        yield from sorted(found, key=lambda each: each[0].open.begin)

    def content(self, element: Element | None) -> str:
        return "" if element is None else self.text[element.begin : element.end]

    def indent(self, place: int) -> str:
        """The line break and spaces before a tag; empty if other text precedes it."""
        found = re.search(r"\r?\n[ \t]*\Z", self.text[max(0, place - 200) : place])
        return found[0] if found else ""


_DIGITS = re.compile("[0-9]{1,9}")
_CHARACTERS = ("char", "glyph", "")
_RESTRICTIONS: dict[str, tuple[str, Callable[[str], int]]] = {
    "xliff:codepoints": ("characters", len),
    "xliff:utf8": ("bytes", lambda text: len(text.encode())),
    "xliff:utf16": ("units of UTF-16", lambda text: len(text.encode("utf-16-le")) // 2),
    "xliff:utf32": ("characters", len),
}
"""Profiles of the size restriction module of XLIFF 2: the unit, and how it is counted."""


def no_limits(text: str) -> Iterator[str]:
    """The limits of a unit without any."""
    yield from ()


def width_limits(element: Element, around: Sequence[Element], source: str) -> Limits:
    """`maxwidth` of XLIFF 1.2, of the innermost element that has one, in its `size-unit`.

    Other units than characters and bytes cannot be measured without a font: there a text is reported if it has more
    characters than the limit, or more than its source.
    """
    for each in (element, *reversed(around)):
        if _DIGITS.fullmatch(most := each.open.get("maxwidth")):
            return lambda text: _too_wide(_visible(text), int(most), each.open.get("size-unit"), source)
    return no_limits


def _too_wide(text: str, most: int, unit: str, source: str) -> Iterator[str]:
    size, name = (len(text.encode()), "bytes") if unit == "byte" else (len(text), "characters")
    if size > most:
        yield f"too long: {size} {name}, maxwidth is {most}{f' {unit}' * (unit not in ('char', 'byte', ''))}"
    elif unit not in (*_CHARACTERS, "byte") and len(text) > len(_visible(source)):
        yield f"longer than its source, and its width is not measured: maxwidth is {most} {unit}"


def size_limits(around: Sequence[Element], profile: str) -> Limits:
    """`slr:sizeRestriction` of XLIFF 2, of the innermost element that has one; `profile` is the `generalProfile` of the
    file. Other profiles are not checked."""
    if profile not in _RESTRICTIONS:
        return no_limits
    name, count = _RESTRICTIONS[profile]
    bounds = (each.open.get("slr:sizeRestriction").rpartition(",")[2].strip() for each in reversed(around))
    most = next((int(bound) for bound in bounds if _DIGITS.fullmatch(bound)), None)

    def exceeded(text: str) -> Iterator[str]:
        size = count(_visible(text))
        if most is not None and size > most:
            yield f"too long: {size} {name}, sizeRestriction is {most}"

    return exceeded


def _visible(text: str) -> str:
    return CODES.sub("", text)


def xliff_units(text: str, language: str = "", *, everything: bool = False) -> list[Unit]:
    """Segments of XLIFF 1.2 and 2.x without a target, or whose target is not yet translated.

    Sets the target's state to `needs-review-translation` with `leveraged-mt` (1.2), the segment's state to `translated`
    (2.x). Segments that are approved, final or not to be translated are unchanged.
    """
    file = _File(text)
    root = next((element for element, around in file.elements if not around), None)
    if root is None or root.name != "xliff":
        raise FormatError("not XLIFF: its first element is not <xliff>", 1)
    if root.open.get("version").startswith("2"):
        profile = next((each.open.get("generalProfile") for each, _ in file.all("profiles")), "")
        segments = file.all("segment")
        units = [unit for each in segments for unit in _segment(file, *each, profile, everything=everything)]
        named = _named(root, "trgLang", language)
    else:
        units = [unit for each in file.all("trans-unit") for unit in _trans_unit(file, *each, everything=everything)]
        named = [change for element, _ in file.all("file") for change in _named(element, "target-language", language)]
    if units and named:
        first = units[0]
        units[0] = first._replace(write=lambda new: [*named, *first.write(new)])
    return units


def _named(element: Element, attribute: str, language: str) -> list[Splice]:
    """Splices that set the target language if the file names none."""
    if not language or element.open.where(attribute):
        return []
    return [_with_attribute(element, f'{attribute}="{language}"')]


def _with_attribute(element: Element, written: str) -> Splice:
    """A splice that adds an attribute after the others."""
    place = element.open.place + len(element.open.attributes.rstrip())
    return Splice(place, place, f" {written}")


def _may_be_translated(element: Element, around: Around) -> bool:
    """Whether the innermost `translate` attribute permits translation."""
    for each in (element, *reversed(around)):
        if each.open.get("translate"):
            return each.open.get("translate") != "no"
    return True


def _trans_unit(file: _File, element: Element, around: Around, *, everything: bool) -> Iterator[Unit]:
    source, target = file.child(element, "source"), file.child(element, "target")
    if source is None or not _may_be_translated(element, around) or element.open.get("approved") == "yes":
        return
    if element.open.get("restype") == CATALOG_HEADER:
        return
    state = target.open.get("state") if target else ""
    if target and file.content(target).strip() and not everything and state in ("", *_DONE):
        return
    if state in ("final", "signed-off"):
        return
    parts = list(inline_parts(file.text, source.begin, source.end, XLIFF_1))
    if not any(isinstance(part, str) and has_words(part) for part in parts):
        return
    after = file.child(element, "seg-source") or source
    if after is not source:
        parts = list(inline_parts(file.text, after.begin, after.end, XLIFF_1))

    def write(new: str) -> Iterator[Splice]:
        content = with_codes(new, unit.codes, escape_xml)
        states = ' state="needs-review-translation" state-qualifier="leveraged-mt"'
        if target is None:
            prefix = file.text[after.open.begin + 1 : after.open.place].rpartition(":")[0]
            name = f"{prefix}:target" if prefix else "target"
            written = f"{file.indent(after.open.begin)}<{name}{states}>{content}</{name}>"
            yield Splice(after.close.end, after.close.end, written)
        else:
            yield _replaced(file, target, content, states)

    limits = width_limits(element, around, "".join(part for part in parts if isinstance(part, str)))
    unit = make_unit(parts, write, file.lines.at(element.open.begin), limits)
    yield unit


def _replaced(file: _File, target: Element, content: str, states: str) -> Splice:
    """The splice for a target with new content and states."""
    attributes = re.sub(r"\s+state(?:-qualifier)?\s*=\s*(?:\"[^\"]*\"|'[^']*')", "", target.open.attributes).rstrip()
    name = file.text[target.open.begin + 1 : target.open.place]
    return Splice(*target.outer, f"<{name}{attributes}{states}>{content}</{name}>")


def _segment(file: _File, element: Element, around: Around, profile: str, *, everything: bool) -> Iterator[Unit]:
    source, target = file.child(element, "source"), file.child(element, "target")
    if source is None or not _may_be_translated(element, around):
        return
    state = element.open.get("state")
    if state in ("final", "reviewed") or (target and file.content(target).strip() and not everything
                                          and state != "initial"):  # fmt: skip
        return
    parts = list(inline_parts(file.text, source.begin, source.end, XLIFF_2))
    if not any(isinstance(part, str) and has_words(part) for part in parts):
        return

    def write(new: str) -> Iterator[Splice]:
        content = with_codes(new, unit.codes, escape_xml)
        if target is None:
            written = f"{file.indent(source.open.begin)}<target>{content}</target>"
            yield Splice(source.close.end, source.close.end, written)
        else:
            yield _replaced(file, target, content, "")
        if found := element.open.where("state"):
            yield Splice(found[1], found[2], "translated")
        else:
            yield _with_attribute(element, 'state="translated"')

    unit = make_unit(parts, write, file.lines.at(element.open.begin), size_limits(around, profile))
    yield unit


def tmx_units(text: str, source: str, target: str) -> list[Unit]:
    """Units of a translation memory with a text in the source language, and none yet in the target language.

    Raises `FormatError` if the text is not TMX, or a language is not given.
    """
    file = _File(text)
    if not any(element.name == "tmx" and not around for element, around in file.elements):
        raise FormatError("not TMX: its first element is not <tmx>", 1)
    if not (source and target):
        raise FormatError("a TMX file names its languages: say which with --from and --to")
    units = list[Unit]()
    for element, _ in file.all("tu"):
        variants = [each for each in file.children.get(element.open.begin, ()) if each.name == "tuv"]
        languages = [each.open.get("xml:lang") or each.open.get("lang") for each in variants]
        from_ = [each for each, code in zip(variants, languages, strict=True) if matches(source, code)]
        if not from_ or any(matches(target, code) for code in languages):
            continue
        segment = file.child(from_[0], "seg")
        if segment is not None:
            units += _tuv(file, element, from_[0], segment, target)
    return units


def _tuv(file: _File, element: Element, variant: Element, segment: Element, target: str) -> Sequence[Unit]:
    parts = list(inline_parts(file.text, segment.begin, segment.end, TMX))
    if not any(isinstance(part, str) and has_words(part) for part in parts):
        return []
    attribute = "xml:lang" if variant.open.get("xml:lang") else "lang"

    def write(new: str) -> Iterator[Splice]:
        content = with_codes(new, unit.codes, escape_xml)
        last = [each for each in file.children[element.open.begin] if each.name == "tuv"][-1]
        indent = file.indent(last.open.begin)
        yield Splice(
            last.close.end,
            last.close.end,
            f'{indent}<tuv {attribute}="{target}" changeid="MT"><seg>{content}</seg></tuv>',
        )

    unit = make_unit(parts, write, file.lines.at(element.open.begin))
    return [unit]


def qt_units(text: str, language: str = "", *, everything: bool = False) -> list[Unit]:
    """Messages of a Qt file whose translation is missing or unfinished. They remain `unfinished`, for review."""
    file = _File(text)
    root = next((element for element, around in file.elements if not around), None)
    if root is None or root.name != "TS":
        raise FormatError("not a Qt translation file: its first element is not <TS>", 1)
    plurals = forms_of_qt(root.open.get("language") or language)
    units = [unit for element, _ in file.all("message") for unit in _message(file, element, plurals,
             everything=everything)]  # fmt: skip
    if units and language and not root.open.where("language"):
        place = root.open.place + len(root.open.attributes.rstrip())
        first = units[0]
        named = Splice(place, place, f' language="{language}"')
        units[0] = first._replace(write=lambda new: [named, *first.write(new)])
    return units


def _message(file: _File, element: Element, plurals: PluralForms | None, *, everything: bool) -> Iterator[Unit]:
    source, translation = file.child(element, "source"), file.child(element, "translation")
    if source is None or (translation and translation.open.get("type") in ("vanished", "obsolete")):
        return
    forms = [] if translation is None else [
        each for each in file.children.get(translation.open.begin, ()) if each.name == "numerusform"
    ]  # fmt: skip
    filled = translation is not None and any(file.content(each).strip() for each in forms or [translation])
    unfinished = translation is not None and translation.open.get("type") == "unfinished"
    if filled and not unfinished and not everything:
        return
    parts = list(inline_parts(file.text, source.begin, source.end, QT))
    if not any(isinstance(part, str) and has_words(part) for part in parts):
        return
    numerus = element.open.get("numerus") == "yes"
    if numerus and translation is not None:
        yield from _numerus(file, element, translation, forms, parts, plurals)
        return

    def write(new: str) -> Iterator[Splice]:
        content = with_codes(new, unit.codes, escape_xml)
        if numerus:
            content = f"<numerusform>{content}</numerusform>" * (plurals.total if plurals else 1)
        written = f'<translation type="unfinished">{content}</translation>'
        if translation is None:
            yield Splice(source.close.end, source.close.end, file.indent(source.open.begin) + written)
        else:
            yield Splice(*translation.outer, written)

    unit = make_unit(parts, write, file.lines.at(element.open.begin))
    yield unit


def _numerus(
    file: _File, message: Element, translation: Element, forms: Sequence[Element], parts: list[str | Code],
    plurals: PluralForms | None,
) -> Iterator[Unit]:  # fmt: skip
    """The forms of a message with a number. A source such as `%n file(s)` has two: `%n file` becomes the form for one,
    `%n files` all others."""
    count = max(plurals.total if plurals else 1, len(forms))
    one = plurals.one if plurals and plurals.total == count > 1 and plurals.one < len(forms) else -1
    sides = [_counted(parts, several=several) for several in (False, True)]
    if one < 0 or sides[0] == sides[1]:
        text = sides[1] if count == 1 or one >= 0 else parts
        yield _forms_unit(file, message, translation, forms, text, range(count))
        return
    yield _forms_unit(file, message, translation, forms, sides[0], [one])
    yield _forms_unit(file, message, translation, forms, sides[1], [each for each in range(count) if each != one])


def _counted(parts: Sequence[str | Code], *, several: bool) -> list[str | Code]:
    """`%n file(s)` for one or for several."""
    return [_OPTIONAL.sub(r"\1" if several else "", part) if isinstance(part, str) else part for part in parts]


def _forms_unit(
    file: _File, message: Element, translation: Element, forms: Sequence[Element], parts: Sequence[str | Code],
    numbers: Sequence[int],
) -> Unit:  # fmt: skip
    """A text that becomes these forms; those that the file lacks come behind the others."""
    opened = translation.open

    def write(new: str) -> Iterator[Splice]:
        content = with_codes(new, unit.codes, escape_xml)
        written = f"<numerusform>{content}</numerusform>"
        if not forms:
            whole = written * len(numbers)
            yield Splice(*translation.outer, f'<translation type="unfinished">{whole}</translation>')
            return
        yield Splice(opened.begin, opened.end, '<translation type="unfinished">')
        last = forms[-1]
        yield from (Splice(*forms[number].outer, written) for number in numbers if number < len(forms))
        more = sum(number >= len(forms) for number in numbers)
        yield Splice(last.close.end, last.close.end, (file.indent(last.open.begin) + written) * more)

    unit = make_unit(parts, write, file.lines.at(message.open.begin))
    return unit
