"""An endless stream of training batches that can be resumed at any batch.

Everything is a pure function of (text, settings, position): a position is three numbers, and no random state is stored.
An epoch is divided into chunks, each of which one process cuts into batches for all. Besides a few chunks,
memory holds 16 bytes for each pair of an epoch, its order.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import count, islice, pairwise
from threading import Event
from typing import Any, NamedTuple, TypeVar

import numpy as np

from limelight.batching.batch import Batch, count_batches, cut_batches, label_batch, make_batch
from limelight.batching.drawing import Draw, Drawing, DrawnRows, Part, View, drawing, stored_rows
from limelight.batching.ragged import Ragged
from limelight.errors import UserError
from limelight.tokens import Tokenizers

T = TypeVar("T")
DRAWN_PAIRS = 2000  # pairs between cancellation checks: about a tenth of a second


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The next batch: epoch, chunk in the epoch, batch in the chunk."""

    epoch: int = 0
    chunk: int = 0
    batch: int = 0


class PlannedBatch(NamedTuple):
    """A batch that is not made yet, with what processes need to know to divide an update."""

    positions: int
    """`Batch.positions`."""
    target_tokens: int
    """`Batch.target_tokens`."""
    make: Callable[[], Batch]
    after: Position
    """The position after it."""


class Chunk(NamedTuple):
    """Batches that were cut together and are not made yet."""

    batches: Ragged
    """The numbers of the items of each batch."""
    positions: np.ndarray
    """(batches,) `Batch.positions`, for sharing batches among processes."""
    target_tokens: np.ndarray
    """(batches,) `Batch.target_tokens`."""
    items: Any = None
    """The items, unless their numbers are enough to make a batch."""


def cut_chunk(
    lengths: Sequence[np.ndarray],
    target_tokens: np.ndarray,
    items: Any,
    *,
    tokens: int,
    generator: np.random.Generator,
) -> Chunk:
    """Cut items into batches; `lengths` and `target_tokens` have a number for each item."""
    cuts = cut_batches(*lengths, tokens=tokens, generator=generator)
    positions = [len(rows) * sum(int(side[rows].max()) for side in lengths) for rows in cuts]
    batches = Ragged.of(cuts)
    sums = np.add.reduceat(target_tokens[batches.values], batches.offsets[:-1])
    return Chunk(batches, np.array(positions), sums, items)


class OneProcess:
    """The only process of a run; see `limelight.training.distributed.Group` for several."""

    rank, size = 0, 1

    def exchange(self, own: Iterator[Chunk]) -> Iterator[Chunk]:
        """The chunks of all processes in turn; `own` are those that this process makes. Called in a thread."""
        return own


ALONE = OneProcess()


class Stream(ABC):
    """Endless batches that can be resumed at any position."""

    chunks = 1
    """Number of chunks per epoch."""

    @abstractmethod
    def batches_per_epoch(self) -> float:
        """Approximate number of batches per epoch."""

    @abstractmethod
    def _make(self, position: Position, draw: Draw) -> Chunk:
        """Make the chunk that begins at a position."""

    @abstractmethod
    def _batch(self, chunk: Chunk, position: Position) -> Batch:
        """Make a batch of a chunk."""

    def _drawing(self) -> AbstractContextManager[Draw]:
        """A context with the function that varies the rows of a chunk."""
        return nullcontext(lambda parts: iter(()))

    def plans(self, position: Position, group: OneProcess = ALONE) -> Generator[PlannedBatch]:
        """From `position` on. Cheap: what takes time is `PlannedBatch.make`, and making chunks, each of
        which is made, or received, in a thread while the one before it is used.

        A process makes every `group.size`-th chunk, so all processes are at work, each on another chunk.
        """
        stopping = Event()
        with self._drawing() as drawn:

            def draw(parts: Iterable[Part]) -> Iterator[DrawnRows]:
                for rows in drawn(parts):
                    if stopping.is_set():
                        raise CancelledError
                    yield rows

            own = islice(self._starts(position), group.rank, None, group.size)
            with closing(ahead(group.exchange(self._make(start, draw) for start in own))) as chunks:
                try:
                    for (start, after), chunk in zip(pairwise(self._starts(position)), chunks, strict=True):
                        sizes = list(zip(chunk.positions.tolist(), chunk.target_tokens.tolist(), strict=True))
                        for number in range(position.batch, len(sizes)):
                            current = replace(start, batch=number)
                            is_last = number + 1 == len(sizes)
                            following = after if is_last else replace(start, batch=number + 1)
                            yield PlannedBatch(*sizes[number], partial(self._batch, chunk, current), following)
                        position = after
                finally:
                    stopping.set()

    def _starts(self, position: Position) -> Iterator[Position]:
        """The beginnings of all chunks, from the one with `position` on."""
        for number in count(position.epoch * self.chunks + position.chunk):
            yield Position(*divmod(number, self.chunks))

    def epoch(self) -> Generator[Batch]:
        """The batches of the first epoch."""
        with closing(self.plans(Position())) as plans:
            for plan in plans:
                yield plan.make()
                if plan.after.epoch:
                    return


def ahead(items: Iterator[T]) -> Generator[T]:
    """The items of an endless iterator, each computed in a thread while the one before it is used."""
    with ThreadPoolExecutor(1, "batches") as thread:
        upcoming = thread.submit(next, items)
        while True:
            item = upcoming.result()
            upcoming = thread.submit(next, items)
            yield item


class BatchStream(Stream):
    """Batches of several corpora, each seen as often as its weight says.

    Args:
        views: the corpora, each in one direction.
        tokens: budget of a batch (see `cut_batches`).
        drawing: how pairs are varied; by default they are used as stored.
        processes: number of processes that draw pairs; with 0 a thread does. The batches are the same.
        chunk_pairs: pairs that are shuffled, segmented and sorted together.

    Raises `UserError` if an epoch would be empty.
    """

    target_ends = 1
    """End tokens that are predicted after each target."""

    def __init__(
        self,
        views: Sequence[View],
        tokenizers: Tokenizers,
        *,
        tokens: int,
        seed: int,
        drawing: Drawing | None = None,
        chunk_pairs: int = 100_000,
        processes: int = 0,
    ) -> None:
        self.views, self.tokenizers, self.drawing = list(views), tokenizers, drawing or Drawing()
        self.tokens, self.seed, self.chunk_pairs, self.processes = tokens, seed, chunk_pairs, processes
        self.chunks = -(-sum(view.pairs_per_epoch for view in views) // chunk_pairs)
        self._rows_of = lru_cache(maxsize=1)(self._shuffled_rows)
        if not self.chunks:
            raise UserError(
                "there is nothing to train on: no pair is left after reading, cleaning and weighting "
                f"{', '.join(map(str, {view.weight for view in views}))}"
            )

    def batches_per_epoch(self) -> float:
        """Approximate number of batches per epoch, before variation makes some rows longer."""
        return sum(
            view.weight
            * count_batches(
                view.store.sources.lengths() + len(view.prefix) + 1,
                view.store.targets.lengths() + 1,
                tokens=self.tokens,
            )
            for view in self.views
        )

    def _drawing(self) -> AbstractContextManager[Draw]:
        return drawing(self.views, self.tokenizers, self.drawing, self.processes if self.drawing.varies else 0)

    def _make(self, position: Position, draw: Draw) -> Chunk:
        rows = self._rows_of(position.epoch)[position.chunk * self.chunk_pairs :][: self.chunk_pairs]
        generator = np.random.default_rng([self.seed, position.epoch, position.chunk + 1])
        parts = draw(_parts(rows, generator)) if self.drawing.varies else [stored_rows(self.views, rows)]
        drawn = DrawnRows(*map(Ragged.joined, zip(*parts, strict=True)))
        lengths = [side.lengths() + 1 for side in drawn]
        target_tokens = lengths[1] - 1 + self.target_ends
        return cut_chunk(lengths, target_tokens, drawn, tokens=self.tokens, generator=generator)

    def _shuffled_rows(self, epoch: int) -> np.ndarray:
        """(pairs, 2) view and row of each pair of an epoch. An epoch is shuffled once for all its chunks, as this takes
        seconds for millions of pairs."""
        generator, parts = np.random.default_rng([self.seed, epoch]), list[np.ndarray]()
        for number, view in enumerate(self.views):
            rows = view.rows_of_epoch(generator)
            parts.append(np.stack([np.full(len(rows), number), rows], axis=1))
        return generator.permutation(np.concatenate(parts))

    def _batch(self, chunk: Chunk, position: Position) -> Batch:
        return make_batch(
            *chunk.items.take(chunk.batches[position.batch]),
            source_padding=self.tokenizers.source.padding,
            target_padding=self.tokenizers.target.padding,
        )


def _parts(rows: np.ndarray, generator: np.random.Generator) -> Iterator[Part]:
    """The rows of a chunk in parts that are varied together, with their seeds."""
    for first in range(0, len(rows), DRAWN_PAIRS):
        yield rows[first : first + DRAWN_PAIRS], tuple(int(generator.integers(2**31)) for _ in range(2))


class LabelStream(BatchStream):
    """A `BatchStream` whose sources are `begun` rows and whose targets are the index of a label."""

    target_ends = 0

    def _batch(self, chunk: Chunk, position: Position) -> Batch:
        texts, labels = chunk.items.take(chunk.batches[position.batch])
        return label_batch(texts, labels.values, padding=self.tokenizers.source.padding)
