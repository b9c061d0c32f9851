"""Stores and streams for tests, and how batches are compared."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from limelight.batching.batch import Batch
from limelight.batching.store import (
    AlignmentStore,
    SideForms,
    TokenStore,
    add_forms,
    add_links,
    add_pairs,
    new_store,
    open_alignments,
    open_store,
)
from limelight.batching.stream import Position, Stream
from limelight.text.marked_pairs import Link
from limelight.tokens import Tokenizers

BEGINNING = Position()


class Letters:
    """A token for each letter; sampling drops letters, as the seed says."""

    kind, size, padding = "letters", 41, 40

    def encode(self, text: str) -> list[int]:
        return [2 + ord(letter) % 37 for letter in text]

    def encode_sampled(self, texts, *, amount, seed):
        generator = torch.Generator().manual_seed(seed)
        kept = [torch.rand(len(text) + 1, generator=generator)[1:] >= amount for text in texts]
        return [[piece for piece, keep in zip(self.encode(text), keeps, strict=True) if keep]
                for text, keeps in zip(texts, kept, strict=True)]  # fmt: skip

    def decode(self, ids):
        raise NotImplementedError

    pieces = word_of = save = reserved_id = decode


LETTERS = Tokenizers(Letters(), Letters())


def store_of(
    folder: Path,
    sources: list[str],
    targets: list[str],
    tokenizers: Tokenizers = LETTERS,
) -> TokenStore:
    ids = ([each.encode(text) for text in texts] for each, texts in zip(tokenizers, (sources, targets), strict=True))
    return written(folder, zip(*ids, sources, targets, strict=True), vocabulary_size=tokenizers.source.size)


def written(folder: Path, pairs: Iterable[tuple[Any, ...]], made_of: str = "", **options: int) -> TokenStore:
    with new_store(folder, made_of, **options) as columns:
        add_pairs(columns, pairs)
    return open_store(folder)


def aligned(folder: Path, store: TokenStore, *, turned: bool = False) -> AlignmentStore:
    """Word for word; with `turned` the last word is the translation of the first in every other pair."""
    sides = SideForms({"house": ["houses"]}, ["the"]), SideForms({"haus": ["hauses"]}, ["die"])
    with new_store(folder, "made of this") as columns:
        for row in range(len(store)):
            order = list(range(len(store.text(row).source.split())))[:: -1 if turned and row % 2 == 0 else 1]
            add_links(columns, [[Link(source, target) for source, target in enumerate(order)]])
        add_forms(columns, sides)
    return open_alignments(folder)


def taken(stream: Stream, count: int, position: Position = BEGINNING) -> list[tuple[Batch, Position]]:
    """Batches from a position on, each with the position after it."""
    with closing(stream.plans(position)) as plans:
        return [(plan.make(), plan.after) for plan in islice(plans, count)]


def epoch_of(stream: Stream, number: int = 0) -> Iterator[Batch]:
    with closing(stream.plans(Position(number))) as plans:
        for plan in plans:
            yield plan.make()
            if plan.after.epoch != number:
                return


def same(one: tuple[Batch, Position], other: tuple[Batch, Position]) -> bool:
    tensors = all(torch.equal(getattr(one[0], name), getattr(other[0], name)) for name in Batch.__slots__)
    return tensors and one[1] == other[1]
