"""The documents to be paired: their sentences, their languages, and which of two folders belong together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from limelight.corpus.pairing.align import Sentence
from limelight.documents.document import open_document, read_document
from limelight.errors import UserError
from limelight.text.languages import function_words, likely_language, normal_code
from limelight.text.open_text import BOTH_SIDES
from limelight.text.sentences import split_sentences
from limelight.text.units.registry import BOTH_SIDES as BILINGUAL
from limelight.text.units.registry import Options, is_document
from limelight.text.units.unit import CODES, Unit, has_words
from limelight.untrusted import read_plain

MAX_TEXT = 64 << 20
"""Bytes of a plain text file that is named by its language."""
_WORD = re.compile(r"[._\- ()\[\]]+")


class Files(NamedTuple):
    """A document and its translation."""

    source: Path
    target: Path


class Found(NamedTuple):
    """What belongs together, and what has no counterpart."""

    pairs: list[Files]
    alone: list[Path]


def find_files(source: Path, target: Path) -> Found:
    """Two documents, or those of two folders with the same names.

    Names are compared without their suffixes, and without codes of languages (`manual.en.md`, `manual_de.docx`), unless
    the same name is there. Raises `UserError` for a missing file, a file with a folder, and folders without a match.
    """
    for path in (source, target):
        if not path.exists():
            raise UserError(f"{path}: there is no such file or folder")
    if source.is_dir() != target.is_dir():
        folder, file = (source, target) if source.is_dir() else (target, source)
        raise UserError(f"{folder} is a folder and {file} is a file: give two documents, or two folders")
    if source.resolve() == target.resolve():
        raise UserError(f"{source}: is given as source and as target; give a document and its translation")
    if not source.is_dir():
        return Found([Files(source, target)], [])
    return _matched(source, target)


def _matched(source: Path, target: Path) -> Found:
    ours, theirs = (sorted(_documents(folder)) for folder in (source, target))
    places = {path.relative_to(target).as_posix(): path for path in theirs}
    keys: dict[str, list[Path]] = {}
    for path in theirs:
        keys.setdefault(_key(path.relative_to(target)), []).append(path)
    often: dict[str, int] = {}
    for path in ours:
        often[_key(path.relative_to(source))] = often.get(_key(path.relative_to(source)), 0) + 1
    pairs = []
    for path in ours:
        name, key = path.relative_to(source), _key(path.relative_to(source))
        same = places.get(name.as_posix())
        if same is None and often[key] == 1 and len(keys.get(key, ())) == 1:
            same = keys[key][0]
        if same is not None:
            pairs.append(Files(path, same))
    taken = {path for pair in pairs for path in pair}
    alone = [path for path in (*ours, *theirs) if path not in taken]
    if not pairs:
        named = ", ".join(str(path) for path in alone[:4]) or "there are no documents in them"
        raise UserError(f"{source} and {target}: no document has the same name in both ({named})")
    return Found(pairs, alone)


def _documents(folder: Path) -> Iterator[Path]:
    """The documents in a folder and in those in it, without hidden ones."""
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if not hidden and path.is_file() and (is_document(path) or _is_language(path.suffix[1:])):
            yield path


def _key(name: Path) -> str:
    """A name without suffix, codes of languages and case."""
    stem = name.with_suffix("") if is_document(name) else name
    parts = [word for word in _WORD.split(stem.as_posix().lower()) if word and not _is_language(word)]
    return " ".join(parts)


def _is_language(word: str) -> bool:
    return word.isalpha() and len(word) in (2, 3) and normal_code(word) in function_words()


def language_of(path: Path, texts: Sequence[str], option: str) -> str:
    """The language of a document, from its text or its name. Raises `UserError` where neither tells it."""
    found = likely_language(texts)
    if found:
        return found
    named = [word for word in _WORD.split(path.name.lower()) if _is_language(word)]
    if named:
        return normal_code(named[-1])
    raise UserError(f"{path}: its language cannot be told from so little text: give {option} LANG, such as {option} en")


def units_of(path: Path) -> list[Unit]:
    """The texts of a document. Raises `UserError` for files with both sides, which need no pairing."""
    suffix = path.suffix.lower()
    if suffix in (*BOTH_SIDES, *BILINGUAL) and suffix != ".pot":
        raise UserError(
            f"{path}: holds texts with their translations already: give it to `limelight clean` or `limelight train` "
            "as it is"
        )
    if not is_document(path) and _is_language(suffix[1:]):
        return read_document(read_plain(path, MAX_TEXT), f"{path}.txt", Options()).units
    return open_document(path, Options()).units


def plain(unit: Unit) -> str:
    """The text of a unit without its codes. One that stands alone between two words, such as a line break, is a
    space."""

    def written(match: re.Match[str]) -> str:
        number = ord(match[0]) - ord("\U000f1000")
        alone = number < len(unit.codes) and unit.codes[number].role == "alone"
        around = unit.text[max(match.start() - 1, 0) : match.start()] + unit.text[match.end() : match.end() + 1]
        return " " if alone and len(around) == 2 and around.isalnum() else ""

    return CODES.sub(written, unit.text)


def sentences_of(units: Sequence[Unit], language: str) -> list[Sentence]:
    """The sentences of a document with their lines."""
    found = []
    for number, unit in enumerate(units):
        for text in split_sentences(plain(unit), language).texts:
            shown = " ".join(text.split())
            if has_words(shown) or any(map(str.isdigit, shown)):
                found.append(Sentence(shown, unit.line, number))
    return found
