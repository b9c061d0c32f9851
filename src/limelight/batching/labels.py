"""Texts and their labels as batches, for a model that has to choose the label."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from limelight.batching.batch import Batch, Rows, make_batch
from limelight.tokens.tokenizer import END


def begun(row: Sequence[int]) -> list[int]:
    """The tokens of a text behind the end that such rows begin with; `make_batch` adds the one behind them."""
    return [END, *row]


def label_batch(texts: Rows, labels: Sequence[int] | np.ndarray, *, padding: int) -> Batch:
    """Rows as `begun` makes them, and the number of the label of each: the only thing to be predicted of a row."""
    batch = make_batch(texts, [[]] * len(texts), start=padding, end=END, source_padding=padding, target_padding=padding)
    numbers = torch.as_tensor(np.asarray(labels, dtype=np.int64))[:, None]
    return replace(batch, target_in=batch.target_in[:, :0], target_out=numbers)
