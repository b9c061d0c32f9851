"""An endless stream of training batches that can be taken up again at any batch.

Everything in it is a pure function of (corpora, seed, position): a position is three numbers, and nothing random is
ever stored. Memory is bounded by a chunk, not by the corpus.
"""

from collections.abc import Generator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event

import numpy as np

from limelight.batching.batch import Batch, make_batch
from limelight.batching.bucketing import cut_batches
from limelight.batching.store import TokenStore
from limelight.errors import UserError
from limelight.tokens import Tokenizers
from limelight.tokens.tokenizer import END

SAMPLED_TOGETHER = 2000  # pairs between two looks at whether anybody still wants them: about a tenth of a second


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The next batch to be seen: its place in the chunk, the chunk's in the epoch."""

    epoch: int = 0
    chunk: int = 0
    batch: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """Pairs that were shuffled, segmented and cut into batches together."""

    sources: list[np.ndarray]
    targets: list[np.ndarray]
    batches: list[np.ndarray]


class BatchStream:
    """Batches of several corpora, each seen as often as its weight says.

    Args:
        stores: one tokenised corpus each; `weights` run in step with them.
        tokens: budget of a batch (see `cut_batches`).
        chunk_pairs: pairs shuffled, segmented and sorted together.
        sampling: amount of sub-word sampling; 0 takes the stored pieces.
        max_length: a sampled segmentation longer than this, the end piece counted, is replaced by the stored one.

    Raises `UserError` when an epoch would be empty.
    """

    def __init__(
        self,
        stores: Sequence[TokenStore],
        weights: Sequence[float],
        tokenizers: Tokenizers,
        *,
        tokens: int,
        seed: int,
        chunk_pairs: int = 100_000,
        sampling: float = 0.0,
        max_length: int = 256,
    ) -> None:
        if not any(len(store) for store in stores):
            raise UserError("there is nothing to train on: no pair is left after reading and cleaning")
        if not any(round(weight * len(store)) for store, weight in zip(stores, weights, strict=True)):
            raise UserError(
                f"the weights {list(weights)} leave no pair to train on: give one of the corpora a larger one"
            )
        self.stores, self.weights, self.tokenizers = list(stores), list(weights), tokenizers
        self.tokens, self.seed, self.chunk_pairs = tokens, seed, chunk_pairs
        self.sampling, self.max_length = sampling, max_length

    def batches(self, position: Position) -> Generator[tuple[Batch, Position]]:
        """From `position` on for ever: each batch with the position after it.

        The next chunk is made in a thread beside the training; it ends with the iterator (`close`).
        """
        unwanted = Event()
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="batches") as pool:
            try:
                upcoming = pool.submit(self._chunk_at, position, None, unwanted)
                while True:
                    chunk, following, rows = upcoming.result()
                    upcoming = pool.submit(self._chunk_at, following, rows, unwanted)
                    for number in range(position.batch, len(chunk.batches)):
                        after = Position(position.epoch, position.chunk, number + 1)
                        last = number + 1 == len(chunk.batches)
                        yield self._batch(chunk, number), following if last else after
                    position = following
            finally:
                unwanted.set()

    def _chunk_at(
        self, place: Position, rows: np.ndarray | None, unwanted: Event
    ) -> tuple[Chunk, Position, np.ndarray | None]:
        """A chunk, where the one after it stands, and the rows of the epoch if that is the same; shuffled once for all
        its chunks, as millions of pairs take seconds."""
        rows = self._epoch_rows(place.epoch) if rows is None else rows
        first = place.chunk * self.chunk_pairs
        seeds = [self.seed, place.epoch, place.chunk + 1]
        chunk = self._make_chunk(rows[first : first + self.chunk_pairs], seeds, unwanted)
        if first + self.chunk_pairs < len(rows):
            return chunk, Position(place.epoch, place.chunk + 1), rows
        return chunk, Position(place.epoch + 1), None

    def _epoch_rows(self, epoch: int) -> np.ndarray:
        """(pairs, 2) corpus and row, shuffled: whole copies for whole weights, a fresh part for the rest."""
        generator = np.random.default_rng([self.seed, epoch])
        parts = []
        for corpus, (store, weight) in enumerate(zip(self.stores, self.weights, strict=True)):
            copies, rest = divmod(weight, 1)
            some = generator.permutation(len(store))[: round(rest * len(store))]
            rows = np.concatenate([*[np.arange(len(store))] * int(copies), some])
            parts.append(np.stack([np.full(len(rows), corpus), rows], axis=1))
        return generator.permutation(np.concatenate(parts).astype(np.int64))

    def _make_chunk(self, rows: np.ndarray, seeds: list[int], unwanted: Event) -> Chunk:
        generator = np.random.default_rng(seeds)
        sources, targets = self._stored(rows)
        if self.sampling:
            for first in range(0, len(rows), SAMPLED_TOGETHER):
                some = slice(first, first + SAMPLED_TOGETHER)
                sources[some], targets[some] = self._sampled(rows[some], sources[some], targets[some], generator)
                if unwanted.is_set():
                    raise CancelledError
        lengths = [np.array([len(row) + 1 for row in side]) for side in (sources, targets)]
        return Chunk(sources, targets, cut_batches(*lengths, tokens=self.tokens, generator=generator))

    def _stored(self, rows: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        stores = self.stores
        return (
            [stores[corpus].sources[row] for corpus, row in rows],
            [stores[corpus].targets[row] for corpus, row in rows],
        )

    def _sampled(
        self, rows: np.ndarray, sources: list[np.ndarray], targets: list[np.ndarray], generator: np.random.Generator
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Segment anew; a side that gets too long keeps its stored pieces."""
        sides = []
        for texts, stored, tokenizer in zip(self._texts(rows), (sources, targets), self.tokenizers, strict=True):
            seed = int(generator.integers(2**31))
            drawn = tokenizer.encode_sampled(texts, amount=self.sampling, seed=seed)
            sides.append(
                [
                    np.asarray(fresh, dtype=np.int64) if len(fresh) < self.max_length else kept
                    for fresh, kept in zip(drawn, stored, strict=True)
                ]
            )
        return sides[0], sides[1]

    def _texts(self, rows: np.ndarray) -> tuple[list[str], list[str]]:
        """Texts of rows that lie in several corpora, in the order of the rows."""
        sources, targets = [""] * len(rows), [""] * len(rows)
        for corpus, store in enumerate(self.stores):
            places = np.flatnonzero(rows[:, 0] == corpus)
            for place, source, target in zip(places, *store.texts(rows[places, 1]), strict=True):
                sources[place], targets[place] = source, target
        return sources, targets

    def _batch(self, chunk: Chunk, number: int) -> Batch:
        rows = chunk.batches[number]
        padding = self.tokenizers.target.padding
        return make_batch(
            [chunk.sources[row] for row in rows],
            [chunk.targets[row] for row in rows],
            start=padding,
            end=END,
            source_padding=self.tokenizers.source.padding,
            target_padding=padding,
        )
