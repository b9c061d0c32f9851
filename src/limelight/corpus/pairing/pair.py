"""Documents in, sentence pairs and a report out: what `limelight pair` does. Of two folders, the documents that belong
together are paired.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from limelight.corpus.pairing.align import Aligned, Document, Sentence, align
from limelight.documents.document import open_document, read_document
from limelight.errors import UserError, counted
from limelight.formats.opening import BOTH_SIDES
from limelight.formats.registry import BOTH_SIDES as BILINGUAL
from limelight.formats.registry import Options, is_document
from limelight.formats.unit import Unit, has_words
from limelight.text.judge import function_words, likely_language
from limelight.text.languages import normal_code
from limelight.text.marking import CODES
from limelight.text.sentences import split_sentences
from limelight.untrusted import read_plain

MAX_TEXT = 64 << 20
"""Bytes of a plain text file that is named by its language."""
_WORD = re.compile(r"[._\- ()\[\]]+")


class Files(NamedTuple):
    """A document and its translation."""

    source: Path
    target: Path


class Found(NamedTuple):
    """The documents that belong together, and those without a counterpart."""

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


Say = Callable[[str], None]
Translate = Callable[[Sequence[str]], Sequence[str]]
FEW = 0.3
"""Share of the sentences that are paired, below which two documents may not belong together."""


class PairFound(NamedTuple):
    """Some sentences with their translation."""

    source: str
    target: str
    source_file: str
    target_file: str
    source_line: int
    target_line: int
    confidence: float


class LeftOver(NamedTuple):
    """The sentences that are in no pair."""

    source: str
    target: str
    file: str
    line: int
    reason: str


@dataclass
class Pairs:
    """The pairs of all documents, and what was left out."""

    source: str
    target: str
    """The languages."""
    found: list[PairFound] = field(default_factory=list)
    left_over: list[LeftOver] = field(default_factory=list)
    files_left_out: list[str] = field(default_factory=list)
    """Each as `file: reason`."""


class Texts(NamedTuple):
    """The sentences of two files."""

    files: Files
    source: list[Sentence]
    target: list[Sentence]


def read_texts(found: Found, languages: tuple[str, str]) -> tuple[Pairs, list[Texts]]:
    """The sentences of all documents. Languages that are not given are told from the first documents that have enough
    text. Of several documents, one that cannot be read is reported, and left out.

    Raises `UserError` for a single document that cannot be read, and for unknown or equal languages.
    """
    read, failed = [], [f"{path}: no document has this name on the other side" for path in found.alone]
    for files in found.pairs:
        try:
            read.append((files, units_of(files.source), units_of(files.target)))
        except UserError as error:
            if len(found.pairs) == 1:
                raise
            failed.append(str(error))
    if not read:
        raise UserError("none of the documents can be read: " + "; ".join(failed[:3]))
    sides = []
    for side, option in enumerate(("--from", "--to")):
        some = [plain(unit) for _, *units in read for unit in units[side]][:5000]
        sides.append(languages[side] or language_of(read[0][0][side], some, option))
    if sides[0] == sides[1]:
        raise UserError(
            f"both sides are in the language {sides[0]!r}: give a translation, or --from LANG and --to LANG"
        )
    texts = [Texts(files, sentences_of(ours, sides[0]), sentences_of(theirs, sides[1])) for files, ours, theirs in read]
    return Pairs(sides[0], sides[1], files_left_out=failed), texts


def pair(
    pairs: Pairs,
    texts: Sequence[Texts],
    threshold: float,
    say: Say,
    translate: Translate | None,
    *,
    turned: bool = False,
) -> Pairs:
    """Align all documents and collect the pairs with a confidence of at least `threshold`.

    Args:
        translate: translations of source sentences; with `turned` of target sentences.
    """
    documents = []
    for each in texts:
        sides = (each.target, each.source) if turned else (each.source, each.target)
        told = translate([sentence.text for sentence in sides[0]]) if translate is not None else ()
        documents.append(Document(*sides, told))
    for each, beads in zip(texts, align(documents, say), strict=True):
        before = len(pairs.found)
        for one in beads:
            _collect(pairs, each, one, threshold, turned=turned)
        say(_summary(each, pairs.found[before:]))
    return pairs


def _collect(pairs: Pairs, texts: Texts, one: Aligned, threshold: float, *, turned: bool) -> None:
    bead = one.bead
    begins, counts = (bead.source, bead.target), bead.kind
    if turned:
        begins, counts = begins[::-1], counts[::-1]
    ours = texts.source[begins[0] : begins[0] + counts[0]]
    theirs = texts.target[begins[1] : begins[1] + counts[1]]
    sides = " ".join(each.text for each in ours), " ".join(each.text for each in theirs)
    files = str(texts.files.source), str(texts.files.target)
    if ours and theirs and one.confidence >= threshold:
        pairs.found.append(PairFound(*sides, *files, ours[0].line, theirs[0].line, round(one.confidence, 3)))
    elif ours and theirs:
        reason = f"confidence {one.confidence:.2f}, below {threshold:g}"
        pairs.left_over.append(LeftOver(*sides, files[0], ours[0].line, reason))
    else:
        place = (files[0], ours[0].line) if ours else (files[1], theirs[0].line)
        pairs.left_over.append(LeftOver(*sides, *place, "no translation was found on the other side"))


def _summary(texts: Texts, found: Sequence[PairFound]) -> str:
    counts = len(texts.source), len(texts.target)
    line = f"{texts.files.source} + {texts.files.target}: {counted(len(found), 'pair')} of {counts[0]:,} and "
    line += f"{counted(counts[1], 'sentence')}"
    if len(found) < FEW * max(min(counts), 1):
        line += "; warning: so few that these may be two different texts"
    return line


def notes_of(found: PairFound) -> dict[str, str | float]:
    """What a file may say of a pair besides its text."""
    return {
        "confidence": found.confidence,
        "source-place": f"{found.source_file}:{found.source_line}",
        "target-place": f"{found.target_file}:{found.target_line}",
    }


def reasons(pairs: Pairs) -> Iterator[str]:
    """A line for each reason to leave something out, with an example."""
    groups: dict[str, list[LeftOver]] = {}
    for each in pairs.left_over:
        kind = each.reason if not each.reason.startswith("confidence") else "unsure pairs, below the --threshold"
        groups.setdefault(kind, []).append(each)
    for kind, some in sorted(groups.items(), key=lambda item: -len(item[1])):
        yield f"  left out {len(some):,}: {kind} (first: {some[0].file}:{some[0].line})"
    for line in pairs.files_left_out:
        yield f"  left out {line}"
