"""Our Transformer layers against torch's, on shared random weights."""

from collections.abc import Iterable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from limelight.attention.attend import permit_keys
from limelight.attention.multi_head import MultiHeadAttention
from limelight.layers.feed_forward import FeedForward
from limelight.models.cache import SourceView
from limelight.models.transformer.layers import Layer, Reading, Sublayer

D_MODEL, HEADS, D_FF, BATCH, SOURCE, TARGET = 12, 3, 17, 2, 7, 5


def copy_linear(ours: nn.Linear | nn.LayerNorm, theirs: nn.Linear | nn.LayerNorm) -> None:
    ours.weight.copy_(theirs.weight)
    ours.bias.copy_(theirs.bias)


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    parts = (ours.query_proj, ours.key_proj, ours.value_proj)
    weights, biases = theirs.in_proj_weight.chunk(3), theirs.in_proj_bias.chunk(3)
    for part, weight, bias in zip(parts, weights, biases, strict=True):
        part.weight.copy_(weight)
        part.bias.copy_(bias)
    copy_linear(ours.out_proj, theirs.out_proj)


def copy_rest(ours: Layer, theirs: nn.Module, sublayers: Iterable[Sublayer]) -> None:
    copy_linear(ours.feed_forward.inner, theirs.linear1)
    copy_linear(ours.feed_forward.outer, theirs.linear2)
    for number, sublayer in enumerate(sublayers, 1):
        copy_linear(sublayer.norm, getattr(theirs, f"norm{number}"))


def randomize(module: nn.Module) -> None:
    """Biases and norms begin at zero and one, which would hide a mistake."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)


def sublayer(norm_first: bool) -> Sublayer:
    return Sublayer(nn.LayerNorm(D_MODEL), dropout=0.0, norm_first=norm_first)


def random_inputs() -> tuple[Tensor, Tensor, Tensor]:
    valid = torch.tensor([[True] * 4 + [False] * 3, [True] * SOURCE])
    return torch.randn(BATCH, SOURCE, D_MODEL).double(), torch.randn(BATCH, TARGET, D_MODEL).double(), valid


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_encoder_layer(norm_first: bool, activation: str, seed: int) -> None:
    theirs = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, D_FF, dropout=0.0, activation=activation, batch_first=True, norm_first=norm_first
    ).double()
    randomize(theirs)
    network = FeedForward(D_MODEL, D_FF, activation=activation)
    ours = Layer(MultiHeadAttention(D_MODEL, HEADS), network, partial(sublayer, norm_first)).double()
    with torch.no_grad():
        copy_attention(ours.attention, theirs.self_attn)
        copy_rest(ours, theirs, (ours.attention_sublayer, ours.feed_forward_sublayer))

    source, _, valid = random_inputs()
    output = ours(source, Reading(may_attend=permit_keys(valid)))
    expected = theirs(source, src_key_padding_mask=~valid)
    torch.testing.assert_close(output[valid], expected[valid], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("norm_first", [False, True])
def test_decoder_layer(norm_first: bool, seed: int) -> None:
    theirs = nn.TransformerDecoderLayer(
        D_MODEL, HEADS, D_FF, dropout=0.0, batch_first=True, norm_first=norm_first
    ).double()
    randomize(theirs)
    own, across = (MultiHeadAttention(D_MODEL, HEADS) for _ in range(2))
    ours = Layer(own, FeedForward(D_MODEL, D_FF), partial(sublayer, norm_first), cross_attention=across).double()
    with torch.no_grad():
        copy_attention(ours.attention, theirs.self_attn)
        copy_attention(ours.cross_attention, theirs.multihead_attn)
        copy_rest(ours, theirs, (ours.attention_sublayer, ours.cross_sublayer, ours.feed_forward_sublayer))

    memory, target, valid = random_inputs()
    source = SourceView(*ours.cross_attention.project_memory(memory), permit_keys(valid))
    output = ours(target, Reading(causal=True), source)
    future = torch.ones(TARGET, TARGET, dtype=torch.bool).triu(1)
    expected = theirs(target, memory, tgt_mask=future, memory_key_padding_mask=~valid)
    torch.testing.assert_close(output, expected, rtol=1e-10, atol=1e-10)
