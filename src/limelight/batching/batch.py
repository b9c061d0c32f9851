"""Batches: which rows go together, and rows of ids as tensors. The only place that shifts the target right.

A padded place costs as much as a real one. Sorting by one side leaves the other side's padding, so the pairs are
divided again and again, each time along the side and at the length that saves most, until every part fits. Batches are
about four fifths full on average: a fuller one would have to take in longer neighbors.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from limelight.shapes import Bool, Int

Lengths = np.ndarray
"""(pairs,) whole numbers: tokens of each sentence, the end token counted."""

_PADDING = 1.06  # places to be expected for a real token, when the batches of a part are counted beforehand
_UNFILLED = 0.2  # what an expected batch more than needed costs, against the places it saves
_MIN_SHARE = 0.25  # share of the tokens that a part has at least, so that dividing ends after a few levels
_COUNTED = 20_000
_FREEDOM = 0.001  # a cut may be worse than the best by so much; else many batches would be the same each epoch


def cut_batches(
    source_lengths: Lengths, target_lengths: Lengths, *, tokens: int, generator: np.random.Generator
) -> list[np.ndarray]:
    """Row numbers of each batch, in a random order that follows from the generator alone.

    Pairs of equal lengths meet at random, too. 100,000 pairs take about a quarter of a second.

    Args:
        tokens: budget of a batch, as rows times the longest side, padding included. A pair that is longer than the
            budget is a batch of its own.
    """
    rows = generator.permutation(len(source_lengths))  # sorting keeps the order of equals: it is random from here on
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
    """Two parts, cut along the side where it saves more."""
    noise = 1 + _FREEDOM * generator.random(len(rows) - 1)
    orders = [rows[np.argsort(side[rows], kind="stable")] for side in (source_lengths, target_lengths)]
    costs = [noise * _costs(source_lengths[order], target_lengths[order], tokens) for order in orders]
    cost, order = min(zip(costs, orders, strict=True), key=lambda each: each[0].min())
    first = int(cost.argmin()) + 1
    return order[:first], order[first:]


def _costs(sources: Lengths, targets: Lengths, tokens: int) -> np.ndarray:
    """(pairs - 1,) what it costs to cut after each pair: the places both parts take, and batches that stay unfilled."""
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
    """About how many batches `cut_batches` makes; of more than 20,000 pairs so many, evenly spread, are cut."""
    rows = np.linspace(0, len(source_lengths) - 1, min(len(source_lengths), _COUNTED)).astype(np.int64)
    cuts = cut_batches(source_lengths[rows], target_lengths[rows], tokens=tokens, generator=np.random.default_rng(0))
    return len(cuts) * len(source_lengths) / max(1, len(rows))


def real_fraction(source_lengths: Lengths, target_lengths: Lengths, batches: list[np.ndarray]) -> float:
    """The share of places, both sides together, that hold a real token and not padding."""
    real = int(source_lengths.sum() + target_lengths.sum())
    held = sum(len(rows) * int(source_lengths[rows].max() + target_lengths[rows].max()) for rows in batches)
    return real / held if held else 1.0


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
    target_places: Int[Tensor, " rows"] | None = None
    """Where `target_valid` holds, counted through all rows: for a GPU, which would have to be waited for to count."""

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device. To a CUDA GPU it is copied from pinned memory, so that no thread
        waits for the copy; from other memory, and to other devices, an asynchronous copy is not safe."""
        here = self.source, self.source_valid, self.target_in, self.target_out, self.target_valid
        if device.type != "cuda":
            there = here if self.target_places is None else (*here, self.target_places)
            return Batch(*(tensor.to(device) for tensor in there))
        places = self.target_valid.flatten().nonzero()[:, 0]
        return Batch(*(tensor.pin_memory().to(device, non_blocking=True) for tensor in (*here, places)))

    @property
    def positions(self) -> int:
        """Positions of both sides, padding included: about proportional to the time of an update."""
        return self.source.numel() + self.target_out.numel()

    @property
    def target_tokens(self) -> int:
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
