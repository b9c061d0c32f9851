"""The largest logits of each row, in a deterministic order even if some are equal."""

from typing import NamedTuple

import torch
from torch import Tensor

from limelight.shapes import Float, Int

PROJECTED = 2048
"""Positions whose logits are computed at once: with 32,000 tokens they take 250 MB in fp32, whatever the batch."""


class Top(NamedTuple):
    """Logits and their ids, largest first; among equal logits the lower id first."""

    logits: Float[Tensor, "*rows rank"]
    ids: Int[Tensor, "*rows rank"]


def at_least_fp32(logits: Float[Tensor, "*rows vocab"]) -> Float[Tensor, "*rows vocab"]:
    """At least fp32: sums over a vocabulary and over a sentence lose digits in bf16."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def log_softmax_(logits: Float[Tensor, "*rows vocab"]) -> Float[Tensor, "*rows vocab"]:
    """Log-softmax in at least fp32. The logits must not be used afterwards: on a CPU the result overwrites them.

    Writing a second tensor of batch times vocabulary would take a third longer.
    """
    full = at_least_fp32(logits)
    return torch.log_softmax(full, dim=-1, out=full if full.device.type == "cpu" else None)


def top_logits_with_ties(logits: Float[Tensor, "*rows vocab"], count: int) -> Top:
    """The largest `count` logits of rows with ties, the lower ids first among equal ones.

    Needs a second top-k over the vocabulary, which is much cheaper than sorting it.
    """
    vocab = logits.shape[-1]
    values, ids = logits.topk(min(count, vocab), dim=-1)
    smallest = values[..., -1:]
    # All ids above the smallest value are selected; of those equal to it, the lowest ids.
    certain = values > smallest
    descending = torch.arange(vocab, 0, -1, device=logits.device)
    lowest = vocab - torch.where(logits == smallest, descending, 0).topk(values.shape[-1], dim=-1).values
    place = torch.arange(values.shape[-1], device=logits.device) - certain.sum(dim=-1, keepdim=True)
    # Only a row of NaN has no id at its smallest value; it must not affect the others.
    ids = torch.where(certain, ids, lowest.gather(-1, place.clamp(min=0)).clamp(max=vocab - 1))
    # Two stable sorts, the second one by value, leave equal values in the order of their ids.
    ids = ids.sort(dim=-1).values
    values, order = logits.gather(-1, ids).sort(dim=-1, descending=True, stable=True)
    return Top(values, ids.gather(-1, order))
