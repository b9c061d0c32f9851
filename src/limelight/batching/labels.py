"""Batches of texts with labels, for classifiers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from limelight.batching.batch import Batch, Rows, make_batch
from limelight.tokens.tokenizer import END


def begun(row: Sequence[int]) -> list[int]:
    """The tokens of a text with an end token before them; `make_batch` appends the other one."""
    return [END, *row]


def label_batch(texts: Rows, labels: Sequence[int] | np.ndarray, *, padding: int) -> Batch:
    """A batch of `begun` rows, with the index of each row's label as the only target."""
    batch = make_batch(texts, [[]] * len(texts), start=padding, end=END, source_padding=padding, target_padding=padding)
    numbers = torch.as_tensor(np.asarray(labels, dtype=np.int64))[:, None]
    return replace(batch, target_in=batch.target_in[:, :0], target_out=numbers)
