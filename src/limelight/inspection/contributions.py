"""Contributions: what attention adds to a vector, and how much of each target token comes from the source.

A weight says how much of a vector is taken, and not how large the vector is. Multi-head attention is a sum of vectors,
one for each head and each position that is attended to:

    MultiHead_i = sum_h sum_j alpha^h_ij f^h(x_j) + b_O        f^h(x_j) = (x_j W_V^h + b_V^h) W_O^h

`contributions` are the norms ||alpha^h_ij f^h(x_j)|| (Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing
Transformers with Vector Norms", section 3); of a whole layer ||sum_h alpha^h_ij f^h(x_j)||.

`token_contributions` follow them through the layers (Ferrando et al. 2022, "Towards Opening the Black Box of Neural
Machine Translation: Source and Target Interpretations of the Transformer", ALTI+). A sub-layer makes y_i of a sum of
vectors T_ij, the residual connection included, and each of them has the share

    c_ij = max(0, ||y_i||_1 - ||y_i - T_ij||_1)        divided by the sum over j

of it. The shares of successive layers are multiplied. Feed-forward networks mix no positions.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.attention.attend import permit_keys
from limelight.attention.multi_head import MultiHeadAttention
from limelight.errors import UserError
from limelight.models.interface import KeepHeads, Seq2Seq, eval_mode
from limelight.models.transformer.layers import DecoderLayer, EncoderLayer, Sublayer
from limelight.models.transformer.model import Transformer, kept_heads
from limelight.shapes import Float

Array = npt.NDArray[np.float32]


class Contributions(NamedTuple):
    """Contributions of one kind of attention for a sentence pair. Rows and columns are those of `AttentionMap`."""

    norms: Array
    """(layers, heads, columns): ||f^h(x_j)||, the size of what a head takes from a position."""
    heads: Array
    """(layers, heads, rows, columns): ||alpha^h_ij f^h(x_j)||, weight times norm."""
    layers: Array
    """(layers, rows, columns): ||sum_h alpha^h_ij f^h(x_j)||. The vectors of heads may cancel one another."""


class TokenContributions(NamedTuple):
    """How much of each target token comes from each source token, and from each token before it. Both rows of a target
    token together sum to one."""

    source: Array
    """(target tokens, source tokens), both with their ends."""
    prefix: Array
    """(target tokens, read tokens): the first one read is the start."""


class Part(NamedTuple):
    """An attention sub-layer for one sentence: the sum of vectors that it computes."""

    weights: Float[Tensor, "heads rows columns"]
    transformed: Float[Tensor, "heads columns model"]
    """f^h(x_j)"""
    inputs: Float[Tensor, "rows model"]
    outputs: Float[Tensor, "rows model"]
    scale: Float[Tensor, " model"]
    deviation: Float[Tensor, " rows"] | None
    """By which a normalization after the sub-layer divides, which then multiplies by `scale`; None without one."""


Parts = Mapping[str, Sequence[Part]]


def contributions(
    model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int], *, keep_heads: KeepHeads | None = None
) -> dict[str, Contributions]:
    """The contributions of each kind of attention (`cross`, `encoder_self`, `decoder_self`).

    Ids are without start and end. Raises `UserError` for models other than Transformers with encoder and decoder.
    """
    return of_parts(attention_parts(model, source_ids, target_ids, keep_heads))


def token_contributions(
    model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int], *, keep_heads: KeepHeads | None = None
) -> TokenContributions:
    """The shares of source and target tokens in each target token, through all layers.

    Ids are without start and end. Raises `UserError` as `contributions` does.
    """
    return followed(attention_parts(model, source_ids, target_ids, keep_heads))


def of_parts(parts: Parts) -> dict[str, Contributions]:
    """The contributions, from the sub-layers of a sentence pair."""
    found = {}
    with torch.inference_mode():
        for kind, layers in parts.items():
            norms = torch.stack([each.transformed.norm(dim=-1) for each in layers])
            weights = torch.stack([each.weights for each in layers])
            whole = torch.stack([_summed(each).norm(dim=-1) for each in layers])
            found[kind] = Contributions(*map(_array, (norms, weights * norms[:, :, None], whole)))
    return found


def followed(parts: Parts) -> TokenContributions:
    """The shares of all tokens in each target token, from the sub-layers of a sentence pair."""
    with torch.inference_mode():
        source_size, target_size = (parts[kind][0].weights.shape[-1] for kind in ("encoder_self", "decoder_self"))
        at = parts["cross"][0].weights
        mixed = torch.eye(source_size, dtype=at.dtype, device=at.device)
        for part in parts["encoder_self"]:
            mixed = _shares(part)[:, :-1] @ mixed
        prefix = torch.eye(target_size, dtype=at.dtype, device=at.device)
        source = at.new_zeros(target_size, source_size)
        for own, cross in zip(parts["decoder_self"], parts["cross"], strict=True):
            past, taken = _shares(own)[:, :-1], _shares(cross, residual_apart=True)
            source = taken[:, :-1] @ mixed + taken[:, -1:] * (past @ source)
            prefix = taken[:, -1:] * (past @ prefix)
        return TokenContributions(_array(source), _array(prefix))


def _shares(part: Part, *, residual_apart: bool = False) -> Float[Tensor, "rows shares"]:
    """The share of each column in each row. The residual of a row belongs to its own column, or it is the last column
    (`residual_apart`), which else is zero."""
    terms = _summed(part)  # (rows, columns, model)
    rows = torch.arange(len(part.inputs), device=terms.device)
    if residual_apart:
        terms = torch.cat([terms, part.inputs[:, None]], dim=1)
    else:
        terms[rows, rows] += part.inputs
        terms = torch.cat([terms, torch.zeros_like(terms[:, :1])], dim=1)
    if part.deviation is not None:  # with the deviation of the sum, a normalization is linear
        terms = (terms - terms.mean(dim=-1, keepdim=True)) / part.deviation[:, None, None] * part.scale
    whole = part.outputs[:, None]
    near = (whole.abs().sum(-1) - (whole - terms).abs().sum(-1)).clamp(min=0)
    total = near.sum(dim=-1, keepdim=True)
    alone = torch.zeros_like(near)  # where no vector is near the sum, the position stays its own
    alone[rows, -1 if residual_apart else rows] = 1
    return torch.where(total > 0, near / total.clamp(min=torch.finfo(near.dtype).tiny), alone)


def attention_parts(
    model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int], keep_heads: KeepHeads | None = None
) -> Parts:
    """The attention sub-layers of each kind, in their order. Raises `UserError` as `contributions` does."""
    if not isinstance(model, Transformer):
        raise UserError("contributions are those of Transformers with encoder and decoder: this is another model")
    batch = model.batch([source_ids], [target_ids])
    found: dict[str, list[Part]] = {"cross": [], "encoder_self": [], "decoder_self": []}
    with eval_mode(model) as device:
        batch = batch.to(device)
        may_attend = permit_keys(batch.source_valid)
        hidden, rotate = model.encoder.enter(batch.source)
        for depth, layer in enumerate(cast(list[EncoderLayer], list(model.encoder.layers))):
            kept = kept_heads(keep_heads, f"encoder.{depth}.self")
            projected = layer.attention.project_self(layer.attention_sublayer.before(hidden), rotate)
            part, hidden = _attended(layer.attention, layer.attention_sublayer, hidden, projected, kept, may_attend)
            found["encoder_self"].append(part)
            hidden = layer.apply_feed_forward(hidden)
        sources = model.decoder.project_memory(model.encoder.leave(hidden), may_attend)
        hidden, rotate = model.decoder.enter(batch.target_in)
        for depth, above in enumerate(cast(list[DecoderLayer], list(model.decoder.layers))):
            kept = kept_heads(keep_heads, f"decoder.{depth}.self")
            projected = above.attention.project_self(above.attention_sublayer.before(hidden), rotate)
            part, hidden = _attended(above.attention, above.attention_sublayer, hidden, projected, kept)
            found["decoder_self"].append(part)
            kept = kept_heads(keep_heads, f"decoder.{depth}.cross")
            queries = above.cross_attention.project_queries(above.cross_sublayer.before(hidden))
            projected = queries, sources[depth].keys, sources[depth].values
            part, hidden = _attended(above.cross_attention, above.cross_sublayer, hidden, projected, kept, may_attend)
            found["cross"].append(part)
            hidden = above.apply_feed_forward(hidden)
    return found


def _attended(
    attention: MultiHeadAttention,
    sublayer: Sublayer,
    hidden: Tensor,
    projected: tuple[Tensor, Tensor, Tensor],
    kept: Tensor | None,
    may_attend: Tensor | None = None,
) -> tuple[Part, Tensor]:
    """A sub-layer as a sum, and its output. Without `may_attend` no position attends to later ones."""
    queries, keys, values = projected
    output, weights = attention(
        queries, keys, values, may_attend=may_attend, causal=may_attend is None, keep_heads=kept, want_weights=True
    )
    after = sublayer.after(hidden, output)
    # (model, heads * value_size) -> (heads, value_size, model)
    out = attention.out_proj.weight.T.unflatten(0, (attention.heads, attention.value_size))
    transformed = values[0] @ out
    if kept is not None:
        transformed = transformed * (kept[0] if kept.dim() == 2 else kept).to(out.dtype)[:, None, None]
    deviation = None
    if not sublayer.norm_first:
        deviation = ((hidden + output)[0].var(dim=-1, unbiased=False) + sublayer.norm.eps).sqrt()
    assert weights is not None
    return Part(weights[0], transformed, hidden[0], after[0], sublayer.norm.weight, deviation), after


def _summed(part: Part) -> Float[Tensor, "rows columns model"]:
    """sum_h alpha^h_ij f^h(x_j)"""
    return torch.einsum("hij,hjd->ijd", part.weights, part.transformed)


def _array(values: Tensor) -> Array:
    found: Array = values.float().cpu().numpy()
    return found
