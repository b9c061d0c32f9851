"""Files of glossaries: two columns of a table, or TBX."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
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
        try:
            text = read_plain(path, MAX_BYTES).decode("utf-8-sig")
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {cause(error).lower()}") from None
        except UnicodeDecodeError as error:
            raise UserError(f"{path}: not valid UTF-8 (byte 0x{error.object[error.start]:02x})") from None
        separator = max(",;", key=text.partition("\n")[0].count) if suffix == ".csv" else "\t"
        terms = read_rows(text, separator, str(path), (source_lang, target_lang))
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


def read_rows(
    text: str, separator: str = "\t", name: str = "entries", languages: tuple[str, str] = ("", "")
) -> list[Term]:
    """The terms of a table. Its first row may name the columns of source and target. Raises `UserError` with its `name`
    and line for an invalid row."""
    lines, columns, terms = io.StringIO(text, newline=""), (0, 1), list[Term]()
    plain = separator == "\t"
    reader = csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL)
    try:
        rows = [[cell.strip() for cell in row] for row in reader]
    except csv.Error as error:
        raise UserError(f"{name}: not a table: {error}; is a quotation mark not closed?") from None
    names = [cell.lower() for cell in rows[0]] if rows else []
    for one, other in (("source", "target"), languages):
        if one and one.lower() in names and other.lower() in names:
            columns = names.index(one.lower()), names.index(other.lower())
            rows[0] = []
            break
    for number, row in enumerate(rows, start=1):
        texts = [row[column] for column in columns if column < len(row) and row[column]]
        if len(texts) == 2:
            terms.append(Term(*texts))
        elif any(row):
            raise UserError(f"{name}:{number}: a term has a source and a target, separated by {separator!r}")
    return terms


def _tbx_terms(path: Path, source: str, target: str) -> Iterator[Term]:
    """Of an entry the first term in the target language, with each in the source language."""
    if not (source and target):
        raise UserError(f"{path}: a TBX file names its languages: say which are source and target")
    for unit in read_units(path, ("martif", "tbx"), ("termEntry", "conceptEntry")):
        if isinstance(unit, BadLine):
            raise UserError(str(unit))
        terms = [(section.get("lang"), " ".join(term.text().split()))
                 for section in unit.element.walk("langSet", "langSec") for term in section.walk("term")]  # fmt: skip
        translation = next((term for language, term in terms if term and matches(target, language)), "")
        for language, term in terms:
            if term and translation and matches(source, language):
                yield Term(term, translation)
