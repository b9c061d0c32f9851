"""Stores and streams for tests, and how batches are compared."""

from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path

import torch

from limelight.batching.batch import Batch
from limelight.batching.store import AlignmentStore, AlignmentWriter, SideForms, StoreWriter, TokenStore
from limelight.batching.stream import Position, Stream
from limelight.text.marked_pairs import Link
from limelight.tokens import Tokenizers

BEGINNING = Position()


class Letters:
    """A token for each letter; sampling drops letters, as the seed says."""

    kind, size, padding = "letters", 41, 40

    def encode(self, text: str) -> list[int]:
        return [2 + ord(letter) % 37 for letter in text]

    def encode_batch(self, texts):
        return [self.encode(text) for text in texts]

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
    with StoreWriter(folder, vocabulary_size=tokenizers.source.size) as writer:
        ids = (each.encode_batch(texts) for each, texts in zip(tokenizers, (sources, targets), strict=True))
        writer.append(*ids, sources, targets)
        return writer.close("fingerprint")


def aligned(folder: Path, store: TokenStore, *, turned: bool = False) -> AlignmentStore:
    """Word for word; with `turned` the last word is the translation of the first in every other pair."""
    sides = SideForms({"house": ["houses"]}, ["the"]), SideForms({"haus": ["hauses"]}, ["die"])
    with AlignmentWriter(folder) as writer:
        for row in range(len(store)):
            order = list(range(len(store.text(row).source.split())))[:: -1 if turned and row % 2 == 0 else 1]
            writer.append([[Link(source, target) for source, target in enumerate(order)]])
        return writer.close("made of this", sides)


def taken(stream: Stream, count: int, position: Position = BEGINNING) -> list[tuple[Batch, Position]]:
    """Batches from a position on, each with the position after it."""
    with closing(stream.plans(position)) as plans:
        return [(plan.make(), after) for plan, after in islice(plans, count)]


def epoch_of(stream: Stream, number: int = 0) -> Iterator[Batch]:
    with closing(stream.plans(Position(number))) as plans:
        for plan, after in plans:
            yield plan.make()
            if after.epoch != number:
                return


def same(one: tuple[Batch, Position], other: tuple[Batch, Position]) -> bool:
    tensors = all(torch.equal(getattr(one[0], name), getattr(other[0], name)) for name in Batch.__slots__)
    return tensors and one[1] == other[1]
