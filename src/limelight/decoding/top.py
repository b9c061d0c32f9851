"""The largest logits of each row, in an order that ties cannot shake."""

from typing import NamedTuple

import torch
from torch import Tensor

from limelight.shapes import Bool, Float, Int

try:
    from limelight.decoding import compiled as loops
except ImportError:  # numba is an extra; without it torch does it
    loops = None  # type: ignore[assignment]

BLOCK = 64
"""Logits that are looked at together; see `_largest_sums` and `python -m benchmarks.kernels`."""

FEW = 2048
"""Below so many classes the plain ways are as fast."""


class Top(NamedTuple):
    """Logits and their ids, largest first; where logits are equal the lower id stands first."""

    logits: Float[Tensor, "*rows rank"]
    ids: Int[Tensor, "*rows rank"]


class Continuations(NamedTuple):
    """The best continuations of each sentence, over all its hypotheses, best first."""

    log_probabilities: Float[Tensor, "batch rank"]
    """Of the piece alone, given the hypothesis."""
    parents: Int[Tensor, "batch rank"]
    """Which hypothesis is continued."""
    ids: Int[Tensor, "batch rank"]
    """With which piece."""
    tied: Bool[Tensor, " batch"]
    """Where equal ones leave it open which they are, or in which order."""


def in_full(logits: Float[Tensor, "*rows vocab"]) -> Float[Tensor, "*rows vocab"]:
    """At least fp32: sums over a vocabulary and over a sentence lose digits in bf16."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def normalised(logits: Float[Tensor, "*rows vocab"]) -> Float[Tensor, "*rows vocab"]:
    """log softmax, fp32 or better. The logits are used up: on a CPU the result is written over them.

    A second table of a vocabulary times a batch would cost a third more to write (`python -m benchmarks.kernels`).
    """
    full = in_full(logits)
    return torch.log_softmax(full, dim=-1, out=full if full.device.type == "cpu" else None)


def best_continuations(
    log_probabilities: Float[Tensor, "batch width vocab"], before: Float[Tensor, "batch width"], count: int
) -> Continuations:
    """The `count` pieces of each sentence that give the greatest sums with what their hypotheses have already.

    Torch picks among equal sums as it likes. Looking at one more than is wanted shows whether it had a choice; where it
    had, `top_logits_with_ties` has to settle it. The answer stays on the device, so that asking does not wait for it.
    """
    _, width, vocab = log_probabilities.shape
    values, places = _largest_sums(log_probabilities, before, min(count + 1, width * vocab))
    tied = (values[:, 1:] == values[:, :-1]).any(dim=-1)
    places = places[:, :count]
    return Continuations(log_probabilities.flatten(1).gather(1, places), places // vocab, places % vocab, tied)


def _largest_sums(
    log_probabilities: Float[Tensor, "batch width vocab"], before: Float[Tensor, "batch width"], count: int
) -> tuple[Float[Tensor, "batch rank"], Int[Tensor, "batch rank"]]:
    """The largest sums of each sentence and where they stand in its width * vocab, equal ones in any order.

    On a CPU a maximum is much cheaper than a sort: the largest sums stand in those blocks whose maxima are largest.
    """
    batch, width, vocab = log_probabilities.shape
    if loops is not None and log_probabilities.device.type == "cpu" and log_probabilities.dtype == torch.float32:
        values, places = torch.empty(batch, count), torch.empty(batch, count, dtype=torch.int64)
        loops.find_largest_sums(
            log_probabilities.contiguous().numpy(), before.numpy(), BLOCK, values.numpy(), places.numpy()
        )
        return values, places
    if not _in_blocks(log_probabilities) or count >= width * (vocab // BLOCK):
        return torch.topk((log_probabilities + before[..., None]).flatten(1), count, dim=-1)
    blocks, tail = _blocks(log_probabilities)
    chosen = (blocks.amax(dim=-1) + before[..., None]).flatten(1).topk(count, dim=-1).indices
    parents, block = chosen // blocks.shape[2], chosen % blocks.shape[2]
    rows = torch.arange(len(chosen))[:, None]
    inside = blocks[rows, parents, block] + before.gather(1, parents)[..., None]
    starts = parents * vocab + block * BLOCK
    places = starts[..., None] + torch.arange(BLOCK)
    if tail.shape[-1]:
        last = torch.arange(vocab - tail.shape[-1], vocab) + torch.arange(width)[:, None] * vocab
        sums = torch.cat([inside.flatten(1), (tail + before[..., None]).flatten(1)], dim=-1)
        places = torch.cat([places.flatten(1), last.flatten().expand(len(sums), -1)], dim=-1)
    else:
        sums, places = inside.flatten(1), places.flatten(1)
    values, best = sums.topk(count, dim=-1)
    return values, places.gather(1, best)


def most_probable(logits: Float[Tensor, "*rows vocab"]) -> Int[Tensor, "*rows"]:
    """The id of the largest logit of each row; of equal ones the first."""
    if logits.device.type != "cpu":
        return logits.argmax(dim=-1)  # documented to take the first of equal ones
    return torch.from_numpy(in_full(logits).numpy().argmax(axis=-1))  # does so as well, in a fifth of torch's time


def _in_blocks(logits: Tensor) -> bool:
    return logits.device.type == "cpu" and logits.shape[-1] >= FEW


def _blocks(
    logits: Float[Tensor, "*rows vocab"],
) -> tuple[Float[Tensor, "*rows block inside"], Float[Tensor, "*rows tail"]]:
    """The logits in blocks, and what is left of them; nothing is copied."""
    whole = logits.shape[-1] // BLOCK * BLOCK
    return logits[..., :whole].unflatten(-1, (-1, BLOCK)), logits[..., whole:]


def top_logits_with_ties(logits: Float[Tensor, "*rows vocab"], count: int) -> Top:
    """The largest logits of rows in which some are equal: exactly `count`, the lower ids first.

    Costs a second pass of top-k over the vocabulary, still far less than sorting it.
    """
    vocab = logits.shape[-1]
    values, ids = logits.topk(min(count, vocab), dim=-1)
    smallest = values[..., -1:]
    # Which ids lie above the smallest value is certain; of those at it the lowest are taken.
    certain = values > smallest
    descending = torch.arange(vocab, 0, -1, device=logits.device)
    lowest = vocab - torch.where(logits == smallest, descending, 0).topk(values.shape[-1], dim=-1).values
    place = torch.arange(values.shape[-1], device=logits.device) - certain.sum(dim=-1, keepdim=True)
    # Only a row of NaN has none at its smallest value; it must not break the others.
    ids = torch.where(certain, ids, lowest.gather(-1, place.clamp(min=0)).clamp(max=vocab - 1))
    # Two stable sorts, the second one by value, leave equal values in the order of their ids.
    ids = ids.sort(dim=-1).values
    values, order = logits.gather(-1, ids).sort(dim=-1, descending=True, stable=True)
    return Top(values, ids.gather(-1, order))
