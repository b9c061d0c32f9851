"""The largest logits of each row, in an order that ties cannot shake."""

from typing import NamedTuple

import torch
from torch import Tensor

from limelight.shapes import Bool, Float, Int


class Top(NamedTuple):
    """Logits and their ids, largest first; where logits are equal the lower id stands first."""

    logits: Float[Tensor, "*rows rank"]
    ids: Int[Tensor, "*rows rank"]


def in_full(logits: Float[Tensor, "*rows vocab"]) -> Float[Tensor, "*rows vocab"]:
    """At least fp32: sums over a vocabulary and over a sentence lose digits in bf16."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def top_logits(logits: Float[Tensor, "*rows vocab"], count: int) -> tuple[Top, Bool[Tensor, ""]]:
    """The `count` largest logits of each row, and whether ties leave it open which ids these are or their order.

    `torch.topk` picks among equal logits as it likes. Looking at one more than is wanted shows whether it had a choice;
    where it had, `top_logits_with_ties` settles it. The answer stays a tensor, so that asking does not wait for a GPU.
    """
    values, ids = logits.topk(min(count + 1, logits.shape[-1]), dim=-1)
    tied = (values[..., 1:] == values[..., :-1]).any()
    return Top(values[..., :count], ids[..., :count]), tied


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
