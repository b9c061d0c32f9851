"""An endless stream of training batches that can be resumed at any batch.

Everything is a pure function of (corpora, seed, position): a position is three numbers, and no random state is stored.
Memory is bounded by a chunk, not by the corpus.
"""

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from threading import Event

import numpy as np

from limelight.batching.batch import Batch, PlannedBatch, begun, count_batches, cut_batches, label_batch, make_batch
from limelight.batching.drawing import (
    Drawing,
    DrawingPool,
    DrawnRows,
    View,
    fitting,
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


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pairs that are shuffled, segmented and cut into batches together."""

    rows: DrawnRows
    batches: list[np.ndarray]


class _Production:
    """The processes that make the chunks of one iterator, and whether it was closed."""

    def __init__(self) -> None:
        self.cancelled = Event()
        self.drawers: DrawingPool | None = None

    def end(self) -> None:
        self.cancelled.set()
        if self.drawers is not None:
            self.drawers.close()


class Stream(ABC):
    """Endless batches that can be resumed at any position."""

    @abstractmethod
    def plans(self, position: Position) -> Generator[tuple[PlannedBatch, Position]]:
        """From `position` on, each with the position after it. Cheap: what takes time is `PlannedBatch.make`."""

    @abstractmethod
    def batches_per_epoch(self) -> float:
        """Approximate number of batches per epoch."""

    def batches(self, position: Position) -> Generator[tuple[Batch, Position]]:
        """`plans`, made."""
        with closing(self.plans(position)) as plans:
            for plan, after in plans:
                yield plan.make(), after


class BatchStream(Stream):
    """Batches of several corpora, each seen as often as its weight says.

    Args:
        views: the corpora, each in one direction.
        tokens: budget of a batch (see `cut_batches`).
        drawing: how pairs are varied; by default they are used as stored.
        processes: number of processes that draw pairs; with 0 the batching thread does. The batches are the same.
        chunk_pairs: pairs that are shuffled, segmented and sorted together.

    Raises `UserError` if an epoch would be empty, and for marks that the vocabulary or the corpora do not support.
    """

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
        if not any(len(view.store) for view in views):
            raise UserError("there is nothing to train on: no pair is left after reading and cleaning")
        if not any(round(view.weight * len(view.store)) for view in views):
            raise UserError(
                f"the weights {[view.weight for view in views]} leave no pair to train on: give one of the corpora a "
                "larger one"
            )
        if drawing and drawing.aligns:
            _require_alignments(views)
        for tokenizer in tokenizers if drawing and drawing.marks else ():
            require_marks(tokenizer)
        self.views, self.tokenizers, self.drawing = list(views), tokenizers, drawing or Drawing()
        self.tokens, self.seed, self.chunk_pairs = tokens, seed, chunk_pairs
        self.processes = processes if self.drawing.varies else 0

    def plans(self, position: Position) -> Generator[tuple[PlannedBatch, Position]]:
        """The next chunk is made in a background thread, which ends with the iterator, as do the processes."""
        making = _Production()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches") as pool:
            try:
                if self.processes:
                    making.drawers = DrawingPool(self.views, self.tokenizers, self.drawing, processes=self.processes)
                upcoming = pool.submit(self._chunk_at, position, None, making)
                while True:
                    chunk, following, rows = upcoming.result()
                    upcoming = pool.submit(self._chunk_at, following, rows, making)
                    for number in range(position.batch, len(chunk.batches)):
                        after = Position(position.epoch, position.chunk, number + 1)
                        last = number + 1 == len(chunk.batches)
                        yield self._plan(chunk.rows, chunk.batches[number]), following if last else after
                    position = following
            finally:
                making.end()

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

    def first_parts(self) -> Iterator[tuple[np.ndarray, tuple[int, int]]]:
        """The rows of the first chunk with their seeds, in the parts that `varied_rows` gets."""
        generator = np.random.default_rng([self.seed, 0, 1])
        for rows in _parts(self._epoch_rows(0)[: self.chunk_pairs]):
            yield rows, _seeds(generator)

    def _chunk_at(
        self, place: Position, rows: np.ndarray | None, making: _Production
    ) -> tuple[Chunk, Position, np.ndarray | None]:
        """A chunk, the position of the next one, and the rows of the epoch if that is the same. They are shuffled once
        for all chunks, as this takes seconds for millions of pairs."""
        rows = self._epoch_rows(place.epoch) if rows is None else rows
        first = place.chunk * self.chunk_pairs
        seeds = [self.seed, place.epoch, place.chunk + 1]
        chunk = self._make_chunk(rows[first : first + self.chunk_pairs], seeds, making)
        if first + self.chunk_pairs < len(rows):
            return chunk, Position(place.epoch, place.chunk + 1), rows
        return chunk, Position(place.epoch + 1), None

    def _epoch_rows(self, epoch: int) -> np.ndarray:
        """(pairs, 2) view and row, shuffled: whole copies for the integer part of a weight, a random part for the
        rest."""
        generator = np.random.default_rng([self.seed, epoch])
        parts = []
        for number, (store, weight, *_) in enumerate(self.views):
            copies, rest = divmod(weight, 1)
            some = generator.permutation(len(store))[: round(rest * len(store))]
            rows = np.concatenate([*[np.arange(len(store))] * int(copies), some])
            parts.append(np.stack([np.full(len(rows), number), rows], axis=1))
        return generator.permutation(np.concatenate(parts).astype(np.int64))

    def _make_chunk(self, rows: np.ndarray, seeds: list[int], making: _Production) -> Chunk:
        generator = np.random.default_rng(seeds)
        if self.drawing.varies:
            drawn = list(self._varied_parts(_parts(rows), generator, making))
            found = DrawnRows(*(Ragged.joined(sides) for sides in zip(*drawn, strict=True)))
        else:
            found = stored_rows(self.views, rows)
        lengths = [side.lengths() + 1 for side in found]
        return Chunk(found, cut_batches(*lengths, tokens=self.tokens, generator=generator))

    def _varied_parts(
        self, parts: Sequence[np.ndarray], generator: np.random.Generator, making: _Production
    ) -> Iterator[DrawnRows]:
        """The parts of a chunk, drawn in other processes or here; the order of the seeds is the same."""
        if making.drawers is not None:
            upcoming = [making.drawers.draw(rows, _seeds(generator)) for rows in parts]
            yield from (future.result() for future in upcoming)
            return
        for rows in parts:
            yield self._varied(rows, generator)
            if making.cancelled.is_set():
                raise CancelledError

    def _varied(self, rows: np.ndarray, generator: np.random.Generator) -> DrawnRows:
        return varied_rows(self.views, rows, self.tokenizers, self.drawing, _seeds(generator))

    def _plan(self, drawn: DrawnRows, rows: np.ndarray) -> PlannedBatch:
        lengths = [side.lengths_of(rows) + 1 for side in drawn]
        positions = len(rows) * sum(int(side.max()) for side in lengths)
        return PlannedBatch(positions, int(lengths[1].sum()), lambda: self._batch(drawn, rows))

    def _batch(self, drawn: DrawnRows, rows: np.ndarray) -> Batch:
        padding = self.tokenizers.target.padding
        return make_batch(
            drawn.sources.take(rows),
            drawn.targets.take(rows),
            start=padding,
            end=END,
            source_padding=self.tokenizers.source.padding,
            target_padding=padding,
        )


def _parts(rows: np.ndarray) -> list[np.ndarray]:
    """The rows of a chunk in parts that are varied together."""
    return [rows[first : first + DRAWN_PAIRS] for first in range(0, len(rows), DRAWN_PAIRS)]


def _require_alignments(views: Sequence[View]) -> None:
    if any(view.alignment is None for view in views):
        raise UserError(
            f"augmentation.{', augmentation.'.join(ALIGNED)} need word alignments, and there are none for these "
            "corpora: set them to 0"
        )


def _seeds(generator: np.random.Generator) -> tuple[int, int]:
    """One seed for each side of a part."""
    return int(generator.integers(2**31)), int(generator.integers(2**31))


class LabelStream(BatchStream):
    """A `BatchStream` whose sources are `begun` rows and whose targets are the index of a label."""

    def _varied(self, rows: np.ndarray, generator: np.random.Generator) -> DrawnRows:
        """Resample the subwords of the texts; a row that becomes too long keeps its stored tokens. Labels do not
        change."""
        stored, how = stored_rows(self.views, rows), self.drawing
        texts = [pair.source for pair in texts_of(self.views, rows)]
        drawn = self.tokenizers.source.encode_sampled(texts, amount=how.sampling, seed=int(generator.integers(2**31)))
        fresh = Ragged.of([begun(row) for row in drawn])
        return DrawnRows(fitting(fresh, stored.sources, fresh.lengths() < how.max_length), stored.targets)

    def _plan(self, drawn: DrawnRows, rows: np.ndarray) -> PlannedBatch:
        width = int(drawn.sources.lengths_of(rows).max()) + 1
        return PlannedBatch(len(rows) * (width + 1), len(rows), lambda: self._batch(drawn, rows))

    def _batch(self, drawn: DrawnRows, rows: np.ndarray) -> Batch:
        labels = drawn.targets.take(rows).values
        return label_batch(drawn.sources.take(rows), labels, padding=self.tokenizers.source.padding)
