"""One forward pass over a sentence pair, with its attention sub-layers as sums of vectors."""

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
) -> Parts:
    """The sub-layers of a pair; ids are without start and end. Raises `UserError` as `transformer_of` does."""
    measured = list(_sublayers(transformer_of(model)))
    modules = {f"{each.name} {part}": module for each in measured for part, module in each.modules}
    factors = intervention.keep_heads if intervention else {}
    with eval_mode(model) as device, probe(model, intervention, weights=True, modules=modules) as seen:
        model(model.batch([source_ids], [target_ids]).to(device))
        parts = [(each.kind, _part(each, seen, factors.get(each.name))) for each in measured]
    kinds = ("cross", "encoder_self", "decoder_self")
    return {kind: [part for of, part in parts if of == kind] for kind in kinds}


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
    """The sub-layer of the only sentence of a batch."""
    [(inputs, outputs)], [(normalized, _)], [(given, _)] = (
        seen.modules[f"{each.name} {part}"] for part, _ in each.modules
    )
    centered = isinstance(each.sublayer.norm, nn.LayerNorm)
    deviation = _deviation(each.sublayer, normalized[0], centered)
    rest = inputs[0], outputs[0], cast(Tensor, each.sublayer.norm.weight), deviation, centered
    if isinstance(each.function, SSRU):
        return Recurrence(_terms(each.function, given)[0], *rest)
    attention, [call] = each.function, seen.calls[each.name]
    # (model, heads * value_size) -> (heads, value_size, model)
    out = attention.out_proj.weight.T.unflatten(0, (attention.heads, attention.value_size))
    transformed = call.values[0] @ out
    if factors is not None:
        transformed = transformed * factors.to(out.dtype)[:, None, None]
    return Part(call.weights[0], transformed, *rest)


def _deviation(sublayer: Sublayer, total: Float[Tensor, "rows model"], centered: bool) -> Float[Tensor, " rows"] | None:
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
