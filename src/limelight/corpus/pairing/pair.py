"""Documents in, sentence pairs and a report out: what `limelight pair` does. Of two folders, the documents that belong
together are paired.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from limelight.corpus.pairing.align import Document, Sentence, align
from limelight.corpus.pairing.path import Bead
from limelight.documents.document import open_document, read_document
from limelight.errors import UserError, counted
from limelight.formats.opening import BOTH_SIDES
from limelight.formats.registry import BOTH_SIDES as BILINGUAL
from limelight.formats.registry import Options, is_document
from limelight.formats.unit import Unit, has_words
from limelight.text.judge import function_words, likely_language
from limelight.text.languages import normal_code
from limelight.text.marking import CODES
from limelight.text.pair import Pair
from limelight.text.sentences import split_sentences
from limelight.untrusted import read_plain

MAX_TEXT = 64 << 20
"""Bytes of a plain text file that is named by its language."""
MAX_JUDGED = 5000
"""Texts from which the language of a side is told."""
FEW = 0.3
"""Share of the sentences that are paired, below which two documents may not belong together."""
_WORD = re.compile(r"[._\- ()\[\]]+")

Say = Callable[[str], None]
Translate = Callable[[Sequence[str]], Sequence[str]]
Files = tuple[Path, Path]
"""A document and its translation."""


class PairFound(NamedTuple):
    """Some sentences with their translation."""

    source: str
    target: str
    source_file: str
    target_file: str
    source_line: int
    target_line: int
    confidence: float


@dataclass
class Pairs:
    """The pairs of all documents, and what was left out."""

    source: str
    target: str
    """The languages."""
    found: list[PairFound] = field(default_factory=list)
    left_over: list[tuple[Pair, str]] = field(default_factory=list)
    """Sentences that are in no pair, and why."""
    files_left_out: list[str] = field(default_factory=list)
    """Each as `file: reason`."""


class Texts(NamedTuple):
    """The sentences of two files."""

    files: Files
    source: list[Sentence]
    target: list[Sentence]


def find_files(source: Path, target: Path) -> tuple[list[Files], list[Path]]:
    """Two documents, or those of two folders with the same names; and the documents without a counterpart.

    Names are compared without their suffixes, and without codes of languages (`manual.en.md`, `manual_de.docx`). Raises
    `UserError` for a missing file, a file with a folder, and folders without a match.
    """
    for path in (source, target):
        if not path.exists():
            raise UserError(f"{path}: there is no such file or folder")
    if source.is_dir() != target.is_dir():
        raise UserError(f"{source} and {target}: a folder and a file: give two documents, or two folders")
    if source.resolve() == target.resolve():
        raise UserError(f"{source}: is given as source and as target; give a document and its translation")
    if not source.is_dir():
        return [(source, target)], []
    ours, theirs = _by_name(source), _by_name(target)
    pairs = [
        (paths[0], theirs[name][0]) for name, paths in ours.items() if len(paths) == 1 == len(theirs.get(name, ()))
    ]
    taken = {path for files in pairs for path in files}
    alone = [path for side in (ours, theirs) for paths in side.values() for path in paths if path not in taken]
    if not pairs:
        named = ", ".join(map(str, alone[:4])) or "there are no documents in them"
        raise UserError(f"{source} and {target}: no document has the same name in both ({named})")
    return pairs, alone


def _by_name(folder: Path) -> dict[str, list[Path]]:
    """The documents in a folder and in those in it, without hidden ones, by their names without suffix, codes of
    languages and case."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if path.is_file() and (is_document(path) or _is_language(path.suffix[1:])) and not _is_hidden(name):
            stem = name.with_suffix("") if is_document(name) else name
            words = [word for word in _WORD.split(stem.as_posix().lower()) if word and not _is_language(word)]
            found.setdefault(" ".join(words), []).append(path)
    return found


def _is_hidden(name: Path) -> bool:
    return any(part.startswith(".") for part in name.parts)


def _is_language(word: str) -> bool:
    return word.isalpha() and len(word) in (2, 3) and normal_code(word) in function_words()


def _language_of(path: Path, texts: Sequence[str], option: str) -> str:
    """The language of a document, from its text or its name. Raises `UserError` if neither tells it."""
    named = [normal_code(word) for word in _WORD.split(path.name.lower()) if _is_language(word)]
    found = likely_language(texts) or (named[-1] if named else "")
    if not found:
        raise UserError(f"{path}: its language cannot be told from so little text: give {option} LANG, as {option} en")
    return found


def _units_of(path: Path) -> list[Unit]:
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


def read_texts(found: tuple[list[Files], list[Path]], languages: tuple[str, str]) -> tuple[Pairs, list[Texts]]:
    """The sentences of all documents. Languages that are not given are told from the first documents that have enough
    text. Of several documents, one that cannot be read is reported, and left out.

    Raises `UserError` for a single document that cannot be read, and for unknown or equal languages.
    """
    pairs, alone = found
    read, failed = [], [f"{path}: no document has this name on the other side" for path in alone]
    for files in pairs:
        try:
            read.append((files, _units_of(files[0]), _units_of(files[1])))
        except UserError as error:
            if len(pairs) == 1:
                raise
            failed.append(str(error))
    if not read:
        raise UserError("none of the documents can be read: " + "; ".join(failed[:3]))
    sides = []
    for side, option in enumerate(("--from", "--to")):
        some = [plain(unit) for _, *units in read for unit in units[side]][:MAX_JUDGED]
        sides.append(languages[side] or _language_of(read[0][0][side], some, option))
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
    for each, beads in zip(texts, align(documents), strict=True):
        before = len(pairs.found)
        for bead in beads:
            _collect(pairs, each, bead, threshold, turned=turned)
        count = len(pairs.found) - before
        line = f"{each.files[0]} + {each.files[1]}: {counted(count, 'pair')} of {len(each.source):,} and "
        line += f"{counted(len(each.target), 'sentence')}"
        if count < FEW * max(min(len(each.source), len(each.target)), 1):
            line += "; warning: so few that these may be two different texts"
        say(line)
    return pairs


def _collect(pairs: Pairs, texts: Texts, bead: Bead, threshold: float, *, turned: bool) -> None:
    begins, counts = (bead.source, bead.target), bead.kind
    if turned:
        begins, counts = begins[::-1], counts[::-1]
    ours = texts.source[begins[0] : begins[0] + counts[0]]
    theirs = texts.target[begins[1] : begins[1] + counts[1]]
    sides = " ".join(each.text for each in ours), " ".join(each.text for each in theirs)
    files = str(texts.files[0]), str(texts.files[1])
    if bead.pairs and bead.confidence >= threshold:
        pairs.found.append(PairFound(*sides, *files, ours[0].line, theirs[0].line, round(bead.confidence, 3)))
        return
    reason = f"confidence {bead.confidence:.2f}, below {threshold:g}" if bead.pairs else UNPAIRED
    place = (files[0], ours[0].line) if ours else (files[1], theirs[0].line)
    pairs.left_over.append((Pair(*sides, *place), reason))


UNPAIRED = "no translation was found on the other side"


def notes_of(found: PairFound) -> dict[str, str | float]:
    """What a file may say of a pair besides its text."""
    return {
        "confidence": found.confidence,
        "source-place": f"{found.source_file}:{found.source_line}",
        "target-place": f"{found.target_file}:{found.target_line}",
    }


def reasons(pairs: Pairs) -> Iterator[str]:
    """A line for each reason to leave something out, with an example."""
    groups: dict[str, list[Pair]] = {}
    for each, reason in pairs.left_over:
        kind = UNPAIRED if reason == UNPAIRED else "unsure pairs, below the --threshold"
        groups.setdefault(kind, []).append(each)
    for kind, some in sorted(groups.items(), key=lambda item: -len(item[1])):
        yield f"  left out {len(some):,}: {kind} (first: {some[0].place})"
    for line in pairs.files_left_out:
        yield f"  left out {line}"
