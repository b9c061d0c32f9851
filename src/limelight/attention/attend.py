"""Masks, and attention: score, mask, softmax, sum."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.attention.scores import scaled_dot
from limelight.shapes import Bool, Float

Mask = Bool[Tensor, "..."] | Float[Tensor, "..."]
"""True where a query may attend; or the same as a bias, see `as_bias`."""


def permit_keys(valid: Bool[Tensor, "batch key"]) -> Bool[Tensor, "batch 1 1 key"]:
    """A mask that lets every query of every head attend to every valid key."""
    return valid[:, None, None, :]


def as_bias(may_attend: Bool[Tensor, "..."], dtype: torch.dtype) -> Float[Tensor, "..."]:
    """The mask as a bias to be added to scores: 0 where a query may attend, half the lowest number where it may not.

    A row without any permitted key stays finite, so that its softmax is not NaN: its query attends to all keys.
    """
    return torch.zeros_like(may_attend, dtype=dtype).masked_fill_(~may_attend, torch.finfo(dtype).min / 2)


ScoreFunction = Callable[[Tensor, Tensor], Tensor]

MAX_UNFUSED_KEYS = 256
"""Up to this many keys, bf16 on a CPU uses two products instead of the fused kernel, see `_fused_pays`."""


MAX_UNFUSED_QUERIES = 8
"""Up to this many queries the fused kernel is slower, as in the steps of a search."""


def attend(
    queries: Float[Tensor, "... query query_size"],
    keys: Float[Tensor, "... key key_size"],
    values: Float[Tensor, "... key value_size"],
    *,
    score: ScoreFunction = scaled_dot,
    may_attend: Mask | None = None,
    causal: bool = False,
    factors: Float[Tensor, "... query key"] | None = None,
    want_weights: bool = False,
) -> tuple[Float[Tensor, "... query value_size"], Float[Tensor, "... query key"] | None]:
    """softmax(score(queries, keys)) values (Vaswani et al. 2017, equation 1, for any score).

    Args:
        queries: compared with the keys.
        keys: one for each position that may be attended to.
        values: their weighted sum is the context.
        score: any function `(queries, keys) -> (..., query, key)`.
        may_attend: broadcastable to `(..., query, key)`, True = may attend. A query that may attend to no key gets
            zeros. A mask that is used many times can be given as a bias (`as_bias`), which takes the readable path
            and excludes `causal`.
        causal: no query attends to later keys; the last query is at the position of the last key.
        factors: of the weights, after the softmax; they take the readable path.
        want_weights: take the readable path and return the weights. If False, weights are None, and the fused kernel is
            used where it is faster.

    Returns:
        context and weights. Without factors, the weights of a row sum to one, or to zero if the query may attend to no
        key.
    """
    biased = may_attend is not None and may_attend.is_floating_point()
    is_fused = score is scaled_dot and factors is None and not (want_weights or biased)
    if is_fused and _fused_pays(queries, keys, values):
        return _fused(queries, keys, values, may_attend=may_attend, causal=causal), None

    if causal:
        may_attend = _with_causal(may_attend, queries, keys)
    weights = _softmax(score(queries, keys), may_attend)
    weights = weights if factors is None else weights * factors
    return weights @ values, weights if want_weights else None


class Attend(nn.Module):
    """`attend` as a module without weights: what `inspection/probe.py` records and changes from outside."""

    def forward(
        self,
        queries: Float[Tensor, "... query query_size"],
        keys: Float[Tensor, "... key key_size"],
        values: Float[Tensor, "... key value_size"],
        **options: Any,
    ) -> Float[Tensor, "... query value_size"]:
        """The context of each query; options as for `attend`."""
        return attend(queries, keys, values, **options)[0]


def _softmax(scores: Float[Tensor, "... query key"], may_attend: Mask | None) -> Float[Tensor, "... query key"]:
    """Softmax over the keys that may be attended to; rows without any are zeros, not NaN."""
    if may_attend is None:
        return scores.softmax(dim=-1)
    if may_attend.is_floating_point():
        return (scores + may_attend).softmax(dim=-1)
    # A sum instead of masked_fill: the mask broadcasts over heads and queries, and adding a small bias is much cheaper.
    # A fully masked row stays finite, and is then set to zero.
    weights = (scores + as_bias(may_attend, scores.dtype)).softmax(dim=-1)
    return weights * may_attend.any(dim=-1, keepdim=True)


def _with_causal(may_attend: Tensor | None, queries: Tensor, keys: Tensor) -> Bool[Tensor, "... query key"]:
    """The mask that also excludes later keys; the last query is at the position of the last key.

    Vaswani et al. 2017, section 3.2.3: "masking out all values ... which correspond to illegal connections".
    """
    count, length = queries.shape[-2], keys.shape[-2]
    past = torch.ones(count, length, dtype=torch.bool, device=queries.device).tril(length - count)
    return past if may_attend is None else may_attend & past


def _fused_pays(queries: Tensor, keys: Tensor, values: Tensor) -> bool:
    """Whether the fused kernel is faster than two products with a softmax between.

    It is optimized for many queries: for a few queries over 25 keys it takes up to twice as long as the products. On a
    CPU it is slow in bf16 (`_kernel`), and the products take two thirds of its time; but they store all weights, so
    they are used only for few keys. For values of another size than keys it silently stores them, too.
    """
    short = queries.device.type == "cpu" and queries.dtype == torch.bfloat16 and keys.shape[-2] <= MAX_UNFUSED_KEYS
    return queries.shape[-2] > MAX_UNFUSED_QUERIES and keys.shape[-1] == values.shape[-1] and not short


def _fused(queries: Tensor, keys: Tensor, values: Tensor, *, may_attend: Tensor | None, causal: bool) -> Tensor:
    """The fused kernel: memory grows linearly with length, as no weights are stored."""
    if causal and (may_attend is not None or queries.shape[-2] != keys.shape[-2]):
        may_attend, causal = _with_causal(may_attend, queries, keys), False
    if may_attend is None:
        return _kernel(queries, keys, values, is_causal=causal)
    context = _kernel(queries, keys, values, attn_mask=torch.atleast_2d(may_attend))
    return context.masked_fill(~may_attend.any(dim=-1, keepdim=True), 0.0)


def _kernel(queries: Tensor, keys: Tensor, values: Tensor, **options: Any) -> Tensor:
    """torch's fused kernel; on a CPU always in at least fp32, as its bf16 form takes four times as long there: at 20
    positions 26 ms forward and backward against 7 with the casts."""
    if queries.device.type != "cpu":
        return functional.scaled_dot_product_attention(queries, keys, values, **options)
    precision = torch.promote_types(queries.dtype, torch.float32)
    with torch.autocast("cpu", enabled=False):
        q, k, v = (part.to(precision) for part in (queries, keys, values))
        return functional.scaled_dot_product_attention(q, k, v, **options).to(queries.dtype)
