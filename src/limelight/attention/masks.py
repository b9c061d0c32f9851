"""Masks say what they permit: True = may attend.

They are kept in broadcast form: expanding `(batch, 1, 1, key)` over heads and queries costs 13 times the memory at
4,096 positions and gains nothing.
"""

import torch
from torch import Tensor

from limelight.shapes import Bool, Float, Int


def valid_from_lengths(lengths: Int[Tensor, " batch"], longest: int) -> Bool[Tensor, "batch length"]:
    """Which positions hold a real token, for rows padded at the end."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


def permit_keys(valid: Bool[Tensor, "batch key"]) -> Bool[Tensor, "batch 1 1 key"]:
    """Every query of every head may attend to every real key."""
    return valid[:, None, None, :]


def as_bias(may_attend: Bool[Tensor, "..."], dtype: torch.dtype) -> Float[Tensor, "..."]:
    """0 where a query may attend and a number that leaves no weight where it may not, to be added to scores.

    For masks that many layers share and that permit every query something: a query that may
    attend to no key would attend to all keys.
    """
    return torch.zeros_like(may_attend, dtype=dtype).masked_fill_(~may_attend, torch.finfo(dtype).min / 2)


def permit_past(queries: int, keys: int, device: torch.device | None = None) -> Bool[Tensor, "query key"]:
    """Each query may attend to itself and to earlier keys; the last query is at the position of the last key.

    Vaswani et al. 2017, section 3.2.3: "masking out all values ... which correspond to illegal connections".
    """
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
