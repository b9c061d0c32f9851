"""An endless stream of training batches that can be resumed at any batch.

Everything is a pure function of (text, settings, position): a position is three numbers, and no random state is stored.
An epoch is divided into chunks, each of which one process cuts into batches for all. Memory is bounded by a few chunks,
not by the text.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from limelight.batching.batch import Batch, PlannedBatch, begun, count_batches, cut_batches, label_batch, make_batch
from limelight.batching.drawing import (
    Draw,
    Drawing,
    DrawnRows,
    Part,
    View,
    drawing_processes,
    fitting,
    stored_lengths,
    stored_rows,
    texts_of,
    varied_rows,
)
from limelight.batching.ragged import Ragged
from limelight.errors import UserError
from limelight.text.augmentation import ALIGNED
from limelight.tokens import Tokenizers
from limelight.tokens.marked import require_marks
from limelight.tokens.tokenizer import END

DRAWN_PAIRS = 2000  # pairs between cancellation checks: about a tenth of a second


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The next batch: epoch, chunk in the epoch, batch in the chunk."""

    epoch: int = 0
    chunk: int = 0
    batch: int = 0


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
    """Cut items into batches; `lengths` and `target_tokens` are those of each item."""
    cuts = cut_batches(*lengths, tokens=tokens, generator=generator)
    positions = [len(rows) * sum(int(side[rows].max()) for side in lengths) for rows in cuts]
    batches = Ragged.of_lengths(np.concatenate(cuts), np.array([len(rows) for rows in cuts]))
    sums = np.add.reduceat(target_tokens[batches.values], batches.offsets[:-1])
    return Chunk(batches, np.array(positions), sums, items)


class Relay:
    """Passes chunks from the process that makes them to the others. This one is for a single process."""

    rank, size = 0, 1

    def pass_on(self, chunk: Chunk | None, maker: int) -> Chunk | None:
        """The chunk of the process `maker`; None if it has stopped. All processes call this in the same order."""
        return chunk


ALONE = Relay()


class Stream(ABC):
    """Endless batches that can be resumed at any position."""

    chunks = 1
    """Number of chunks per epoch."""

    @abstractmethod
    def batches_per_epoch(self) -> float:
        """Approximate number of batches per epoch."""

    @abstractmethod
    def _batch(self, chunk: Chunk, place: Position) -> Batch:
        """Make a batch of a chunk."""

    @abstractmethod
    def _make(self, place: Position, draw: Draw | None = None) -> Chunk:
        """Make the chunk that begins at a position; `draw` varies its rows."""

    def _making(self, stopping: Event) -> AbstractContextManager[Callable[[Position], Chunk]]:
        """A context with the function that makes chunks, which may raise `CancelledError` when `stopping`."""
        return nullcontext(self._make)

    def plans(self, position: Position, relay: Relay = ALONE) -> Generator[tuple[PlannedBatch, Position]]:
        """From `position` on, each with the position after it. Cheap: what takes time is `PlannedBatch.make`."""
        with closing(self._chunks(position, relay)) as chunks:
            for chunk, following in chunks:
                for number in range(position.batch, len(chunk.batches)):
                    here, after = (Position(position.epoch, position.chunk, batch) for batch in (number, number + 1))
                    plan = PlannedBatch(
                        int(chunk.positions[number]),
                        int(chunk.target_tokens[number]),
                        partial(self._batch, chunk, here),
                    )
                    yield plan, following if after.batch == len(chunk.batches) else after
                position = following

    def batches(self, position: Position) -> Generator[tuple[Batch, Position]]:
        """`plans`, made."""
        with closing(self.plans(position)) as plans:
            for plan, after in plans:
                yield plan.make(), after

    def epoch(self) -> Generator[Batch]:
        """The batches of the first epoch."""
        with closing(self.batches(Position())) as batches:
            for batch, after in batches:
                yield batch
                if after.epoch:
                    return

    def _chunks(self, position: Position, relay: Relay) -> Generator[tuple[Chunk, Position]]:
        """Each chunk, with the position after it. The next one is made, or received, in another thread.

        A process makes every `relay.size`-th chunk, and begins when its previous one is in use: so all processes are
        at work, each on another chunk.
        """
        stopping, own = Event(), islice(self._places(position), relay.rank, None, relay.size)
        with ThreadPoolExecutor(2, "batches") as threads, self._making(stopping) as make:
            making = threads.submit(make, next(own))

            def receive(number: int) -> Chunk | None:
                nonlocal making
                chunk, maker = None, number % relay.size
                try:
                    if number and (number - 1) % relay.size == relay.rank:
                        making = threads.submit(make, next(own))
                    if maker == relay.rank:
                        chunk = making.result()
                except Exception:
                    if not stopping.is_set():  # otherwise the other processes, too, stop after this exchange
                        raise
                return relay.pass_on(chunk, maker)

            try:
                upcoming: Future[Chunk | None] = threads.submit(receive, 0)
                for number, following in enumerate(islice(self._places(position), 1, None), 1):
                    chunk = upcoming.result()
                    assert chunk is not None
                    upcoming = threads.submit(receive, number)
                    yield chunk, following
            finally:
                stopping.set()

    def _places(self, position: Position) -> Iterator[Position]:
        """The beginnings of the chunks from the one of `position` on."""
        for epoch in count(position.epoch):
            for chunk in range(position.chunk if epoch == position.epoch else 0, self.chunks):
                yield Position(epoch, chunk)


class BatchStream(Stream):
    """Batches of several corpora, each seen as often as its weight says.

    Args:
        views: the corpora, each in one direction.
        tokens: budget of a batch (see `cut_batches`).
        drawing: how pairs are varied; by default they are used as stored.
        processes: number of processes that draw pairs; with 0 a thread does. The batches are the same.
        chunk_pairs: pairs that are shuffled, segmented and sorted together.

    Raises `UserError` if an epoch would be empty, and for marks that the vocabulary or the corpora do not support.
    """

    seeds = 2
    """Seeds that a part of a chunk is varied with: one for each side."""
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
        if not any(round(view.weight * len(view.store)) for view in views):
            raise UserError(
                "there is nothing to train on: no pair is left after reading, cleaning and weighting "
                f"{', '.join(map(str, {view.weight for view in views}))}"
            )
        if drawing and drawing.aligns and any(view.alignment is None for view in views):
            raise UserError(
                f"augmentation.{', augmentation.'.join(ALIGNED)} need word alignments, and there are none for these "
                "corpora: set them to 0"
            )
        for tokenizer in tokenizers if drawing and drawing.marks else ():
            require_marks(tokenizer)
        self.views, self.tokenizers, self.drawing = list(views), tokenizers, drawing or Drawing()
        self.tokens, self.seed, self.chunk_pairs = tokens, seed, chunk_pairs
        self.processes = processes if self.drawing.varies else 0
        pairs = sum(copies * len(view.store) + rest for view in views for copies, rest in [_copies(view)])
        self.chunks = -(-pairs // chunk_pairs)
        self._shuffled = -1, np.empty((0, 2), np.int64)

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

    @contextmanager
    def _making(self, stopping: Event) -> Iterator[Callable[[Position], Chunk]]:
        def draw(parts: Iterable[Part]) -> Iterator[DrawnRows]:
            for rows, seeds in parts:
                if stopping.is_set():
                    raise CancelledError
                yield self._varied(rows, seeds)

        if not self.processes:
            yield partial(self._make, draw=draw)
            return
        with drawing_processes(self.views, self.tokenizers, self.drawing, self.processes) as draw_there:
            yield partial(self._make, draw=draw_there)

    def _make(self, place: Position, draw: Draw | None = None) -> Chunk:
        rows = self._rows_at(place)
        generator = np.random.default_rng([self.seed, place.epoch, place.chunk + 1])
        items: np.ndarray | DrawnRows = rows
        if draw and self.drawing.varies:
            sides = zip(*draw(self._parts(rows, generator)), strict=True)
            items = DrawnRows(*(Ragged.joined(side).narrow() for side in sides))
            lengths = [side.lengths() + 1 for side in items]
        else:
            lengths = [side + 1 for side in stored_lengths(self.views, rows)]
        target_tokens = lengths[1] - 1 + self.target_ends
        return cut_chunk(lengths, target_tokens, items, tokens=self.tokens, generator=generator)

    def _rows_at(self, place: Position) -> np.ndarray:
        """(pairs, 2) view and row of each pair of a chunk. An epoch is shuffled once for all its chunks, as this takes
        seconds for millions of pairs: whole copies for the integer part of a weight, a random part for the rest."""
        if self._shuffled[0] != place.epoch:
            generator = np.random.default_rng([self.seed, place.epoch])
            parts = []
            for number, view in enumerate(self.views):
                copies, rest = _copies(view)
                some = generator.permutation(len(view.store))[:rest]
                rows = np.concatenate([np.tile(np.arange(len(view.store)), copies), some])
                parts.append(np.stack([np.full(len(rows), number), rows], axis=1))
            self._shuffled = place.epoch, generator.permutation(np.concatenate(parts).astype(np.int64))
        first = place.chunk * self.chunk_pairs
        return self._shuffled[1][first : first + self.chunk_pairs]

    def _parts(self, rows: np.ndarray, generator: np.random.Generator) -> Iterator[Part]:
        """The rows of a chunk in parts that are varied together, with their seeds."""
        for first in range(0, len(rows), DRAWN_PAIRS):
            yield rows[first : first + DRAWN_PAIRS], tuple(int(generator.integers(2**31)) for _ in range(self.seeds))

    def _varied(self, rows: np.ndarray, seeds: tuple[int, ...]) -> DrawnRows:
        return varied_rows(self.views, rows, self.tokenizers, self.drawing, seeds)

    def _drawn(self, chunk: Chunk, place: Position) -> DrawnRows:
        """The rows of a batch."""
        rows = chunk.batches[place.batch]
        if isinstance(chunk.items, DrawnRows):
            return DrawnRows(*(side.take(rows) for side in chunk.items))
        return stored_rows(self.views, chunk.items[rows])

    def _batch(self, chunk: Chunk, place: Position) -> Batch:
        padding = self.tokenizers.target.padding
        return make_batch(
            *self._drawn(chunk, place),
            start=padding,
            end=END,
            source_padding=self.tokenizers.source.padding,
            target_padding=padding,
        )


def _copies(view: View) -> tuple[int, int]:
    """How often an epoch has all pairs of a corpus, and the number of further pairs."""
    copies, rest = divmod(view.weight, 1)
    return int(copies), round(rest * len(view.store))


class LabelStream(BatchStream):
    """A `BatchStream` whose sources are `begun` rows and whose targets are the index of a label."""

    seeds, target_ends = 1, 0

    def _varied(self, rows: np.ndarray, seeds: tuple[int, ...]) -> DrawnRows:
        """Resample the subwords of the texts; a row that becomes too long keeps its stored tokens. Labels do not
        change."""
        stored, how = stored_rows(self.views, rows), self.drawing
        texts = [pair.source for pair in texts_of(self.views, rows)]
        drawn = self.tokenizers.source.encode_sampled(texts, amount=how.sampling, seed=seeds[0])
        fresh = Ragged.of([begun(row) for row in drawn])
        return DrawnRows(fitting(fresh, stored.sources, fresh.lengths() < how.max_length), stored.targets)

    def _batch(self, chunk: Chunk, place: Position) -> Batch:
        texts, labels = self._drawn(chunk, place)
        return label_batch(texts, labels.values, padding=self.tokenizers.source.padding)
