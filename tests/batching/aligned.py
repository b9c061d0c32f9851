"""Word alignments of a store whose sides have the same number of words."""

from pathlib import Path

from limelight.batching.store import AlignmentStore, AlignmentWriter, SideForms, TokenStore
from limelight.text.marked_pairs import Link


def aligned(folder: Path, store: TokenStore, *, turned: bool = False) -> AlignmentStore:
    """Word for word; with `turned` the last word is the translation of the first in every other pair."""
    sides = SideForms({"house": ["houses"]}, ["the"]), SideForms({"haus": ["hauses"]}, ["die"])
    with AlignmentWriter(folder) as writer:
        for row in range(len(store)):
            count = len(store.source_texts[row].tobytes().split())
            order = list(range(count))[:: -1 if turned and row % 2 == 0 else 1]
            writer.append([[Link(source, target) for source, target in enumerate(order)]])
        return writer.close("made of this", sides)
