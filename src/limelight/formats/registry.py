"""The registry of document formats: their encodings and parsers."""

import codecs
import re
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import NamedTuple

from limelight.errors import UserError, shown
from limelight.formats.catalogs import json_units, yaml_units
from limelight.formats.html import html_units
from limelight.formats.markdown import markdown_units
from limelight.formats.opening import DESCRIPTIONS, XLIFF, kind_of
from limelight.formats.plain import text_units
from limelight.formats.po import po_units
from limelight.formats.subtitles import subtitle_units
from limelight.formats.unit import FormatError, Kept, Options, Unit
from limelight.formats.xliff import xliff_units

Parse = Callable[[str, Options, list[Kept]], list[Unit]]
FORMATS: dict[str, tuple[str, Parse]] = {
    ".txt": ("text", lambda text, *_: text_units(text)),
    **dict.fromkeys((".srt", ".vtt"), ("text", lambda text, *_: subtitle_units(text))),
    **dict.fromkeys((".po", ".pot"), ("po", lambda text, options, _: po_units(text, options))),
    **dict.fromkeys((".html", ".htm", ".xhtml"), ("html", lambda text, options, _: html_units(text, options.target))),
    **dict.fromkeys((".md", ".markdown"), ("text", lambda text, *_: markdown_units(text))),
    **dict.fromkeys((".json", ".arb"), ("text", json_units)),
    **dict.fromkeys((".yaml", ".yml"), ("text", yaml_units)),
    **dict.fromkeys(XLIFF, ("xml", lambda text, options, _: xliff_units(text, options))),
}
"""By suffix: how to find the encoding, and the parser."""
DOCX = ".docx"
SUFFIXES = (*FORMATS, DOCX)
DOCUMENT_SUFFIXES = tuple(suffix for suffix in SUFFIXES if suffix != ".txt")
"""Suffixes of files that the command line translates as documents, and not line by line."""
BILINGUAL = (".po", ".pot", *XLIFF)
"""Formats with source and translation, where a translation that is the same as its source is not written."""
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_IN_XML = r"<\?xml[^>]*encoding\s*=\s*[\"']([\w.-]+)"
_DECLARED = {
    "xml": re.compile(_IN_XML),
    "html": re.compile(rf"{_IN_XML}|(?i:<meta[^>]*charset\s*=\s*[\"']?([\w.-]+))"),
    "po": re.compile(r"charset=([\w.-]+)"),
}
"""By kind: the encoding that a file names."""


def suffix_of(name: str | PurePath) -> str:
    """The suffix that determines the format of a file, in lower case."""
    return PurePath(name).suffix.lower()


def is_document(name: str | PurePath) -> bool:
    """Whether a file with this name can be translated as a document."""
    return suffix_of(name) in SUFFIXES


def refuse_to_translate(path: Path) -> None:
    """Raise `UserError` for a file whose format is not translated, with what to give instead."""
    kind = kind_of(path)
    description = "a translation file of Qt" if kind == ".ts" else DESCRIPTIONS.get(kind)
    if description and kind not in DOCUMENT_SUFFIXES:
        remedy = "save it as Word (.docx) or XLIFF, or its text, or a column of it, as plain text with the same lines"
        raise UserError(f"{path}: is {description}, which is not translated as it is; {remedy}")


class Decoded(NamedTuple):
    """A file as text, and how to encode it again."""

    text: str
    encoding: str
    mark: bytes
    """The byte order mark."""
    charrefs: bool
    """Whether characters that the encoding lacks can be written as `&#...;`."""

    def encode(self, text: str) -> bytes:
        """Raises `FormatError` for a character that the encoding does not have."""
        try:
            return self.mark + text.encode(self.encoding, "xmlcharrefreplace" if self.charrefs else "strict")
        except UnicodeEncodeError as error:
            reason = f"the translation has {shown(text[error.start])!r}, which {self.encoding} cannot represent"
            raise FormatError(f"{reason}; convert the file to UTF-8") from None


def find_units(text: str, suffix: str, options: Options) -> tuple[list[Unit], list[Kept]]:
    """The units of a file's text, and the strings of a catalog that are not units. Raises `FormatError` if the text is
    not in the format of `suffix`."""
    kept = list[Kept]()
    return FORMATS[suffix][1](text, options, kept), kept


def decode_file(data: bytes, suffix: str) -> Decoded:
    """Decode a file: UTF-8, UTF-16 with a byte order mark, or the encoding that the file declares.

    Raises `FormatError` for bytes that are not valid in the encoding.
    """
    kind = FORMATS[suffix][0] if suffix in FORMATS else "xml"
    mark = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    encoding = _MARKS[mark] if mark else _declared(data, kind) or "utf-8"
    content = data[len(mark) :]
    try:
        text = content.decode(encoding)
        is_kept = text.encode(encoding, "replace") == content
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        fault = f"not valid {encoding.upper()} (byte 0x{content[error.start]:02x})"
        raise FormatError(f"{fault}; convert the file to UTF-8", line) from None
    except (LookupError, UnicodeError):
        raise FormatError(f"the encoding {shown(encoding, 40)!r} is not read; convert the file to UTF-8") from None
    if "\0" in text:
        raise FormatError("no text: it has zero bytes", text.count("\n", 0, text.index("\0")) + 1)
    if not is_kept:
        raise FormatError(f"the encoding {encoding} is not kept byte for byte; convert the file to UTF-8")
    return Decoded(text, encoding, mark, kind in ("xml", "html"))


def _declared(data: bytes, kind: str) -> str:
    """The encoding that a file names; empty if it names none, or has the placeholder of a template."""
    match = _DECLARED[kind].search(data[:4000].decode("ascii", "replace")) if kind in _DECLARED else None
    name = match[match.lastindex or 0] if match and "charset=charset" not in match[0].lower() else ""
    is_latin = kind == "html" and name.lower() in ("iso-8859-1", "latin1")
    # As browsers read it: otherwise these bytes are control characters.
    return "windows-1252" if is_latin and re.search(rb"[\x80\x82-\x9f]", data) else name
