"""Documents in, sentence pairs and a report out: what `limelight pair` does. Of two folders, the documents that belong
together are paired.
"""

import re
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from limelight.config import Direction
from limelight.corpus.pairing.align import Document, Sentence, align
from limelight.corpus.pairing.path import Bead
from limelight.documents.document import open_document
from limelight.errors import UserError, counted
from limelight.files import visible
from limelight.formats.opening import BOTH_SIDES
from limelight.formats.registry import is_document
from limelight.formats.unit import Options, Unit, has_words
from limelight.text.judge import function_words, likely_language
from limelight.text.languages import normal_code
from limelight.text.marking import CODES, mark_number
from limelight.text.pair import Pair
from limelight.text.sentences import split_sentences
from limelight.text.words import followed

MAX_JUDGED = 5000
"""Texts from which the language of a side is told."""
FEW = 0.3
"""Share of the sentences that are paired, below which two documents may not belong together."""
_WORD = re.compile(r"[._\- ()\[\]]+")

Say = Callable[[str], None]
Translate = Callable[[Sequence[str]], Sequence[str]]
Files = tuple[Path, Path]
"""A document and its translation."""
Texts = tuple[Files, Document]
"""The sentences of two files."""


class Result(NamedTuple):
    """Sentences with their translation, or sentences of one side without any."""

    pair: Pair
    """The texts, with file and line of the first one."""
    target_place: str
    confidence: float
    fault: str
    """Why the pair is left out; empty for one that is written."""

    @property
    def notes(self) -> dict[str, str | float]:
        """Further fields of a pair in a file."""
        places = {"source-place": self.pair.place, "target-place": self.target_place}
        return {"confidence": self.confidence, **places}


def find_files(source: Path, target: Path) -> tuple[list[Files], list[Path]]:
    """Two documents, or the documents of two folders with the same names; and the documents without a counterpart.

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
    paired = {path for files in pairs for path in files}
    unpaired = [path for side in (ours, theirs) for paths in side.values() for path in paths if path not in paired]
    if not pairs:
        named = ", ".join(map(str, unpaired[:4])) or "there are no documents in them"
        raise UserError(f"{source} and {target}: no document has the same name in both ({named})")
    return pairs, unpaired


def _by_name(folder: Path) -> dict[str, list[Path]]:
    """The documents in a folder and its subfolders, hidden ones excepted, by their lowercased names without suffix and
    language codes."""
    documents: dict[str, list[Path]] = {}
    for path in visible(folder):
        if path.is_file() and (is_document(path) or _is_language(path.suffix[1:])):
            name = path.relative_to(folder)
            stem = name.with_suffix("") if is_document(name) else name
            parts = _WORD.split(normalize("NFC", stem.as_posix().lower()))
            words = [word for word in parts if word and not _is_language(word)]
            documents.setdefault(" ".join(words), []).append(path)
    return documents


def _is_language(word: str) -> bool:
    return word.isalpha() and len(word) in (2, 3) and normal_code(word) in function_words()


def _language_of(path: Path, texts: Sequence[str], option: str) -> str:
    """The language of a document, from its text or its name. Raises `UserError` if neither is sufficient."""
    if language := likely_language(texts):
        return language
    for word in reversed(_WORD.split(path.name.lower())):
        if _is_language(word):
            return normal_code(word)
    raise UserError(f"{path}: its language cannot be told from so little text: give {option} LANG, as {option} en")


def _units_of(path: Path) -> list[Unit]:
    """The texts of a document. Raises `UserError` for files with both sides, which need no pairing."""
    suffix = path.suffix.lower()
    if suffix in BOTH_SIDES:
        raise UserError(
            f"{path}: holds texts with their translations already: give it to `limelight clean` or `limelight train` "
            "as it is"
        )
    is_text = not is_document(path) and _is_language(suffix[1:])
    return open_document(path, Options(), f"{path}.txt" if is_text else "").units


def plain(unit: Unit) -> str:
    """The text of a unit without its codes. A code without content, such as a line break, is a space."""
    spaces = {number for number, code in enumerate(unit.codes) if code.role not in ("open", "close")}
    return CODES.sub(lambda mark: " " if mark_number(mark[0]) in spaces else "", unit.text)


def sentences_of(units: Sequence[Unit], language: str) -> list[Sentence]:
    """The sentences of a document with their lines."""
    sentences = []
    for unit in units:
        for text in split_sentences(plain(unit), language).texts:
            sentence = " ".join(text.split())
            if has_words(sentence) or any(map(str.isdigit, sentence)):
                sentences.append(Sentence(sentence, unit.line))
    return sentences


def read_texts(pairs: Sequence[Files], languages: tuple[str, str]) -> tuple[Direction, list[Texts], list[str]]:
    """The languages, the sentences of all documents, and why documents are left out. Languages that are not given are
    told from the text. Of several documents, one that cannot be read is left out.

    Raises `UserError` if there is no document left, and for unknown or equal languages.
    """
    documents, failed = list[tuple[Files, list[list[Unit]]]](), list[str]()
    for files in pairs:
        try:
            documents.append((files, [_units_of(path) for path in files]))
        except UserError as error:
            failed.append(str(error))
    if not documents:
        raise UserError("; ".join(failed[:3]))
    codes = []
    for side, option in enumerate(("--from", "--to")):
        judged = [plain(unit) for _, units in documents for unit in units[side]][:MAX_JUDGED]
        codes.append(languages[side] or _language_of(documents[0][0][side], judged, option))
    if codes[0] == codes[1]:
        raise UserError(
            f"both sides are in the language {codes[0]!r}: give a translation, or --from LANG and --to LANG"
        )
    texts = list[Texts]()
    for files, units in documents:
        source, target = map(sentences_of, units, codes)
        texts.append((files, Document(source, target)))
    return Direction(*codes), texts, failed


def pair(texts: Sequence[Texts], threshold: float, say: Say, translate: Translate | None) -> list[Result]:
    """Align all documents. Pairs have a confidence of at least `threshold`. `translate` translates source sentences."""
    documents = [document for _, document in texts]
    if translate is not None:
        documents = [
            document._replace(translations=translate([sentence.text for sentence in document.source]))
            for document in documents
        ]
    results = []
    for (files, document), beads in zip(texts, align(documents), strict=True):
        of_files = [_result(files, document, bead, threshold) for bead in beads]
        count, sizes = sum(not result.fault for result in of_files), (len(document.source), len(document.target))
        warning = "; warning: so few that these may be two different texts" * (count < FEW * max(min(sizes), 1))
        sentences = f"{sizes[0]:,} and {counted(sizes[1], 'sentence')}"
        say(f"{files[0]} + {files[1]}: {counted(count, 'pair')} of {sentences}{warning}")
        results += of_files
    return results


UNPAIRED, UNSURE = "no translation was found on the other side", "an unsure pair, below the --threshold"


def _result(files: Files, document: Document, bead: Bead, threshold: float) -> Result:
    ours = document.source[bead.source : bead.source + bead.kind[0]]
    theirs = document.target[bead.target : bead.target + bead.kind[1]]
    source, target = (
        reduce(followed, (sentence.text for sentence in sentences), "").strip() for sentences in (ours, theirs)
    )
    file, line = (files[0], ours[0].line) if ours else (files[1], theirs[0].line)
    target_place = f"{files[1]}:{theirs[0].line}" if theirs else ""
    fault = UNPAIRED if not bead.pairs else UNSURE if bead.confidence < threshold else ""
    return Result(Pair(source, target, str(file), line), target_place, round(bead.confidence, 3), fault)
