"""Files of glossaries: two columns of a table, or TBX."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from limelight.errors import UserError
from limelight.files import cause
from limelight.formats.segments import matches
from limelight.formats.xml import read_units
from limelight.text.glossary import MAX_TERMS, Glossary, Term
from limelight.text.pair import BadLine
from limelight.untrusted import read_plain

MAX_BYTES = 32 << 20


def read_glossary(path: str | Path, source_lang: str = "", target_lang: str = "") -> Glossary:
    """Read a glossary: two columns of `.tsv` or `.csv`, or `.tbx`, whose languages are chosen by their codes.

    Raises `UserError` with file and line if it cannot be read.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix == ".tbx":
        terms = list(_tbx_terms(path, source_lang, target_lang))
    elif suffix in (".tsv", ".csv", ".txt"):
        terms = list(_table_terms(path, "\t" if suffix != ".csv" else ",", source_lang, target_lang))
    else:
        raise UserError(f"{path}: a glossary is a .tsv, .csv or .tbx file, not {suffix or 'a file without an ending'}")
    if not terms:
        raise UserError(f"{path}: the glossary has no terms")
    if len(terms) > MAX_TERMS:
        raise UserError(f"{path}: {len(terms):,} terms, at most {MAX_TERMS:,} are read")
    try:
        return Glossary(terms, source_lang)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def read_rows(text: str, separator: str = "\t", name: str = "entries") -> list[Term]:
    """The terms of a table in a string. Raises `UserError` with its `name` and line for an invalid row."""
    return list(_rows(text, separator, "", "", name))


def _table_terms(path: Path, separator: str, source: str, target: str) -> Iterator[Term]:
    try:
        text = read_plain(path, MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {cause(error).lower()}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not valid UTF-8 (byte 0x{error.object[error.start]:02x})") from None
    if separator == "," and text.partition("\n")[0].count(";") > text.partition("\n")[0].count(","):
        separator = ";"
    return _rows(text, separator, source, target, str(path))


def _rows(text: str, separator: str, source: str, target: str, name: str) -> Iterator[Term]:
    lines, columns = io.StringIO(text, newline=""), (0, 1)
    if separator == "\t":
        reader = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(lines, delimiter=separator)
    for number, row in enumerate(_read_rows(reader, name), start=1):
        if not any(cell.strip() for cell in row):
            continue
        if number == 1 and (named := _columns(row, source, target)):
            columns = named
            continue
        if len(row) <= max(columns) or not (row[columns[0]].strip() and row[columns[1]].strip()):
            raise UserError(f"{name}:{number}: a term has a source and a target, separated by {separator!r}")
        yield Term(row[columns[0]].strip(), row[columns[1]].strip())


def _read_rows(reader: Iterable[list[str]], name: str) -> Iterator[list[str]]:
    try:
        yield from reader
    except csv.Error as error:
        raise UserError(f"{name}: not a table: {error}; is a quotation mark not closed?") from None


def _columns(row: Sequence[str], source: str, target: str) -> tuple[int, int] | None:
    """The columns of source and target if this row names them."""
    names = [cell.strip().lower() for cell in row]
    for one, other in (("source", "target"), (source.lower(), target.lower())):
        if one and one in names and other in names:
            return names.index(one), names.index(other)
    return None


def _tbx_terms(path: Path, source: str, target: str) -> Iterator[Term]:
    """For each entry the first term in the source language and the first one in the target language."""
    if not (source and target):
        raise UserError(f"{path}: a TBX file names its languages: say which are source and target")
    for unit in read_units(path, ("martif", "tbx"), ("termEntry", "conceptEntry")):
        if isinstance(unit, BadLine):
            raise UserError(str(unit))
        by_language: dict[str, list[str]] = {}
        for section in unit.element.walk("langSet", "langSec"):
            by_language.setdefault(section.get("lang"), []).extend(
                " ".join(term.text().split()) for term in section.walk("term") if term.text().strip()
            )
        sources, targets = ([term for language, terms in by_language.items() if matches(wanted, language)
                             for term in terms] for wanted in (source, target))  # fmt: skip
        if targets:
            yield from (Term(each, targets[0]) for each in sources)
