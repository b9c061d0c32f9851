"""Units of WordprocessingML (the XML parts of a DOCX file): paragraphs.

Runs with the most frequent format of a paragraph are plain text; runs with another format are enclosed in a pair of
codes; everything else is a single code. A paragraph is written as new runs with the original formats. Tracked changes
in it are accepted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from limelight.formats.unit import Code, Splice, Unit, has_words, make_unit, parts_of, with_inner
from limelight.formats.xml import Element, escape_xml, parse_xml
from limelight.text.notations import Role

PARTS = re.compile(r"word/(document|header\d*|footer\d*|footnotes|endnotes|comments)\.xml")
"""Names of the parts of a file that have paragraphs."""
_AROUND = frozenset(["hyperlink", "smartTag", "sdt", "sdtContent", "customXml", "fldSimple", "bdo", "dir"])
"""Elements whose runs are text of the paragraph."""
_ACCEPTED = frozenset(["ins", "moveTo"])
"""Insertions, whose runs are text like others."""
_DROPPED = frozenset(["proofErr", "lastRenderedPageBreak", "softHyphen", "del", "moveFrom"])
"""Deletions, and what spelling checkers and layout have written."""
_ROLES: dict[str, Role] = {"br": "break", "cr": "break", "tab": "break"}
_UNSEEN = re.compile(r"<w:(?:lang|noProof)\b[^>]*/>|<w:(?:lang|noProof)\b[^>]*></w:(?:lang|noProof)>")
_EMPTY = re.compile(r"<w:rPr>\s*</w:rPr>|<w:rPr\s*/>")
_FIELD = "field "
"""Begins the name of a code that is part of a field: `begin`, `separate`, `end`."""


class _Run(NamedTuple):
    """A run of text with its format."""

    text: str
    format: str

    @property
    def raw(self) -> str:
        return f'<w:r>{self.format}<w:t xml:space="preserve">{escape_xml(self.text)}</w:t></w:r>'

    @property
    def seen(self) -> str:
        """The visible properties of its format."""
        return _EMPTY.sub("", _UNSEEN.sub("", self.format))


def docx_units(text: str) -> list[Unit]:
    """The paragraphs of a part."""
    root, written = parse_xml(text), list[Splice]()
    found = (_paragraph(text, each, written) for each in _paragraphs(root, root.prefix))
    return [unit for unit in found if unit is not None]


def _paragraphs(element: Element, prefix: str) -> Iterator[Element]:
    """The paragraphs of text, those in text boxes of others before them; copies for older programs are left out."""
    for child in element.children:
        if not isinstance(child, str) and child.name != "Fallback":
            yield from _paragraphs(child, prefix)
            if child.name == "p" and child.prefix == prefix and child.children:
                yield child


def _paragraph(text: str, element: Element, written: list[Splice]) -> Unit | None:
    head = next((child for child in element.children if not isinstance(child, str)), element)
    begin = head.end if head.name == "pPr" else element.content
    pieces = list(_fields(list(_pieces(text, element))))
    runs = [piece for piece in pieces if isinstance(piece, _Run)]
    if not has_words("".join(run.text for run in runs)) or not text.startswith("<w:", element.begin):
        return None
    sizes = Counter[str]()
    for run in runs:
        sizes[run.seen] += len(run.text)
    base_seen = sizes.most_common(1)[0][0]
    base = next(run.format for run in runs if run.seen == base_seen)
    parts, formats = _coded(pieces, base_seen)

    def write(new: str) -> Iterator[Splice]:
        done = Splice(begin, element.close, _written(new, with_inner(unit.codes, written), base, formats))
        written.append(done)
        yield done

    unit = make_unit(parts, write, element.line)
    return unit


def _pieces(text: str, element: Element) -> Iterator[_Run | Code]:
    """The content of a paragraph, or of an element in it, without its properties."""
    for child in element.children:
        if isinstance(child, str) or child.name.endswith("Pr") or child.name in _DROPPED:
            continue
        if child.name in _ACCEPTED:
            yield from _pieces(text, child)
        elif child.name in _AROUND and any(
            not isinstance(node, str) and node.name == "t" and has_words(node.text()) for node in child.walk()
        ):
            inner = next(
                (each for each in child.children if not isinstance(each, str) and each.name[-2:] != "Pr"), child
            )
            yield Code(text[child.begin : inner.begin], "open", child.name, child.begin)
            yield from _pieces(text, child)
            yield Code(text[child.close : child.end], "close", child.name, child.close)
        elif child.name == "r":
            yield from _run(text, child)
        else:
            yield Code(text[child.begin : child.end], "alone", "code", child.begin)


def _run(text: str, run: Element) -> Iterator[_Run | Code]:
    """A run as one text, or as several parts, each with the format of the run."""
    elements = [child for child in run.children if not isinstance(child, str)]
    style = "".join(text[each.begin : each.end] for each in elements if each.name == "rPr")
    contents = [each for each in elements if each.name != "rPr" and each.name not in _DROPPED]
    for each in contents:
        if each.name in ("t", "noBreakHyphen"):
            yield _Run(each.text() if each.name == "t" else "\u2011", style)
            continue
        name = _FIELD + each.get("fldCharType") if each.name == "fldChar" else "code"
        role = _ROLES.get(each.name, "alone")
        if len(contents) == 1:
            yield Code(text[run.begin : run.end], role, name, run.begin)
        else:
            yield Code(f"<w:r>{style}{text[each.begin : each.end]}</w:r>", role, name)


def _fields(pieces: Sequence[_Run | Code]) -> Iterator[_Run | Code]:
    """The pieces with each field as one code, or as a pair around its result if that has words. The name of a mail
    merge is no text."""
    place = 0
    while place < len(pieces):
        piece, end, middle, depth = pieces[place], place, place, 0
        while isinstance(piece, Code) and piece.name.startswith(_FIELD + "begin") and end < len(pieces):
            kind = _kind_of_field(pieces[end])
            depth += (kind == "begin") - (kind == "end")
            middle = end if kind == "separate" and depth == 1 else middle
            if depth == 0:
                break
            end += 1
        if depth or end == place or end == len(pieces):
            yield piece._replace(name="code") if isinstance(piece, Code) and _kind_of_field(piece) else piece
            place += 1
            continue
        head, result = pieces[place : middle + 1], pieces[middle + 1 : end]
        raw = "".join(each.raw for each in head)
        if (
            middle > place
            and "MERGEFIELD" not in raw
            and any(isinstance(each, _Run) and has_words(each.text) for each in result)
        ):
            yield Code(raw, "open", f"{_FIELD}{place}")
            yield from _fields(result)
            yield Code(pieces[end].raw, "close", f"{_FIELD}{place}")
        else:
            yield Code("".join(each.raw for each in pieces[place : end + 1]))
        place = end + 1


def _kind_of_field(piece: _Run | Code) -> str:
    is_part = isinstance(piece, Code) and piece.role == "alone" and piece.name.startswith(_FIELD)
    return piece.name.removeprefix(_FIELD) if isinstance(piece, Code) and is_part else ""


def _coded(pieces: list[_Run | Code], base: str) -> tuple[list[str | Code], dict[str, str]]:
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
        if isinstance(piece, Code):
            if piece.role in ("open", "close"):
                close()
            parts.append(piece)
            continue
        seen = piece.seen
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
            found.append(_Run(part, formats[stack[-1]] if stack else base).raw)
        elif part.name in formats and part.role == "open":
            stack.append(part.name)
        elif part.name in formats and part.role == "close":
            if part.name in stack:
                stack.remove(part.name)
        else:
            found.append(part.raw)
    return "".join(found)
