"""Texts and their labels as batches, for a model that has to choose the label."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from limelight.batching.batch import Batch, Rows, make_batch
from limelight.batching.stream import BatchStream, Chunk
from limelight.tokens.tokenizer import END


def begun(row: Sequence[int]) -> list[int]:
    """The pieces of a text behind the end that such rows begin with; `make_batch` adds the one behind them."""
    return [END, *row]


def label_batch(texts: Rows, labels: Sequence[int] | np.ndarray, *, padding: int) -> Batch:
    """Rows as `begun` makes them, and the number of the label of each: the only thing to be predicted of a row."""
    batch = make_batch(texts, [[]] * len(texts), start=padding, end=END, source_padding=padding, target_padding=padding)
    numbers = torch.as_tensor(np.asarray(labels, dtype=np.int64))[:, None]
    return replace(batch, target_in=batch.target_in[:, :0], target_out=numbers)


class LabelStream(BatchStream):
    """A `BatchStream` of corpora whose sources are `begun` rows and whose targets are the number of a label each."""

    def _sampled(
        self, rows: np.ndarray, sources: list[np.ndarray], targets: list[np.ndarray], generator: np.random.Generator
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Segment the texts anew; one that gets too long keeps its stored pieces. Labels stay what they are."""
        seed = int(generator.integers(2**31))
        drawn = self.tokenizers.source.encode_sampled(self._texts(rows)[0], amount=self.sampling, seed=seed)
        fresh = [np.asarray(begun(row), dtype=np.int64) for row in drawn]
        return [row if len(row) < self.max_length else kept for row, kept in zip(fresh, sources, strict=True)], targets

    def _batch(self, chunk: Chunk, number: int) -> Batch:
        rows = chunk.batches[number]
        return label_batch(
            [chunk.sources[row] for row in rows],
            [int(chunk.targets[row][0]) for row in rows],
            padding=self.tokenizers.source.padding,
        )
