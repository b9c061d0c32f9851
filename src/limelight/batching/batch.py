"""From rows of ids to tensors. The only place that shifts the target right."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from limelight.shapes import Bool, Int

Rows = Sequence[Sequence[int | np.integer] | np.ndarray]


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentence pairs, padded at the end.

    The decoder reads `target_in` (start, y_1 ... y_n) and shall predict what stands in the same place of `target_out`
    (y_1 ... y_n, end). Where there is no decoder `target_in` is empty.
    """

    source: Int[Tensor, "batch source"]
    source_valid: Bool[Tensor, "batch source"]
    target_in: Int[Tensor, "batch read"]
    target_out: Int[Tensor, "batch target"]
    target_valid: Bool[Tensor, "batch target"]

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device. To a CUDA GPU it is copied from pinned memory, so that nobody waits for the
        copy; from other memory, and to other devices, a copy that is not waited for is none, or not safe."""
        if device.type != "cuda":
            return Batch(*(getattr(self, name).to(device) for name in self.__slots__))
        return Batch(*(getattr(self, name).pin_memory().to(device, non_blocking=True) for name in self.__slots__))

    @property
    def target_pieces(self) -> int:
        """Predicted tokens, end included: what losses are divided by and speeds are counted in."""
        return int(self.target_valid.sum())


def make_batch(
    sources: Rows, targets: Rows, *, start: int, end: int, source_padding: int, target_padding: int
) -> Batch:
    """Pad the sources and shift the targets. Rows come without special ids; both sides get `end` at their end."""
    first, last = np.array([start]), np.array([end])
    read, written = ([np.asarray(row, dtype=np.int64) for row in side] for side in (sources, targets))
    source, source_valid = pad_rows([np.concatenate([row, last]) for row in read], source_padding)
    target_in, _ = pad_rows([np.concatenate([first, row]) for row in written], target_padding)
    target_out, target_valid = pad_rows([np.concatenate([row, last]) for row in written], target_padding)
    return Batch(source, source_valid, target_in, target_out, target_valid)


def make_blocks(rows: np.ndarray) -> Batch:
    """Blocks of plain text, without a source and without padding.

    Args:
        rows: (batch, block + 1) ids. Each of a row's ids but the first is to be predicted from those before it.
    """
    ids = torch.from_numpy(rows.astype(np.int64))
    nothing = ids[:, :0]
    target_in, target_out = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    return Batch(nothing, nothing.bool(), target_in, target_out, torch.ones_like(target_out, dtype=torch.bool))


def pad_rows(rows: Rows, padding: int) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]:
    """Rows of ids as one tensor padded at the end, and which of its places hold a real id."""
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    valid = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(valid.shape, padding, dtype=np.int64)
    ids[valid] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows]) if len(rows) else []
    return torch.from_numpy(ids), torch.from_numpy(valid)
