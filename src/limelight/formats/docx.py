"""Units of WordprocessingML (the XML parts of a DOCX file): paragraphs.

Runs with the most frequent format of a paragraph are plain text; runs with another format are enclosed in a pair of
codes; everything else is a single code. A paragraph is written as new runs with the original formats. Tracked changes
in it are accepted.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from limelight.formats.unit import Code, FormatError, Splice, Unit, has_words, make_unit, parts_of
from limelight.formats.xml import Element, escape_xml, parse_xml
from limelight.text.marking import Role

PARTS = re.compile(r"word/(document\d*|header\d*|footer\d*|footnotes|endnotes|comments)\.xml")
"""Names of the parts of a file that have paragraphs."""
_AROUND = ("hyperlink", "smartTag", "sdt", "sdtContent", "customXml", "fldSimple", "bdo", "dir")
"""Elements whose runs are text of the paragraph."""
_ACCEPTED = ("ins", "moveTo")
"""Insertions, whose runs are text like others."""
_DROPPED = ("proofErr", "lastRenderedPageBreak", "softHyphen", "del", "moveFrom")
"""Deletions, and what spelling checkers and layout have written."""
_ROLES: dict[str, Role] = {"br": "break", "cr": "break", "tab": "break"}
_UNDERLINED = re.compile(r'<w:u (?!w:val="none")')
_UNSEEN = re.compile(r"<w:(lang|noProof|rtl|cs|rFonts(?= w:hint=\"\w+\"/>))\b[^>]*(/>|></w:\1>)")
_EMPTY = re.compile(r"<w:rPr>\s*</w:rPr>|<w:rPr\s*/>")
_BEGIN, _SEPARATE, _END = "field begin", "field separate", "field end"
"""Names of the codes that divide a field into its instruction and its result."""


class _Run(NamedTuple):
    """A run of text with its format."""

    text: str
    format: str

    @property
    def raw(self) -> str:
        return f'<w:r>{self.format}<w:t xml:space="preserve">{escape_xml(self.text)}</w:t></w:r>'

    @property
    def visible_format(self) -> str:
        """The visible properties of its format."""
        return _EMPTY.sub("", _UNSEEN.sub("", self.format))


def docx_units(text: str) -> list[Unit]:
    """The paragraphs of a part. Raises `FormatError` as `parse_xml` does, and for elements without the prefix `w:`."""
    root = parse_xml(text)
    if root.prefix != "w":
        raise FormatError("its elements have another prefix than w:; save the file again with Word or LibreOffice")
    return [unit for paragraph in _paragraphs(root) for unit in _paragraph(text, paragraph)]


def _paragraphs(element: Element) -> Iterator[Element]:
    """The paragraphs of text, those in text boxes of others before them; copies for older programs are left out."""
    for child in element.inner:
        if child.name != "Fallback":
            yield from _paragraphs(child)
            if child.name == "p" and child.prefix == "w":
                yield child


def _paragraph(text: str, element: Element) -> Iterator[Unit]:
    head = next(element.inner, element)
    begin = head.end if head.name == "pPr" else element.content
    pieces = _with_fields(text, _pieces(text, element))
    runs = [piece for piece in pieces if isinstance(piece, _Run)]
    if not _have_words(runs):
        return
    sizes = Counter[str]()
    for run in runs:
        sizes[run.visible_format] += len(run.text)
    usual = sizes.most_common(1)[0][0]
    base = max(runs, key=lambda run: (run.visible_format == usual, len(run.text))).format
    parts, formats = _with_formats(pieces, usual)

    def write(new: str) -> Iterator[Splice]:
        yield Splice(begin, element.close, tuple(_written(new, unit.codes, base, formats)))

    unit = make_unit(parts, write, element.line)
    yield unit


def _pieces(text: str, element: Element) -> Iterator[_Run | Code]:
    """The content of a paragraph, or of an element in it, without its properties."""
    for child in element.inner:
        if child.name.endswith("Pr") or child.name in _DROPPED:
            continue
        if child.name in _ACCEPTED:
            yield from _pieces(text, child)
        elif (
            child.name in _AROUND
            and "MERGEFIELD" not in child.get("instr")
            and any(has_words(text.text()) for text in child.walk("t"))
        ):
            first = next(inner for inner in child.inner if not inner.name.endswith("Pr"))
            yield Code(text[child.begin : first.begin], "open", child.name, child.begin)
            yield from _pieces(text, child)
            yield Code(text[child.close : child.end], "close", child.name, child.close)
        elif child.name == "r":
            yield from _run(text, child)
        else:
            yield Code(text[child.begin : child.end], "alone", "code", child.begin)


def _run(text: str, run: Element) -> Iterator[_Run | Code]:
    """A run as one text, or as several parts with its format."""
    style = "".join(text[element.begin : element.end] for element in run.elements("rPr"))
    contents = [element for element in run.inner if element.name != "rPr" and element.name not in _DROPPED]
    for element in contents:
        is_line = _UNDERLINED.search(style) and re.fullmatch(r"\s{3,}", element.text())  # of a form
        if element.name in ("t", "noBreakHyphen") and not is_line:
            yield _Run(element.text() if element.name == "t" else "\u2011", style)
            continue
        name = f"field {element.get('fldCharType')}" if element.name == "fldChar" else "code"
        role = _ROLES.get(element.name, "alone")
        if len(contents) == 1:
            yield Code(text[run.begin : run.end], role, name, run.begin)
        elif next(element.walk("p"), None):  # a text box, whose paragraphs are units of their own
            box = f"box {element.begin}"
            yield Code(f"<w:r>{style}", "open", box)
            yield Code(text[element.begin : element.end], role, name, element.begin)
            yield Code("</w:r>", "close", box)
        else:
            yield Code(f"<w:r>{style}{text[element.begin : element.end]}</w:r>", role, name)


def _with_fields(text: str, pieces: Iterable[_Run | Code]) -> list[_Run | Code]:
    """The pieces with a field as one code, or as a pair around its result if that has words. The name of a mail merge
    is not text."""
    combined, opened = list[_Run | Code](), list[tuple[int, int]]()
    for piece in pieces:
        combined.append(piece)
        name = piece.name if isinstance(piece, Code) else ""
        if name == _BEGIN:
            opened.append((len(combined) - 1, len(combined)))
        elif name == _SEPARATE and opened:
            opened[-1] = opened[-1][0], len(combined)
        elif name == _END and opened:
            begin, middle = opened.pop()
            name, result = f"field {begin}", combined[middle:-1]
            head = _joined(text, combined[begin:middle], "open", name)
            if _have_words(result) and "MERGEFIELD" not in head.raw:
                combined[begin:] = [head, *result, Code(piece.raw, "close", name)]
            else:
                combined[begin:] = [_joined(text, combined[begin:], "alone", "code")]
    return combined


def _joined(text: str, pieces: Sequence[_Run | Code], role: Role, name: str) -> Code:
    """The pieces as one code, at its position in the file if it is written there in the same way."""
    raw = "".join(piece.raw for piece in pieces)
    begin = next(piece.begin for piece in pieces if isinstance(piece, Code))
    return Code(raw, role, name, begin if text.startswith(raw, begin) else -1)


def _have_words(pieces: Sequence[_Run | Code]) -> bool:
    return any(isinstance(piece, _Run) and has_words(piece.text) for piece in pieces)


def _with_formats(pieces: Sequence[_Run | Code], base: str) -> tuple[list[str | Code], dict[str, str]]:
    """Text and codes, with runs of other formats than `base` between pairs of codes; and the formats by the names of
    these codes."""
    parts, formats = list[str | Code](), dict[str, str]()
    current = base
    for piece in (*pieces, Code("", "close")):
        if isinstance(piece, Code):
            seen = base if piece.role in ("open", "close") else current
        elif current == base and not piece.text.strip(" "):
            seen = base  # the format of a space is not visible
        else:
            seen = piece.visible_format
        if seen != current and current != base:
            parts.append(Code("", "close", f"format {len(formats)}"))
        if seen != current and seen != base and isinstance(piece, _Run):
            formats[f"format {len(formats) + 1}"] = piece.format
            parts.append(Code("", "open", f"format {len(formats)}"))
        current = seen
        parts.append(piece if isinstance(piece, Code) else piece.text)
    return parts[:-1], formats


def _written(text: str, codes: Sequence[Code], base: str, formats: dict[str, str]) -> Iterator[str | Code]:
    """Runs with the formats of their codes, and the other codes."""
    opened = list[str]()
    for part in parts_of(text, codes):
        if isinstance(part, str):
            yield _Run(part, formats[opened[-1]] if opened else base).raw
        elif part.name not in formats:
            yield part
        elif part.role == "open":
            opened.append(part.name)
        elif part.name in opened:
            opened.remove(part.name)
