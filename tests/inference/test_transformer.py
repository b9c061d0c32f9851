"""Transformers of packed parts: the readable classes, each linear layer packed once, products with one input joined."""

from collections import Counter

import pytest
import torch
from torch import Tensor, nn

from limelight.inference.linear import Fp32Linear
from limelight.inference.transformer import pack_decoder_only, pack_transformer
from limelight.models.transformer import Transformer
from limelight.models.transformer.halves import DecoderOnly
from tests.models.helpers import decoder_only, make_model, random_batch, transformer

D_MODEL, D_FF, INNER = 11, 13, 6


def packed_shapes(pack, model: nn.Module) -> Counter[tuple[int, ...]]:
    """Of every matrix that is packed."""
    shapes: Counter[tuple[int, ...]] = Counter()

    def linear(weight: Tensor, bias: Tensor | None) -> Fp32Linear:
        shapes[tuple(weight.shape)] += 1
        return Fp32Linear(weight, bias)

    pack(model, linear)
    return shapes


SELF = [(3 * INNER, D_MODEL), (D_MODEL, INNER)]
CROSS = [(INNER, D_MODEL), (2 * INNER, D_MODEL), (D_MODEL, INNER)]
NETWORK = [(D_FF, D_MODEL), (D_MODEL, D_FF)]


def test_a_transformer_is_packed_once() -> None:
    shapes = packed_shapes(pack_transformer, make_model(transformer()))
    assert shapes == Counter([*2 * [*SELF, *NETWORK], *2 * [*SELF, *CROSS, *NETWORK], (28, D_MODEL)])


def test_an_ssru_is_packed_once() -> None:
    """Its two products are one; there is no projection of the output."""
    shapes = packed_shapes(pack_transformer, make_model(transformer(decoder_autoreg="ssru")))
    layer = [(2 * D_MODEL, D_MODEL), *CROSS, *NETWORK]
    assert shapes == Counter([*2 * [*SELF, *NETWORK], *2 * layer, (28, D_MODEL)])


def test_a_decoder_alone_is_packed_once() -> None:
    shapes = packed_shapes(pack_decoder_only, make_model(decoder_only()))
    assert shapes == Counter([*2 * [*SELF, *NETWORK], (28, D_MODEL)])


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@torch.inference_mode()
def test_the_readable_classes_compute_the_same_with_packed_parts(norm: str, positions: str, seed: int) -> None:
    same = {"norm": norm, "positions": positions, "max_positions": 17}
    for model, kind, pack in (
        (make_model(transformer(**same)), Transformer, pack_transformer),
        (make_model(decoder_only(**same)), DecoderOnly, pack_decoder_only),
    ):
        batch, packed = random_batch(model.eval()), pack(model, Fp32Linear).eval()
        assert type(packed) is kind
        torch.testing.assert_close(packed(batch), model(batch), rtol=1e-5, atol=1e-5)


@torch.inference_mode()
def test_a_bias_of_the_output_is_that_of_its_layer(seed: int) -> None:
    model = make_model(transformer(output_bias=True)).eval()
    nn.init.normal_(model.output_bias)
    packed, features = pack_transformer(model, Fp32Linear), torch.randn(5, D_MODEL)
    assert packed.output_bias is None
    torch.testing.assert_close(packed.project(features), model.project(features))
