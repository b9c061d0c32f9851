"""Masks say what they permit: True = may look.

They are kept in broadcast form: expanding `(batch, 1, 1, key)` over heads and queries costs 13 times the memory at
4,096 positions and gains nothing.
"""

import torch
from torch import Tensor

from limelight.shapes import Bool, Float, Int


def valid_from_lengths(lengths: Int[Tensor, " batch"], longest: int) -> Bool[Tensor, "batch length"]:
    """Which positions hold a real piece, for rows padded at the end."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


def permit_keys(valid: Bool[Tensor, "batch key"]) -> Bool[Tensor, "batch 1 1 key"]:
    """Every query of every head may look at every real key."""
    return valid[:, None, None, :]


def as_bias(may_attend: Bool[Tensor, "..."], dtype: torch.dtype) -> Float[Tensor, "..."]:
    """0 where a query may look and a number that leaves no weight where it may not, to be added to scores.

    For masks that many layers share and that permit every query something: of a query that may look nowhere it would
    make one that looks everywhere.
    """
    return torch.zeros_like(may_attend, dtype=dtype).masked_fill_(~may_attend, torch.finfo(dtype).min / 2)


def permit_past(queries: int, keys: int, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """Each query may look at itself and what came before; the last query stands at the last key.

    Vaswani et al. 2017, section 3.2.3: "masking out all values ... which correspond to illegal connections".
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
