"""Documents in, sentence pairs and a report out: what `limelight pair` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from limelight.corpus.pairing.align import Aligned, Document, Sentence, align
from limelight.corpus.pairing.documents import Files, Found, language_of, plain, sentences_of, units_of
from limelight.errors import UserError, counted

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
    """What is in no pair."""

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
