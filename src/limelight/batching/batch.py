"""Batches: grouping rows by length, and padding them to tensors. Targets are shifted only here.

A padded position costs as much as a real one. Sorting by one side leaves the padding of the other side, so the pairs
are split recursively, each time along the side and at the length that saves most, until every part fits. Batches are
about four fifths full on average: fuller ones would need longer rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from limelight.batching.ragged import Ragged, Rows
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
    longest = np.maximum(source_lengths, target_lengths)

    def divided(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two parts, split along the side where it saves more."""
        noise = 1 + _FREEDOM * generator.random(len(rows) - 1)
        orders = [rows[np.argsort(side[rows], kind="stable")] for side in (source_lengths, target_lengths)]
        costs = [noise * _costs(source_lengths[order], target_lengths[order], tokens) for order in orders]
        cost, order = min(zip(costs, orders, strict=True), key=lambda choice: choice[0].min())
        first = int(cost.argmin()) + 1
        return order[:first], order[first:]

    rows = generator.permutation(len(source_lengths))  # a stable sort keeps the random order of equal lengths
    batches, parts = [], [rows] if len(rows) else []
    while parts:
        part = parts.pop()
        if len(part) == 1 or len(part) * int(longest[part].max()) <= tokens:
            batches.append(part)
        else:
            parts += divided(part)
    return [batches[number] for number in generator.permutation(len(batches))]


def _costs(sources: Lengths, targets: Lengths, tokens: int) -> np.ndarray:
    """(pairs - 1,) cost of a split after each pair: the positions of both parts, and batches that are not filled."""
    left = np.arange(1, len(sources))
    right = left[::-1]
    widths = np.maximum.accumulate(sources) + np.maximum.accumulate(targets)
    widths_behind = (np.maximum.accumulate(sources[::-1]) + np.maximum.accumulate(targets[::-1]))[::-1]
    positions = left * widths[:-1] + right * widths_behind[1:]

    counts = np.cumsum(np.maximum(sources, targets))
    batches = counts * (_PADDING / tokens)
    needed = np.ceil(batches[:-1]) + np.ceil(batches[-1] - batches[:-1])
    cost = positions * (1 + _UNFILLED * (needed / batches[-1] - 1))
    share = counts[:-1] / counts[-1]
    even = (share >= _MIN_SHARE) & (share <= 1 - _MIN_SHARE)
    return np.where(even, cost, np.inf) if even.any() else cost


def count_batches(source_lengths: Lengths, target_lengths: Lengths, *, tokens: int) -> float:
    """Approximate number of batches that `cut_batches` makes, estimated from at most 20,000 pairs."""
    rows = np.linspace(0, len(source_lengths) - 1, min(len(source_lengths), _COUNTED)).astype(np.int64)
    cuts = cut_batches(source_lengths[rows], target_lengths[rows], tokens=tokens, generator=np.random.default_rng(0))
    return len(cuts) * len(source_lengths) / max(1, len(rows))


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
    predicted: Int[Tensor, " rows"]
    """Indices of the real positions of `target_out` in flattened order. Their number is known without the device."""
    source_lengths: Int[Tensor, " batch"]
    """Always on the CPU, where recurrent layers need them."""

    @classmethod
    def of(
        cls, source: Tensor, source_valid: Tensor, target_in: Tensor, target_out: Tensor, target_valid: Tensor
    ) -> "Batch":
        """A batch of tensors on the CPU."""
        predicted = target_valid.flatten().nonzero()[:, 0]
        return cls(source, source_valid, target_in, target_out, target_valid, predicted, source_valid.sum(1))

    def to(self, device: torch.device) -> "Batch":
        """The batch on another device. A copy from pinned memory is asynchronous; from other memory that is unsafe."""
        return self._changed(
            lambda tensor: tensor.to(device, non_blocking=device.type == "cuda" and tensor.is_pinned())
        )

    def pinned(self) -> "Batch":
        """The batch in pinned memory."""
        return self._changed(Tensor.pin_memory)

    def _changed(self, change: Callable[[Tensor], Tensor]) -> "Batch":
        tensors = {name: change(getattr(self, name)) for name in self.__slots__ if name != "source_lengths"}
        return replace(self, **tensors)

    @property
    def positions(self) -> int:
        """Positions of both sides, padding included: roughly proportional to the time of an update."""
        return self.source.numel() + self.target_out.numel()

    @property
    def target_tokens(self) -> int:
        """Number of predicted tokens, end included; losses and speeds are per target token."""
        return len(self.predicted)


def make_batch(sources: Rows | Ragged, targets: Rows | Ragged, *, source_padding: int, target_padding: int) -> Batch:
    """Pad the sources and shift the targets, which begin with padding. The end token is appended to both sides; rows
    contain no special ids."""
    source, source_valid = pad_rows(sources, source_padding, end=END)
    target_out, target_valid = pad_rows(targets, target_padding, end=END)
    target_in = torch.full_like(target_out, target_padding)
    target_in[:, 1:] = target_out[:, :-1].where(target_valid[:, 1:], target_padding)
    return Batch.of(source, source_valid, target_in, target_out, target_valid)


def make_blocks(rows: np.ndarray) -> Batch:
    """A batch of plain-text blocks, without source and without padding.

    Args:
        rows: (batch, block + 1) ids. Each id of a row except the first is predicted from those before it.
    """
    ids = torch.from_numpy(rows.astype(np.int64))
    nothing = ids[:, :0]
    target_in, target_out = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    return Batch.of(nothing, nothing.bool(), target_in, target_out, torch.ones_like(target_out, dtype=torch.bool))


def begun(row: Sequence[int]) -> list[int]:
    """The tokens of a text with an end token before them; `label_batch` appends the other one."""
    return [END, *row]


def label_batch(texts: Rows | Ragged, labels: Sequence[int] | np.ndarray, *, padding: int) -> Batch:
    """A batch of `begun` rows, with the index of each row's label as the only target."""
    source, source_valid = pad_rows(texts, padding, end=END)
    numbers = torch.as_tensor(np.asarray(labels, dtype=np.int64))[:, None]
    return Batch.of(source, source_valid, source[:, :0], numbers, torch.ones_like(numbers, dtype=torch.bool))


def pad_rows(
    rows: Rows | Ragged, padding: int, *, end: int | None = None
) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]:
    """Rows of ids as one tensor padded at the end, and a mask of the real ids; `end`, if given, follows each row."""
    rows = Ragged.of(rows)
    lengths = rows.lengths()
    real = lengths + (end is not None)
    columns = np.arange(real.max(initial=0))
    ids = np.full((len(rows), len(columns)), padding, dtype=np.int64)
    ids[columns < lengths[:, None]] = rows.values
    if end is not None:
        ids[np.arange(len(rows)), lengths] = end
    return torch.from_numpy(ids), torch.from_numpy(columns < real[:, None])
