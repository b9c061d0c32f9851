"""The word alignments of a token store, in a folder of their own beside it: links row by row in memory-mapped files,
and the related forms and the most frequent words of both sides."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from limelight.batching.store import WAY_OUT, FolderWriter, Ragged, RaggedWriter, described
from limelight.errors import RunError
from limelight.files import write_whole
from limelight.text.marking import Alignment, Link, WordForms

_LINKS, _FORMS = "links", "forms.json"
_DTYPE = "<u2"
_SURE = 0x8000
"""Added to the target word of a link that both directions of the alignment have."""
MAX_WORDS = _SURE
"""A link of a word behind so many is not kept."""


class SideForms(NamedTuple):
    """What is known of the words of one side."""

    related: dict[str, list[str]]
    """Other forms of a word."""
    common: list[str]
    """The most frequent words, lowercased."""


@dataclass(frozen=True, slots=True)
class AlignmentStore:
    """Which words of each pair of a store translate one another."""

    links: Ragged
    """Row by row: source word, target word (with `_SURE`), source word, ..."""
    forms: tuple[WordForms, WordForms]
    """What is known of the words: read from source to target, and the other way round."""
    turned: bool = False
    """Whether it is read in the other direction."""

    def __len__(self) -> int:
        return len(self.links)

    def reversed(self) -> "AlignmentStore":
        """The same in the other direction."""
        return AlignmentStore(self.links, self.forms, not self.turned)

    def of(self, row: int | np.integer) -> Alignment:
        """The alignment of a pair."""
        values = self.links[row].tolist()
        found = [(s, t & ~_SURE, t >= _SURE) for s, t in zip(values[::2], values[1::2], strict=True)]
        links = [Link(t, s, sure) if self.turned else Link(s, t, sure) for s, t, sure in found]
        return Alignment(links, self.forms[self.turned])


class AlignmentWriter(FolderWriter):
    """Writes an `AlignmentStore`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, vocabulary_size=1)

    def _open(self, partial: Path) -> None:
        self._links = RaggedWriter(partial, _LINKS, _DTYPE)

    def _close(self) -> None:
        self._links.close()

    def _abandon(self) -> None:
        self._links.abandon()

    def append(self, rows: Sequence[Sequence[Link]]) -> None:
        """Add the links of pairs."""
        with self.writing():
            self._links.append([_numbers(row) for row in rows])

    def close(self, fingerprint: str, sides: tuple[SideForms, SideForms]) -> AlignmentStore:
        """Finish, move into place, open. `fingerprint` names what it was made of."""
        with self.writing():
            content = json.dumps([each._asdict() for each in sides], ensure_ascii=False)
            write_whole(self._partial / _FORMS, content)
        self.finish(fingerprint, ())
        return open_alignments(self.folder)


def _numbers(links: Sequence[Link]) -> list[int]:
    return [
        number
        for source, target, sure in links
        if source < MAX_WORDS and target < MAX_WORDS
        for number in (source, target + _SURE * sure)
    ]


def open_alignments(folder: Path) -> AlignmentStore:
    """Map finished alignments. Raises `RunError` when they are damaged."""
    described(folder)
    links = Ragged.open(folder, _LINKS, _DTYPE)
    try:
        content = json.loads((folder / _FORMS).read_text(encoding="utf-8"))
        sides = [SideForms({str(word): list(map(str, forms)) for word, forms in side["related"].items()},
                           list(map(str, side["common"]))) for side in content]  # fmt: skip
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise RunError(f"{folder / _FORMS}: cannot be read ({error}); {WAY_OUT}") from None
    if len(sides) != 2 or (links.lengths() % 2).any():
        raise RunError(f"{folder}: no word alignments; {WAY_OUT}")
    source, target = sides
    common = frozenset(source.common), frozenset(target.common)
    return AlignmentStore(links, (WordForms(target.related, common), WordForms(source.related, common[::-1])))
