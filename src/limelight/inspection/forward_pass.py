"""One forward pass over a sentence pair, with its attention sub-layers as sums of vectors."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention
from limelight.errors import UserError
from limelight.inspection.probe import Intervention, Seen, probe
from limelight.models.interface import Seq2Seq, eval_mode
from limelight.models.transformer.layers import Sublayer
from limelight.models.transformer.model import Transformer
from limelight.models.transformer.ssru import SSRULayer
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


Parts = Mapping[str, Sequence[Part]]
"""The sub-layers of each kind of attention (`cross`, `encoder_self`, `decoder_self`), the lowest first."""


def transformer_of(model: Seq2Seq) -> Transformer:
    """The model. Raises `UserError` for others than Transformers with encoder and decoder."""
    if not isinstance(model, Transformer):
        raise UserError(
            "contributions and layers are those of Transformers with encoder and decoder: this is another model"
        )
    return model


def has_parts(model: Seq2Seq) -> bool:
    """Whether `forward_pass` divides a model: a Transformer with encoder and decoder, and without SSRU."""
    return isinstance(model, Transformer) and not any(isinstance(layer, SSRULayer) for layer in model.decoder.layers)


def forward_pass(
    model: Seq2Seq,
    source_ids: Sequence[int],
    target_ids: Sequence[int],
    *,
    intervention: Intervention | None = None,
) -> Parts:
    """The sub-layers of a pair; ids are without start and end. Raises `UserError` as `transformer_of` does, and for a
    decoder without self-attention."""
    transformer = transformer_of(model)
    if not has_parts(model):
        raise UserError("contributions are those of attention, and the decoder of this model has no self-attention")
    measured = dict[str, tuple[str, Sublayer, MultiHeadAttention]]()
    for side, stack in (("encoder", transformer.encoder), ("decoder", transformer.decoder)):
        for depth, layer in enumerate(stack.each()):
            measured[f"{side}.{depth}.self"] = f"{side}_self", layer.attention_sublayer, layer.attention
            if layer.cross_attention is not None:
                measured[f"{side}.{depth}.cross"] = "cross", layer.cross_sublayer, layer.cross_attention
    modules = {name: sublayer for name, (_, sublayer, _) in measured.items()}
    norms = {f"{name} norm": sublayer.norm for name, sublayer in modules.items()}
    factors = intervention.keep_heads if intervention else {}
    parts: dict[str, list[Part]] = {"cross": [], "encoder_self": [], "decoder_self": []}
    with eval_mode(model) as device, probe(model, intervention, weights=True, modules={**modules, **norms}) as seen:
        model(model.batch([source_ids], [target_ids]).to(device))
        for name, (kind, sublayer, attention) in measured.items():
            parts[kind].append(_part(seen, name, sublayer, attention, factors.get(name)))
    return parts


def _part(seen: Seen, name: str, sublayer: Sublayer, attention: MultiHeadAttention, factors: Tensor | None) -> Part:
    """The sub-layer of the only sentence of a batch."""
    [(inputs, outputs)], [(normalized, _)], [call] = seen.modules[name], seen.modules[f"{name} norm"], seen.calls[name]
    # (model, heads * value_size) -> (heads, value_size, model)
    out = attention.out_proj.weight.T.unflatten(0, (attention.heads, attention.value_size))
    transformed = call.values[0] @ out
    if factors is not None:
        transformed = transformed * factors.to(out.dtype)[:, None, None]
    centered = isinstance(sublayer.norm, nn.LayerNorm)
    deviation = _deviation(sublayer, normalized[0], centered)
    scale = cast(Tensor, sublayer.norm.weight)
    return Part(call.weights[0], transformed, inputs[0], outputs[0], scale, deviation, centered)


def _deviation(sublayer: Sublayer, total: Float[Tensor, "rows model"], centered: bool) -> Float[Tensor, " rows"] | None:
    """By which a normalization after the sub-layer divides."""
    if sublayer.norm_first:
        return None
    if not isinstance(sublayer.norm, nn.LayerNorm | nn.RMSNorm):
        raise UserError(f"what a sub-layer computes cannot be divided after a {type(sublayer.norm).__name__}")
    squares = total.var(dim=-1, unbiased=False) if centered else total.square().mean(dim=-1)
    return (squares + cast(float, sublayer.norm.eps)).sqrt()
