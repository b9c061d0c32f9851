"""Texts with their labels as batches."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from limelight.batching.batch import Batch, Rows, make_batch
from limelight.batching.drawing import DrawnRows, stored_rows, texts_of
from limelight.batching.stream import BatchStream, Chunk
from limelight.tokens.tokenizer import END


def begun(row: Sequence[int]) -> list[int]:
    """The tokens of a text behind the end that such rows begin with; `make_batch` adds the one behind them."""
    return [END, *row]


def label_batch(texts: Rows, labels: Sequence[int] | np.ndarray, *, padding: int) -> Batch:
    """Rows as `begun` makes them, and the number of the label of each: the only thing to be predicted of a row."""
    batch = make_batch(texts, [[]] * len(texts), start=padding, end=END, source_padding=padding, target_padding=padding)
    numbers = torch.as_tensor(np.asarray(labels, dtype=np.int64))[:, None]
    return replace(batch, target_in=batch.target_in[:, :0], target_out=numbers)


class LabelStream(BatchStream):
    """A `BatchStream` of corpora whose sources are `begun` rows and whose targets are the number of a label each."""

    def _varied(self, rows: np.ndarray, generator: np.random.Generator) -> DrawnRows:
        """Segment the texts anew; one that gets too long keeps its stored tokens. Labels stay what they are."""
        stored, how = stored_rows(self.views, rows), self.drawing
        texts = [pair.source for pair in texts_of(self.views, rows)]
        drawn = self.tokenizers.source.encode_sampled(texts, amount=how.sampling, seed=int(generator.integers(2**31)))
        fresh = [np.asarray(begun(row), dtype=np.int64) for row in drawn]
        fitting = [row if len(row) < how.max_length else old for row, old in zip(fresh, stored.sources, strict=True)]
        return DrawnRows(fitting, stored.targets)

    def _batch(self, chunk: Chunk, number: int) -> Batch:
        rows = chunk.batches[number]
        return label_batch(
            [chunk.sources[row] for row in rows],
            [int(chunk.targets[row][0]) for row in rows],
            padding=self.tokenizers.source.padding,
        )
