"""One forward pass over sentence pairs with all that is measured of it: attention sub-layers as sums of vectors, and
the vectors between the layers. All measures of a pair read the same pass, and several pairs are one batch.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor

from limelight.attention.attend import permit_keys
from limelight.attention.multi_head import MultiHeadAttention, Rotate
from limelight.errors import UserError
from limelight.models.interface import KeepHeads, Seq2Seq, eval_mode
from limelight.models.transformer.layers import (
    CrossAttentionLayer,
    DecoderLayer,
    EncoderLayer,
    SelfAttentionLayer,
    Sublayer,
)
from limelight.models.transformer.model import Transformer, kept_heads
from limelight.models.transformer.ssru import SSRU, SSRULayer
from limelight.shapes import Bool, Float

Ids = tuple[Sequence[int], Sequence[int]]
"""Source and target tokens, without start and end."""


class Part(NamedTuple):
    """An attention sub-layer for one sentence: the sum of vectors that it computes, sum_h sum_j alpha^h_ij f^h(x_j)."""

    weights: Float[Tensor, "heads rows columns"]
    """alpha^h_ij"""
    transformed: Float[Tensor, "heads columns model"]
    """f^h(x_j)"""
    inputs: Float[Tensor, "rows model"]
    outputs: Float[Tensor, "rows model"]
    scale: Float[Tensor, " model"]
    deviation: Float[Tensor, " rows"] | None
    """By which a normalization after the sub-layer divides, which then multiplies by `scale`; None without one."""

    @property
    def summed(self) -> Float[Tensor, "rows columns model"]:
        """sum_h alpha^h_ij f^h(x_j): what each position takes from each."""
        return torch.einsum("hij,hjd->ijd", self.weights, self.transformed)


class Recurrence(NamedTuple):
    """An SSRU for one sentence. With m_i = [c_i > 0] for ReLU, it is the sum of vectors sum_j m_i f_i ... f_(j+1)
    (1 - f_j) W x_j, the products by component."""

    summed: Float[Tensor, "rows columns model"]
    """The vectors that are summed."""
    inputs: Float[Tensor, "rows model"]
    outputs: Float[Tensor, "rows model"]
    scale: Float[Tensor, " model"]
    deviation: Float[Tensor, " rows"] | None


Parts = Mapping[str, Sequence[Part | Recurrence]]
"""The sub-layers of each kind of attention (`cross`, `encoder_self`, `decoder_self`), the lowest first; a recurrence
takes the place of `decoder_self`."""


class Pass(NamedTuple):
    """What a Transformer computes for one sentence pair. Positions are those of its tokens and of the end."""

    parts: Parts
    encoder: Float[Tensor, "states source model"]
    """The vectors between the layers of the encoder, before a final normalization; the first are the embeddings."""
    decoder: Float[Tensor, "states target model"]
    """The same of the decoder: position t predicts token t."""


def transformer_of(model: Seq2Seq) -> Transformer:
    """The model. Raises `UserError` for others than Transformers with encoder and decoder."""
    if not isinstance(model, Transformer):
        raise UserError(
            "contributions and layers are those of Transformers with encoder and decoder: this is another model"
        )
    return model


def forward_pass(
    model: Seq2Seq, source_ids: Sequence[int], target_ids: Sequence[int], *, keep_heads: KeepHeads | None = None
) -> Pass:
    """The pass of one pair; ids are without start and end. Raises `UserError` as `transformer_of` does."""
    return forward_passes(model, [(source_ids, target_ids)], keep_heads=keep_heads)[0]


def forward_passes(model: Seq2Seq, pairs: Sequence[Ids], *, keep_heads: KeepHeads | None = None) -> list[Pass]:
    """The pass of each pair. All pairs are one batch: callers bound their number and keep their lengths similar.

    Raises `UserError` as `transformer_of` does.
    """
    run = _Run(transformer_of(model), keep_heads)
    with eval_mode(model) as device:
        batch = model.batch([source for source, _ in pairs], [target for _, target in pairs]).to(device)
        may_attend = permit_keys(batch.source_valid)
        encoder = run.encoder(batch.source, may_attend)
        decoder = run.decoder(batch.target_in, encoder[-1], may_attend)
        return [
            Pass(
                {kind: [_alone(part, row, *sizes[kind]) for part in parts] for kind, parts in run.parts.items()},
                torch.stack([state[row, : sizes["cross"][1]] for state in encoder]),
                torch.stack([state[row, : sizes["cross"][0]] for state in decoder]),
            )
            for row, sizes in enumerate(map(_sizes, pairs))
        ]


def _sizes(pair: Ids) -> dict[str, tuple[int, int]]:
    """Rows and columns of each kind of attention."""
    source, target = (len(ids) + 1 for ids in pair)
    return {"cross": (target, source), "encoder_self": (source, source), "decoder_self": (target, target)}


def _alone(part: Part | Recurrence, row: int, rows: int, columns: int) -> Part | Recurrence:
    """The part of one sentence of a batch, without padding."""
    rest = (
        part.inputs[row, :rows],
        part.outputs[row, :rows],
        part.scale,
        None if part.deviation is None else part.deviation[row, :rows],
    )
    if isinstance(part, Recurrence):
        return Recurrence(part.summed[row, :rows, :columns], *rest)
    return Part(part.weights[row, :, :rows, :columns], part.transformed[row, :, :columns], *rest)


class _Run:
    """The layers of a model one after the other; `parts` are those of the whole batch, which is their first axis."""

    def __init__(self, model: Transformer, keep_heads: KeepHeads | None) -> None:
        self.model, self.keep_heads = model, keep_heads
        self.parts: dict[str, list[Part | Recurrence]] = {"cross": [], "encoder_self": [], "decoder_self": []}

    def encoder(self, source: Tensor, may_attend: Bool[Tensor, "batch 1 1 source"]) -> list[Tensor]:
        """The states: layers + 1 times (batch, source, model)."""
        hidden, rotate = self.model.encoder.enter(source)
        found = [hidden]
        for depth, layer in enumerate(cast(list[EncoderLayer], list(self.model.encoder.layers))):
            place = ("encoder_self", f"encoder.{depth}.self")
            hidden = self._attend_self(place, layer, hidden, rotate, may_attend)
            hidden = layer.apply_feed_forward(hidden)
            found.append(hidden)
        return found

    def decoder(self, read: Tensor, encoded: Tensor, may_attend: Bool[Tensor, "batch 1 1 source"]) -> list[Tensor]:
        """The states: layers + 1 times (batch, target, model)."""
        sources = self.model.decoder.project_memory(self.model.encoder.leave(encoded), may_attend)
        hidden, rotate = self.model.decoder.enter(read)
        found = [hidden]
        for depth, layer in enumerate(cast(list[CrossAttentionLayer], list(self.model.decoder.layers))):
            if isinstance(layer, DecoderLayer):
                hidden = self._attend_self(("decoder_self", f"decoder.{depth}.self"), layer, hidden, rotate)
            else:
                hidden = self._recur(cast(SSRULayer, layer), hidden)
            queries = layer.cross_attention.project_queries(layer.cross_sublayer.before(hidden))
            projected = queries, sources[depth].keys, sources[depth].values
            place = ("cross", f"decoder.{depth}.cross")
            hidden = self._attend(place, layer.cross_attention, layer.cross_sublayer, hidden, projected, may_attend)
            hidden = layer.apply_feed_forward(hidden)
            found.append(hidden)
        return found

    def _attend_self(
        self,
        place: tuple[str, str],
        layer: SelfAttentionLayer,
        hidden: Tensor,
        rotate: Rotate | None,
        may_attend: Tensor | None = None,
    ) -> Tensor:
        """The output of self-attention, whose part is kept."""
        projected = layer.attention.project_self(layer.attention_sublayer.before(hidden), rotate)
        return self._attend(place, layer.attention, layer.attention_sublayer, hidden, projected, may_attend)

    def _attend(
        self,
        place: tuple[str, str],
        attention: MultiHeadAttention,
        sublayer: Sublayer,
        hidden: Tensor,
        projected: tuple[Tensor, Tensor, Tensor],
        may_attend: Tensor | None = None,
    ) -> Tensor:
        """The output of a sub-layer, whose part is kept. Without `may_attend` no position attends to later ones."""
        kind, name = place
        kept, (queries, keys, values) = kept_heads(self.keep_heads, name), projected
        output, weights = attention(
            queries, keys, values, may_attend=may_attend, causal=may_attend is None, keep_heads=kept, want_weights=True
        )
        after = sublayer.after(hidden, output)
        # (model, heads * value_size) -> (heads, value_size, model)
        out = attention.out_proj.weight.T.unflatten(0, (attention.heads, attention.value_size))
        transformed = values @ out
        if kept is not None:
            transformed = transformed * (kept[0] if kept.dim() == 2 else kept).to(out.dtype)[:, None, None]
        assert weights is not None
        deviation = _deviation(sublayer, hidden + output)
        self.parts[kind].append(Part(weights, transformed, hidden, after, sublayer.norm.weight, deviation))
        return after

    def _recur(self, layer: SSRULayer, hidden: Tensor) -> Tensor:
        """The output of an SSRU, whose part is kept."""
        sublayer = layer.ssru_sublayer
        given = sublayer.before(hidden)
        after, deviation = layer.recur(hidden), _deviation(sublayer, hidden + layer.ssru(given))
        part = Recurrence(_terms(layer.ssru, given), hidden, after, sublayer.norm.weight, deviation)
        self.parts["decoder_self"].append(part)
        return after


def _deviation(sublayer: Sublayer, total: Float[Tensor, "batch rows model"]) -> Float[Tensor, "batch rows"] | None:
    """By which a normalization after the sub-layer divides."""
    return None if sublayer.norm_first else (total.var(dim=-1, unbiased=False) + sublayer.norm.eps).sqrt()


def _terms(ssru: SSRU, inputs: Float[Tensor, "batch rows model"]) -> Float[Tensor, "batch rows columns model"]:
    """The vectors whose sums over the columns are the outputs of the unit."""
    new, forget = ssru.prepare(inputs)
    cell, rows = torch.zeros_like(new), []
    for row in range(new.shape[1]):
        cell = cell * forget[:, row : row + 1]
        cell[:, row] = (1 - forget[:, row]) * new[:, row]
        rows.append(cell)
    terms = torch.stack(rows, dim=1)
    return terms * (terms.sum(dim=2, keepdim=True) > 0)
