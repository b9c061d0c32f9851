"""Packing replaces linear layers and nothing else: any model computes the same function, subclasses included."""

import pytest
import torch
from torch import Tensor, nn

from limelight.attention.multi_head import MultiHeadAttention
from limelight.inference.prepare import prepare
from limelight.layers.feed_forward import FeedForward
from limelight.models.transformer.layers import Layer
from limelight.models.transformer.model import Transformer
from tests.models.helpers import make_model, random_batch, transformer


class Gated(FeedForward):
    """SwiGLU (Shazeer 2020): the inner layer is multiplied by a gate."""

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__(d_model, d_ff, activation="swish")
        self.gate = nn.Linear(d_model, d_ff)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.outer(self.activation(self.inner(inputs)) * self.gate(inputs))


class NormedQueries(MultiHeadAttention):
    """QK-norm (Henry et al. 2020): queries and keys have unit length."""

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor, **mask: object) -> Tensor:
        queries, keys = (3 * nn.functional.normalize(part, dim=-1) for part in (queries, keys))
        return super().forward(queries, keys, values, **mask)


def gated(model: Transformer) -> None:
    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.feed_forward = Gated(11, 13)


def normed_queries(model: Transformer) -> None:
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.__class__ = NormedQueries


class ScaledLayer(Layer):
    def forward(self, inputs: Tensor, *given: object) -> Tensor:
        return 0.5 * super().forward(inputs, *given)


def scaled_layers(model: Transformer) -> None:
    for layer in model.decoder.layers:
        layer.__class__ = ScaledLayer


def stepped(model: Transformer, batch) -> Tensor:
    state, features = model.start(model.encode(batch.source, batch.source_valid), 2), []
    for ids in batch.target_in.split(1, dim=1):
        found, state = model.step(ids.expand(-1, 2), state)
        features.append(found[:, :1])
    return model.project(torch.cat(features, dim=1))


@pytest.mark.parametrize("change", [gated, normed_queries, scaled_layers])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
@torch.inference_mode()
def test_a_subclass_decodes_as_it_was_trained(change, precision: str, seed: int) -> None:
    model = make_model(transformer(norm="pre")).eval()
    plain = stepped(model, batch := random_batch(model))
    change(model)
    expected, found = stepped(model.eval(), batch), stepped(prepare(model, precision), batch)
    off, apart = (found - expected).abs(), (expected - plain).abs()
    if precision == "fp32":
        assert off.max() < 1e-4 < apart.max()
    else:  # rounding to 8 bits may turn single short vectors by much, but not all of them
        assert off.mean() < 0.03 * expected.abs().max()
        assert off.mean() < apart.mean()
