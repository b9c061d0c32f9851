"""Masks, and attention: score, mask, softmax, sum."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from limelight.attention.scores import dot, scaled_dot
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


ScoreFunction = Callable[[Tensor, Tensor], Tensor]

SHORT = 256
"""Up to so many keys, bf16 on a CPU takes two products instead of the fused kernel; see `_fused_pays`."""


FEW_QUERIES = 8
"""So many queries, as in the steps of a search, are never worth the fused kernel."""


def attend(
    queries: Float[Tensor, "... query query_size"],
    keys: Float[Tensor, "... key key_size"],
    values: Float[Tensor, "... key value_size"],
    *,
    score: ScoreFunction = scaled_dot,
    may_attend: Bool[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    causal: bool = False,
    want_weights: bool = False,
) -> tuple[Float[Tensor, "... query value_size"], Float[Tensor, "... query key"] | None]:
    """softmax(score(queries, keys)) values (Vaswani et al. 2017, equation 1, for any score).

    Args:
        queries, keys, values: keys are compared with queries, values are summed.
        score: any function `(queries, keys) -> (..., query, key)`.
        may_attend: broadcastable to `(..., query, key)`, True = may attend. A query that may attend to no key gets
            zeros.
        bias: added to the scores before the softmax, broadcastable likewise; takes the readable path.
        causal: no query attends to later keys; the last query is at the position of the last key.
        want_weights: take the readable path and return the weights; else None, and the fused kernel where it is faster.

    Returns:
        context and weights; the weights of a row sum to one, or to zero where nothing may be attended.
    """
    scale = None if want_weights or bias is not None else _fused_scale(score, queries)
    if scale is not None and _fused_pays(queries, keys):
        return _fused(queries, keys, values, scale=scale, may_attend=may_attend, causal=causal), None

    scores = score(queries, keys) if bias is None else score(queries, keys) + bias
    if causal:
        past = permit_past(scores.shape[-2], scores.shape[-1], device=scores.device)
        may_attend = past if may_attend is None else may_attend & past
    weights = _softmax(scores, may_attend)
    return weights @ values, weights if want_weights else None


def sharpened(score: ScoreFunction, factors: Float[Tensor, " heads"]) -> ScoreFunction:
    """A score with a factor for each head: one over the temperature of its softmax. Above 1 weights are sharper."""
    return lambda queries, keys: score(queries, keys) * factors.to(queries.dtype)[:, None, None]


def _softmax(
    scores: Float[Tensor, "... query key"], may_attend: Bool[Tensor, "..."] | None
) -> Float[Tensor, "... query key"]:
    """Softmax over the keys that may be attended; rows without any give zeros, not NaN."""
    if may_attend is None:
        return scores.softmax(dim=-1)
    # Added, not filled in: the mask is small where it broadcasts over heads and queries, and a sum is much cheaper.
    # Half the lowest number instead of -inf: a row of nothing else stays finite, and is then set to zero.
    lowest = torch.finfo(scores.dtype).min / 2
    weights = (scores + torch.zeros_like(may_attend, dtype=scores.dtype).masked_fill_(~may_attend, lowest)).softmax(-1)
    return weights * may_attend.any(dim=-1, keepdim=True)


def _fused_pays(queries: Tensor, keys: Tensor) -> bool:
    """Whether the fused kernel is faster than two products with a softmax between (`python -m benchmarks.kernels`).

    It is made for many queries: a few over 25 keys take it up to twice as long as the products. On a CPU it is slow in
    bf16 (`_kernel`), where they take two thirds of its time; but they hold all weights: while those are few.
    """
    short = queries.device.type == "cpu" and queries.dtype == torch.bfloat16 and keys.shape[-2] <= SHORT
    return queries.shape[-2] > FEW_QUERIES and not short


def _fused_scale(score: ScoreFunction, queries: Tensor) -> float | None:
    """The factor under which the fused kernel computes this score, None when it cannot.

    Only the two functions are recognized, not a score that is a module: those belong to recurrent models, which have
    one head as wide as their state. There two products are up to twice as fast as the kernel, forward and backward.
    """
    if score is scaled_dot:
        return queries.shape[-1] ** -0.5
    return 1.0 if score is dot else None


def _fused(
    queries: Tensor, keys: Tensor, values: Tensor, *, scale: float, may_attend: Tensor | None, causal: bool
) -> Tensor:
    """The same without ever holding the weights: memory grows with length, not with its square.

    No dropout on the weights here or anywhere: on a CPU it silently turns the kernel into the quadratic path.
    """
    square = queries.shape[-2] == keys.shape[-2]
    if causal and (may_attend is not None or not square):
        past = permit_past(queries.shape[-2], keys.shape[-2], device=queries.device)
        may_attend, causal = past if may_attend is None else may_attend & past, False
    context = _kernel(queries, keys, values, attn_mask=may_attend, is_causal=causal, scale=scale)
    if may_attend is None:
        return context
    return context.masked_fill(~may_attend.any(dim=-1, keepdim=True), 0.0)


def _kernel(queries: Tensor, keys: Tensor, values: Tensor, **options: Any) -> Tensor:
    """torch's fused kernel; on a CPU in no less than fp32 and with vectors of one width, whatever comes in.

    Its bf16 form takes four times as long there: at 20 positions 26 ms forward and backward against 7 with the casts.
    Values of another width than keys would silently make it the quadratic path: zeros fill up the narrower ones, which
    change no score and no sum. On a GPU torch has a kernel for them.
    """
    if queries.device.type != "cpu":
        return functional.scaled_dot_product_attention(queries, keys, values, **options)
    precision = torch.promote_types(queries.dtype, torch.float32)
    width = max(queries.shape[-1], values.shape[-1])
    with torch.autocast("cpu", enabled=False):
        asked, compared, summed = (_widened(part.to(precision), width) for part in (queries, keys, values))
        context = functional.scaled_dot_product_attention(asked, compared, summed, **options)
    return context[..., : values.shape[-1]].to(queries.dtype)


def _widened(vectors: Tensor, width: int) -> Tensor:
    """With zeros behind their numbers, where there are fewer."""
    missing = width - vectors.shape[-1]
    return functional.pad(vectors, (0, missing)) if missing else vectors
