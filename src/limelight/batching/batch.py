"""Batches: grouping rows by length, and padding them to tensors. Targets are shifted only here.

A padded position costs as much as a real one. Sorting by one side leaves the padding of the other side, so the pairs
are split recursively, each time along the side and at the length that saves most, until every part fits. Batches are
about four fifths full on average: fuller ones would need longer rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from limelight.shapes import Bool, Int
from limelight.tokens.tokenizer import END

Lengths = np.ndarray
"""(pairs,) integers: tokens of each sentence, the end token included."""

_PADDING = 1.06  # expected positions per real token, for estimating the number of batches of a part
_UNFILLED = 0.2  # cost of an expected extra batch, relative to the positions it saves
_MIN_SHARE = 0.25  # minimum share of the tokens in a part, which bounds the depth of the recursion
_COUNTED = 20_000  # pairs from which the number of batches is estimated
_FREEDOM = 0.001  # relative noise of costs, so that batches differ between epochs


def cut_batches(
    source_lengths: Lengths, target_lengths: Lengths, *, tokens: int, generator: np.random.Generator
) -> list[np.ndarray]:
    """Row numbers of each batch, in a random order that depends only on the generator.

    Pairs of equal length are also grouped at random. 100,000 pairs take about a quarter of a second.

    Args:
        tokens: budget of a batch, as rows times the longest side, padding included. A pair that exceeds the budget is a
            batch of its own.
    """
    rows = generator.permutation(len(source_lengths))  # a stable sort keeps the random order of equal lengths
    longest = np.maximum(source_lengths, target_lengths)
    batches, parts = [], [rows] if len(rows) else []
    while parts:
        part = parts.pop()
        if len(part) == 1 or len(part) * int(longest[part].max()) <= tokens:
            batches.append(part)
        else:
            parts += _divide(part, source_lengths, target_lengths, tokens, generator)
    return [batches[number] for number in generator.permutation(len(batches))]


def _divide(
    rows: np.ndarray, source_lengths: Lengths, target_lengths: Lengths, tokens: int, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Two parts, split along the side where it saves more."""
    noise = 1 + _FREEDOM * generator.random(len(rows) - 1)
    orders = [rows[np.argsort(side[rows], kind="stable")] for side in (source_lengths, target_lengths)]
    costs = [noise * _costs(source_lengths[order], target_lengths[order], tokens) for order in orders]
    cost, order = min(zip(costs, orders, strict=True), key=lambda each: each[0].min())
    first = int(cost.argmin()) + 1
    return order[:first], order[first:]


def _costs(sources: Lengths, targets: Lengths, tokens: int) -> np.ndarray:
    """(pairs - 1,) cost of a split after each pair: the positions of both parts, and batches that are not filled."""
    left = np.arange(1, len(sources))
    right = left[::-1]
    widths = np.maximum.accumulate(sources) + np.maximum.accumulate(targets)
    widths_behind = (np.maximum.accumulate(sources[::-1]) + np.maximum.accumulate(targets[::-1]))[::-1]
    places = left * widths[:-1] + right * widths_behind[1:]

    counts = np.cumsum(np.maximum(sources, targets))
    batches = counts * (_PADDING / tokens)
    needed = np.ceil(batches[:-1]) + np.ceil(batches[-1] - batches[:-1])
    cost = places * (1 + _UNFILLED * (needed / batches[-1] - 1))
    share = counts[:-1] / counts[-1]
    even = (share >= _MIN_SHARE) & (share <= 1 - _MIN_SHARE)
    return np.where(even, cost, np.inf) if even.any() else cost


def count_batches(source_lengths: Lengths, target_lengths: Lengths, *, tokens: int) -> float:
    """Approximate number of batches that `cut_batches` makes, estimated from at most 20,000 pairs."""
    rows = np.linspace(0, len(source_lengths) - 1, min(len(source_lengths), _COUNTED)).astype(np.int64)
    cuts = cut_batches(source_lengths[rows], target_lengths[rows], tokens=tokens, generator=np.random.default_rng(0))
    return len(cuts) * len(source_lengths) / max(1, len(rows))


Rows = Sequence[Sequence[int | np.integer] | np.ndarray]
"""Token ids of each sentence of a batch."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentence pairs, padded at the end.

    The decoder reads `target_in` (start, y_1 ... y_n) and predicts `target_out` (y_1 ... y_n, end) at the same
    positions. For models without a decoder `target_in` is empty.
    """

    source: Int[Tensor, "batch source"]
    source_valid: Bool[Tensor, "batch source"]
    target_in: Int[Tensor, "batch read"]
    target_out: Int[Tensor, "batch target"]
    target_valid: Bool[Tensor, "batch target"]
    target_places: Int[Tensor, " rows"] | None = None
    """Indices of `target_valid` in flattened order; only on a GPU, where computing them would synchronize."""

    def to(self, device: torch.device) -> "Batch":
        """The batch on another device. It is copied to a CUDA GPU from pinned memory, so that no thread waits; from
        other memory, and to other devices, an asynchronous copy is not safe."""
        here = self.source, self.source_valid, self.target_in, self.target_out, self.target_valid
        if device.type != "cuda":
            there = here if self.target_places is None else (*here, self.target_places)
            return Batch(*(tensor.to(device) for tensor in there))
        places = self.target_valid.flatten().nonzero()[:, 0]
        return Batch(*(tensor.pin_memory().to(device, non_blocking=True) for tensor in (*here, places)))

    @property
    def positions(self) -> int:
        """Positions of both sides, padding included: roughly proportional to the time of an update."""
        return self.source.numel() + self.target_out.numel()

    @property
    def target_tokens(self) -> int:
        """Number of predicted tokens, end included; losses and speeds are per target token."""
        return int(self.target_valid.sum())


def make_batch(
    sources: Rows, targets: Rows, *, start: int, end: int, source_padding: int, target_padding: int
) -> Batch:
    """Pad the sources and shift the targets. `end` is appended to both sides; rows contain no special ids."""
    first, last = np.array([start]), np.array([end])
    read, written = ([np.asarray(row, dtype=np.int64) for row in side] for side in (sources, targets))
    source, source_valid = pad_rows([np.concatenate([row, last]) for row in read], source_padding)
    target_in, _ = pad_rows([np.concatenate([first, row]) for row in written], target_padding)
    target_out, target_valid = pad_rows([np.concatenate([row, last]) for row in written], target_padding)
    return Batch(source, source_valid, target_in, target_out, target_valid)


def make_blocks(rows: np.ndarray) -> Batch:
    """A batch of plain-text blocks, without source and without padding.

    Args:
        rows: (batch, block + 1) ids. Each id of a row except the first is predicted from those before it.
    """
    ids = torch.from_numpy(rows.astype(np.int64))
    nothing = ids[:, :0]
    target_in, target_out = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    return Batch(nothing, nothing.bool(), target_in, target_out, torch.ones_like(target_out, dtype=torch.bool))


def begun(row: Sequence[int]) -> list[int]:
    """The tokens of a text with an end token before them; `make_batch` appends the other one."""
    return [END, *row]


def label_batch(texts: Rows, labels: Sequence[int] | np.ndarray, *, padding: int) -> Batch:
    """A batch of `begun` rows, with the index of each row's label as the only target."""
    batch = make_batch(texts, [[]] * len(texts), start=padding, end=END, source_padding=padding, target_padding=padding)
    numbers = torch.as_tensor(np.asarray(labels, dtype=np.int64))[:, None]
    return replace(batch, target_in=batch.target_in[:, :0], target_out=numbers)


def pad_rows(rows: Rows, padding: int) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]:
    """Rows of ids as one tensor padded at the end, and a mask of the real ids."""
    lengths = np.fromiter((len(row) for row in rows), dtype=np.int64, count=len(rows))
    valid = np.arange(lengths.max(initial=0)) < lengths[:, None]
    ids = np.full(valid.shape, padding, dtype=np.int64)
    ids[valid] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows]) if len(rows) else []
    return torch.from_numpy(ids), torch.from_numpy(valid)
