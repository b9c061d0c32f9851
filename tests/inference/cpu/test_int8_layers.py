"""Compiled layers of eight bits: the features of a model whose weights are rounded as theirs are, whatever becomes of
the hypotheses."""

import copy

import pytest
import torch
from torch import nn

from limelight.inference import linear as layers
from limelight.inference import prepare as preparing
from limelight.inference.cpu import int8_layers
from limelight.inference.cpu.int8 import without_overflow
from limelight.inference.cpu.int8_layers import Int8Layers
from limelight.inference.cpu.state import CompiledState
from limelight.inference.cpu.transformer import CompiledTransformer, ProductLayers
from limelight.inference.linear import CompiledInt8Linear, int8_kind
from limelight.inference.prepare import prepare
from limelight.layers.embedding import quantize_rows
from limelight.models.transformer import Transformer
from tests.models.followed import Followed, assert_same, begun, random_sources
from tests.models.helpers import make_model, transformer

pytestmark = pytest.mark.skipif(int8_kind() is not CompiledInt8Linear, reason="needs numba and avx2")

TOLERANCE = 0.15
"""What rounding activations to eight bits leaves stays below a quarter of this; features are normalized to one."""

CONFIGS = {
    "post": transformer(),
    "pre": transformer(norm="pre"),
    "learned": transformer(positions="learned", max_positions=19),
    "wide-values": transformer(value_size=5),
    "narrow-values": transformer(head_size=7, value_size=3, norm="pre"),
    "split": transformer(d_model=12, head_size=None, activation="gelu", tie="two-way"),
    "untied": transformer(norm="pre", activation="swish", tie="none", output_bias=True),
    "deep": transformer(encoder_layers=1, decoder_layers=3, sinusoid_layout="halves"),
    "rotary": transformer(positions="rotary"),
    "rotary-pre": transformer(positions="rotary", norm="pre", head_size=6, value_size=3),
    "ssru": transformer(decoder_autoreg="ssru"),
    "ssru-pre-rotary": transformer(decoder_autoreg="ssru", norm="pre", positions="rotary"),
}


@pytest.fixture(params=CONFIGS)
def model(request: pytest.FixtureRequest, seed: int) -> Transformer:
    return built(request.param)


def built(name: str) -> Transformer:
    """With biases that are not all zero."""
    model = make_model(CONFIGS[name]).eval()
    with torch.no_grad():
        for part, weight in model.named_parameters():
            if "bias" in part:
                weight.normal_()
    return model


def prepared(model: Transformer) -> CompiledTransformer:
    ready = prepare(model, "int8")
    assert isinstance(ready, CompiledTransformer)
    assert isinstance(ready.layers, Int8Layers)
    return ready


def rounded(model: Transformer) -> Transformer:
    """A copy with linear layers rounded to eight bits, which computes in fp32."""
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for part in twin.modules():
            if isinstance(part, nn.Linear):
                values, scales = quantize_rows(part.weight)
                rows, factors = without_overflow(values.numpy(), scales.numpy())
                part.weight.copy_(torch.from_numpy(rows * factors[:, None]))
    return twin


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each feed-forward network was given."""
    rows: list[int] = []
    feed_forward = int8_layers.Int8Layer.feed_forward

    def counting(layer: int8_layers.Int8Layer, hidden: object) -> None:
        rows.append(len(hidden))
        feed_forward(layer, hidden)

    monkeypatch.setattr(int8_layers.Int8Layer, "feed_forward", counting)
    return rows


@torch.inference_mode()
@pytest.mark.parametrize("life", range(3))
def test_a_random_life(model: Transformer, monkeypatch: pytest.MonkeyPatch, seed: int, life: int) -> None:
    """Sentences join and leave, so that rows are sometimes few and sometimes not."""
    monkeypatch.setattr("limelight.inference.cpu.state.FIRST_ROOM", 3)
    followed = Followed.at_random(prepared(model), seed + life, truth=rounded(model), tolerance=TOLERANCE)
    assert isinstance(followed.state, CompiledState)
    followed.live(13)


@torch.inference_mode()
@pytest.mark.parametrize("width", [1, 3, 17])
@pytest.mark.parametrize("lengths", [(7,), (5, 2), (1, 9, 70, 3)])
def test_between_embedding_and_output_the_loops_do_everything(
    model: Transformer, counted: list[int], width: int, lengths: tuple[int, ...]
) -> None:
    """Of few hypotheses and of many; the encoder has a row for each token and end, and none for padding."""
    if max(lengths) > 18 and model is not None and "learned" in str(type(model.encoder.positions)).lower():
        lengths = (1, 9, 18, 3)  # it has learned nineteen positions
    ready = prepared(model)
    followed = Followed(ready, random_sources(ready, lengths), width, truth=rounded(model), tolerance=TOLERANCE)
    assert counted == [sum(lengths) + len(lengths)] * len(model.encoder.layers)
    for _ in range(3):
        followed.step()
        followed.reorder()
    assert counted[len(model.encoder.layers) :] == [width * len(lengths)] * 3 * len(model.decoder.layers)


@torch.inference_mode()
def test_padding_and_heads_that_are_switched_off_are_seen_to(seed: int, counted: list[int]) -> None:
    model = built("post")
    ready, source = prepared(model), torch.randint(1, 28, (1, 5))
    padded = torch.cat([source, torch.full((1, 2), ready.source_padding)], dim=1)
    valid = torch.arange(7)[None] < 5
    features = ready.encode(padded, valid).features
    assert torch.equal(features[:, :5], ready.encode(source, source > 0).features)
    assert not features[:, 5:].any()
    counted.clear()
    off = {"encoder.0.self": torch.zeros(3)}
    switched = ready.encode(source, source > 0, keep_heads=off).features
    assert counted == []
    assert_same(switched, rounded(model).encode(source, source > 0, keep_heads=off).features, TOLERANCE)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_other_precisions_take_products(precision: str, seed: int) -> None:
    assert isinstance(prepare(built("post"), precision).layers, ProductLayers)


def test_other_models_do_without(seed: int) -> None:
    assert isinstance(prepare(built("post").double(), "int8"), Transformer)


def test_without_numba_torch_does_it(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparing, "CompiledTransformer", None)
    monkeypatch.setattr(layers, "CompiledInt8Linear", None)
    if int8_kind() is None:
        pytest.skip("torch has no int8 products here")
    model = built("post")
    ready = prepare(model, "int8")
    assert isinstance(ready, Transformer)
    with torch.inference_mode():
        followed = Followed(ready, random_sources(ready, (4,)), 2, truth=rounded(model), tolerance=TOLERANCE)
        followed.step()


def test_the_readable_model_is_left_as_it_is(seed: int) -> None:
    model = built("pre")
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    ready = prepared(model)
    state = begun(ready, random_sources(ready, (6,)), 3)  # gradients are on: nothing of it may need them
    for _ in range(3):
        _, state = ready.step(torch.full((1, 3), ready.start_id), state)
    for name, weight in model.state_dict().items():
        assert torch.equal(weight, before[name])
