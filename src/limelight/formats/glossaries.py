"""Files of glossaries: two columns of a table."""

import csv
import io
from pathlib import Path

from limelight.errors import UserError
from limelight.files import cause
from limelight.text.glossary import MAX_TERMS, Glossary, Term
from limelight.text.languages import code_of, language_name, normal_code
from limelight.untrusted import read_plain

MAX_BYTES = 32 << 20


def read_glossary(path: str | Path, source_lang: str = "", target_lang: str = "") -> Glossary:
    """Read a glossary: two columns of `.tsv` or `.csv`, which the first row may name by the languages.

    Raises `UserError` with file and line if it cannot be read.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".tsv", ".csv", ".txt"):
        raise UserError(f"{path}: a glossary is a .tsv or .csv file, not {suffix or 'a file without an ending'}")
    try:
        text = read_plain(path, MAX_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {cause(error).lower()}") from None
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: not valid UTF-8 (byte 0x{error.object[error.start]:02x}); convert it to UTF-8"
        ) from None
    separator = max(",;", key=text.partition("\n")[0].count) if suffix == ".csv" else "\t"
    terms = read_rows(text, separator, str(path), (source_lang, target_lang))
    if not 0 < len(terms) <= MAX_TERMS:
        raise UserError(f"{path}: a glossary has 1 to {MAX_TERMS:,} terms, not {len(terms):,}")
    try:
        return Glossary(terms, source_lang)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def read_rows(
    text: str, separator: str = "\t", name: str = "entries", languages: tuple[str, str] = ("", "")
) -> list[Term]:
    """The terms of a table. Its first row may name the columns of source and target. Raises `UserError` with its `name`
    and line for an invalid row."""
    plain = separator == "\t"
    try:
        reader = csv.reader(
            io.StringIO(text, newline=""), delimiter=separator, quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL
        )
        rows = [[cell.strip() for cell in row] for row in reader]
    except csv.Error as error:
        raise UserError(f"{name}: not a table: {error}; is a quotation mark not closed?") from None
    columns, terms = (0, 1), list[Term]()
    header = [cell.lower() for cell in rows[0]] if rows else []
    codes = [code_of(cell) or normal_code(cell) for cell in header]
    exact = tuple(map(str.lower, languages))
    for names, (source, target) in ((header, ("source", "target")), (header, exact), (codes, map(normal_code, exact))):
        if source != target and {source, target} <= {*names}:
            columns, rows[0] = (names.index(source), names.index(target)), []
            break
    else:
        are_named = len({*codes}) == len(codes) > 1 and all(language_name(code) != code for code in codes)
        if are_named and not {*codes}.isdisjoint(map(normal_code, languages)):
            raise UserError(
                f"{name}: its columns are {', '.join(header[:20])}, not {' and '.join(languages)}; give a glossary of "
                "these languages"
            )
    for number, row in enumerate(rows, start=1):
        texts = [row[column] for column in columns if column < len(row) and row[column]]
        if len(texts) == 2:
            terms.append(Term(*texts))
        elif any(row):
            raise UserError(
                f"{name}:{number}: a term has a source and a target, separated by {'TAB' if plain else separator!r}"
            )
    return terms
