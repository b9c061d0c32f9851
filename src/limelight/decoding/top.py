"""The largest logits of each row, in an order that ties cannot shake."""

from typing import NamedTuple

import torch
from torch import Tensor

from limelight.shapes import Bool, Float, Int

BLOCK = 64
"""Logits that are looked at together; see `_largest` and `python -m benchmarks.kernels`."""

FEW = 2048
"""Below so many classes the plain ways are as fast."""


class Top(NamedTuple):
    """Logits and their ids, largest first; where logits are equal the lower id stands first."""

    logits: Float[Tensor, "*rows rank"]
    ids: Int[Tensor, "*rows rank"]


def in_full(logits: Float[Tensor, "*rows vocab"]) -> Float[Tensor, "*rows vocab"]:
    """At least fp32: sums over a vocabulary and over a sentence lose digits in bf16."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def top_logits(logits: Float[Tensor, "*rows vocab"], count: int) -> tuple[Top, Bool[Tensor, "*rows"]]:
    """The `count` largest logits of each row, and where ties leave it open which ids these are or their order.

    Torch picks among equal logits as it likes. Looking at one more than is wanted shows whether it had a choice; where
    it had, `top_logits_with_ties` settles it. The answer stays a tensor, so that asking does not wait for a GPU.
    """
    values, ids = _largest(logits, min(count + 1, logits.shape[-1]))
    tied = (values[..., 1:] == values[..., :-1]).any(dim=-1)
    return Top(values[..., :count], ids[..., :count]), tied


def most_probable(logits: Float[Tensor, "*rows vocab"]) -> Int[Tensor, "*rows"]:
    """The id of the largest logit of each row; of equal ones the first."""
    if not _in_blocks(logits):
        return logits.argmax(dim=-1)  # documented to take the first of equal ones
    blocks, tail = _blocks(logits)
    most, block = blocks.amax(dim=-1).max(dim=-1, keepdim=True)
    inside = blocks.gather(-2, block[..., None].expand(*block.shape, BLOCK))[..., 0, :]
    ids = block[..., 0] * BLOCK + inside.argmax(dim=-1)
    if not tail.shape[-1]:
        return ids
    last, place = tail.max(dim=-1)
    return torch.where(last > most[..., 0], place + blocks.shape[-2] * BLOCK, ids)


def log_sum_exp(logits: Float[Tensor, "*rows vocab"], top: Top) -> Float[Tensor, "*rows"]:
    """log(sum(exp(logits))) of each row, given any finite one of its logits.

    On a CPU torch takes its logarithm of a softmax in half the time of its logsumexp, though it writes all of it down.
    """
    if logits.device.type != "cpu":
        return logits.logsumexp(dim=-1)
    first = logits.log_softmax(dim=-1).gather(-1, top.ids[..., :1])
    return (top.logits[..., :1] - first)[..., 0]


def _largest(logits: Float[Tensor, "*rows vocab"], count: int) -> Top:
    """The largest logits, sorted, equal ones in any order.

    On a CPU a maximum is much cheaper than a sort: the largest ones stand in those blocks whose maxima are largest.
    """
    if not _in_blocks(logits) or count * BLOCK >= logits.shape[-1]:
        return Top(*logits.topk(count, dim=-1))
    blocks, tail = _blocks(logits)
    chosen = blocks.amax(dim=-1).topk(count, dim=-1).indices
    inside = blocks.gather(-2, chosen[..., None].expand(*chosen.shape, BLOCK))
    ids = chosen[..., None] * BLOCK + torch.arange(BLOCK)
    tail_ids = torch.arange(logits.shape[-1] - tail.shape[-1], logits.shape[-1]).expand(tail.shape)
    values, places = torch.cat([inside.flatten(-2), tail], dim=-1).topk(count, dim=-1)
    return Top(values, torch.cat([ids.flatten(-2), tail_ids], dim=-1).gather(-1, places))


def _in_blocks(logits: Tensor) -> bool:
    return logits.device.type == "cpu" and logits.shape[-1] >= FEW


def _blocks(
    logits: Float[Tensor, "*rows vocab"],
) -> tuple[Float[Tensor, "*rows block inside"], Float[Tensor, "*rows tail"]]:
    """The logits in blocks, and what is left of them; nothing is copied."""
    whole = logits.shape[-1] // BLOCK * BLOCK
    return logits[..., :whole].unflatten(-1, (-1, BLOCK)), logits[..., whole:]


def top_logits_with_ties(logits: Float[Tensor, "*rows vocab"], count: int) -> Top:
    """The same for rows in which logits are equal: exactly `count`, the lower ids first.

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
