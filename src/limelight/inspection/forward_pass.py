"""One forward pass over sentence pairs with all that is measured of it: attention sub-layers as sums of vectors, and
the vectors between the layers. All measures of a pair read the same pass, and several pairs are one batch.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention
from limelight.errors import UserError
from limelight.inspection.probe import Intervention, Seen, probe
from limelight.models.interface import Seq2Seq, eval_mode
from limelight.models.transformer.layers import Sublayer
from limelight.models.transformer.model import Transformer
from limelight.models.transformer.ssru import SSRU, SSRULayer
from limelight.shapes import Float

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
    centered: bool
    """Whether the normalization subtracts the mean."""

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
    centered: bool


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
    model: Seq2Seq,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    *,
    intervention: Intervention | None = None,
) -> Pass:
    """The pass of one pair; ids are without start and end. Raises `UserError` as `transformer_of` does."""
    return forward_passes(model, [(source_ids, target_ids)], intervention=intervention)[0]


def forward_passes(model: Seq2Seq, pairs: Sequence[Ids], *, intervention: Intervention | None = None) -> list[Pass]:
    """The pass of each pair. All pairs are one batch: callers bound their number and keep their lengths similar.

    Raises `UserError` as `transformer_of` does.
    """
    measured = list(_sublayers(transformer_of(model)))
    modules = {f"{each.name} {part}": module for each in measured for part, module in each.modules}
    with eval_mode(model) as device, probe(model, intervention, weights=True, states=True, modules=modules) as seen:
        model(model.batch([source for source, _ in pairs], [target for _, target in pairs]).to(device))
        factors = intervention.keep_heads if intervention else {}
        parts = [(each.kind, _part(each, seen, factors.get(each.name))) for each in measured]
        return [
            Pass(
                {kind: [_alone(part, row, *size) for of, part in parts if of == kind] for kind, size in sizes.items()},
                torch.stack([state[row, : sizes["cross"][1]] for state in seen.stack("encoder")]),
                torch.stack([state[row, : sizes["cross"][0]] for state in seen.stack("decoder")]),
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
        part.centered,
    )
    if isinstance(part, Recurrence):
        return Recurrence(part.summed[row, :rows, :columns], *rest)
    return Part(part.weights[row, :, :rows, :columns], part.transformed[row, :, :columns], *rest)


class _Measured(NamedTuple):
    """A sub-layer that is measured."""

    kind: str
    name: str
    sublayer: Sublayer
    function: MultiHeadAttention | SSRU
    """What the residual connection is around."""

    @property
    def modules(self) -> list[tuple[str, nn.Module]]:
        """The modules whose calls say what it computes."""
        return [("sublayer", self.sublayer), ("norm", self.sublayer.norm), ("function", self.function)]


def _sublayers(model: Transformer) -> Iterator[_Measured]:
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for depth, layer in enumerate(stack.each()):
            own, name = f"{side}_self", f"{side}.{depth}.self"
            if isinstance(layer, SSRULayer):
                yield _Measured(own, name, layer.ssru_sublayer, layer.ssru)
            else:
                yield _Measured(own, name, layer.attention_sublayer, layer.attention)
            if layer.cross_attention is not None:
                yield _Measured("cross", f"{side}.{depth}.cross", layer.cross_sublayer, layer.cross_attention)


def _part(each: _Measured, seen: Seen, factors: Tensor | None) -> Part | Recurrence:
    """The sub-layer of the whole batch, which is the first axis."""
    [(inputs, outputs)], [(normalized, _)], [(given, _)] = (
        seen.modules[f"{each.name} {part}"] for part, _ in each.modules
    )
    scale = cast(Tensor, each.sublayer.norm.weight)
    centered = isinstance(each.sublayer.norm, nn.LayerNorm)
    rest = inputs, outputs, scale, _deviation(each.sublayer, normalized, centered), centered
    if isinstance(each.function, SSRU):
        return Recurrence(_terms(each.function, given), *rest)
    attention, [call] = each.function, seen.calls[each.name]
    # (model, heads * value_size) -> (heads, value_size, model)
    out = attention.out_proj.weight.T.unflatten(0, (attention.heads, attention.value_size))
    transformed = call.values @ out
    if factors is not None:
        transformed = transformed * factors.to(out.dtype)[:, None, None]
    return Part(call.weights, transformed, *rest)


def _deviation(
    sublayer: Sublayer, total: Float[Tensor, "batch rows model"], centered: bool
) -> Float[Tensor, "batch rows"] | None:
    """By which a normalization after the sub-layer divides."""
    if sublayer.norm_first:
        return None
    if not isinstance(sublayer.norm, nn.LayerNorm | nn.RMSNorm):
        raise UserError(f"what a sub-layer computes cannot be divided after a {type(sublayer.norm).__name__}")
    squares = total.var(dim=-1, unbiased=False) if centered else total.square().mean(dim=-1)
    return (squares + cast(float, sublayer.norm.eps)).sqrt()


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
