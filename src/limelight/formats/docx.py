"""Units of WordprocessingML (the XML parts of a DOCX file): paragraphs.

Runs with the most frequent format of a paragraph are plain text; runs with another format are enclosed in a pair of
codes; everything else is a single code. A paragraph is written as new runs with the original formats.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

from limelight.formats.markup import Element, closing_tag, escape_xml, scan_elements, scan_tags
from limelight.formats.unit import Code, Lines, Splice, Unit, has_words, make_unit, parts_of, with_inner

PARTS = re.compile(r"word/(document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml")
"""Names of the parts of a file that have paragraphs."""
_AROUND = frozenset(
    ["hyperlink", "ins", "smartTag", "sdt", "sdtContent", "customXml", "moveTo", "fldSimple", "bdo", "dir"]
)
"""Elements whose runs are text of the paragraph."""
_DROPPED = frozenset(["proofErr", "lastRenderedPageBreak"])
"""Elements without content, written by spelling checkers and layout; they are removed."""
_UNSEEN = re.compile(r"<w:(?:lang|noProof)\b[^>]*/>|<w:(?:lang|noProof)\b[^>]*></w:(?:lang|noProof)>")


class _Run(NamedTuple):
    """A run of text with its format."""

    text: str
    format: str


class _Opaque(NamedTuple):
    """Any other content of a paragraph."""

    code: Code


def docx_units(text: str) -> list[Unit]:
    """The paragraphs of a part."""
    lines, units, written = Lines(text), list[Unit](), list[Splice]()
    for element, around in scan_elements(text):
        if element.name == "p" and _prefix(element) and not any(each.name == "Fallback" for each in around):
            unit = _paragraph(text, element, lines, written)
            if unit is not None:
                units.append(unit)
    return units


def _prefix(element: Element) -> bool:
    """Whether this is a `w:p`, not a paragraph of a drawing."""
    return element.open.begin < element.open.end and not element.is_empty_tag


def _paragraph(text: str, element: Element, lines: Lines, written: list[Splice]) -> Unit | None:
    if not text.startswith("<w:p", element.open.begin):
        return None
    pieces = list(_pieces(text, element.begin, element.end))
    while pieces and isinstance(pieces[0][0], _Opaque) and pieces[0][0].code.name == "pPr":
        pieces.pop(0)
    runs = [piece for piece, _, _ in pieces if isinstance(piece, _Run)]
    if not has_words("".join(run.text for run in runs)):
        return None
    begin, end = pieces[0][1], pieces[-1][2]
    sizes = Counter[str]()
    for run in runs:
        sizes[_seen(run.format)] += len(run.text)
    base_seen = sizes.most_common(1)[0][0]
    base = next(run.format for run in runs if _seen(run.format) == base_seen)
    parts, formats = _coded([piece for piece, _, _ in pieces], base_seen)

    def write(new: str) -> Iterator[Splice]:
        codes = with_inner(unit.codes, written)
        done = Splice(begin, end, _written(new, codes, base, formats))
        written.append(done)
        yield done

    unit = make_unit(parts, write, lines.at(element.open.begin))
    return unit


def _coded(pieces: list[_Run | _Opaque], base: str) -> tuple[list[str | Code], dict[str, str]]:
    """Text and codes, and the formats by the names of their codes."""
    parts: list[str | Code] = []
    formats: dict[str, str] = {}
    current, opened = base, 0

    def close() -> None:
        nonlocal current
        if current != base:
            parts.append(Code("", "close", f"format {opened}"))
            current = base

    for piece in pieces:
        if isinstance(piece, _Opaque):
            if piece.code.role != "alone":
                close()
            parts.append(piece.code)
            continue
        seen = _seen(piece.format)
        if seen != current and not piece.text.strip(" ") and current == base:
            seen = base  # the format of a space is not visible
        if seen != current:
            close()
            if seen != base:
                opened += 1
                formats[f"format {opened}"] = piece.format
                parts.append(Code("", "open", f"format {opened}"))
                current = seen
        parts.append(piece.text)
    close()
    return parts, formats


def _written(text: str, codes: tuple[Code, ...], base: str, formats: dict[str, str]) -> str:
    """Runs with the formats of their codes."""
    found, stack = list[str](), list[str]()
    for part in parts_of(text, codes):
        if isinstance(part, str):
            style = formats[stack[-1]] if stack else base
            found.append(f'<w:r>{style}<w:t xml:space="preserve">{escape_xml(part)}</w:t></w:r>')
        elif part.name in formats and part.role == "open":
            stack.append(part.name)
        elif part.name in formats and part.role == "close":
            if part.name in stack:
                stack.remove(part.name)
        else:
            found.append(part.raw)
    return "".join(found)


def _seen(style: str) -> str:
    """The visible properties of a format."""
    return re.sub(r"<w:rPr>\s*</w:rPr>|<w:rPr\s*/>", "", _UNSEEN.sub("", style))


def _pieces(text: str, begin: int, end: int) -> Iterator[tuple[_Run | _Opaque, int, int]]:
    """The parts of a paragraph, each with its place."""
    tags = list(scan_tags(text[begin:end]))
    number = 0
    while number < len(tags):
        tag = tags[number]
        first = begin + tag.begin
        if tag.kind in ("comment", "instruction") or tag.name in _DROPPED:
            number += 1
            continue
        if tag.name in _AROUND and tag.kind in ("open", "close"):
            last = begin + tag.end
            number += 1
            if tag.kind == "open":  # its properties belong to its beginning
                while number < len(tags) and tags[number].name.endswith("Pr") and tags[number].kind != "close":
                    number = closing_tag(tags, number) + 1
                    last = begin + tags[number - 1].end
            yield _Opaque(Code(text[first:last], tag.kind, tag.name, first)), first, last  # type: ignore[arg-type]
            continue
        closing = closing_tag(tags, number)
        last = begin + tags[closing].end
        if tag.name == "r" and tag.kind == "open":
            yield from _run(text, first, last)
        else:
            yield _Opaque(Code(text[first:last], "alone", "pPr" if tag.name == "pPr" else "code", first)), first, last
        number = closing + 1


def _run(text: str, begin: int, end: int) -> Iterator[tuple[_Run | _Opaque, int, int]]:
    """A run as one text, or as several parts, each with the format of the run."""
    raw = text[begin:end]
    tags = list(scan_tags(raw))[1:-1]
    style, number, contents = "", 0, list[tuple[str, str, int, int]]()
    while number < len(tags):
        tag, closing = tags[number], closing_tag(tags, number)
        first, last = tag.begin, tags[closing].end
        if tag.name == "rPr":
            style = raw[first:last]
        elif tag.name == "t":
            inner = raw[tag.end : tags[closing].begin] if closing > number else ""
            contents.append(("t", unescape(inner), first, last))
        elif tag.name == "noBreakHyphen":
            contents.append(("t", "\u2011", first, last))
        elif tag.name not in _DROPPED:
            contents.append((tag.name, raw[first:last], first, last))
        number = closing + 1
    for place, (name, content, first, last) in enumerate(contents):
        where = (begin if place == 0 else begin + first, end if place == len(contents) - 1 else begin + last)
        if name == "t":
            yield _Run(content, style), *where
        elif len(contents) == 1:
            yield _Opaque(Code(raw, "alone", "code", begin)), *where
        else:
            yield _Opaque(Code(f"<w:r>{style}{content}</w:r>")), *where
