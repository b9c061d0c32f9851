"""The Transformer in compiled code: it obeys the laws of a state, and computes what the readable model computes with
rounded weights."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn

pytest.importorskip("numba")

from limelight.config.models import NORMS
from limelight.inference.cpu.state import CompiledState
from limelight.inference.cpu.transformer import CompiledTransformer
from limelight.inference.cpu.weights import CompiledInt8Linear, without_overflow
from limelight.inference.linear import int8_kind
from limelight.inference.prepare import prepare
from limelight.models.transformer.model import Transformer
from limelight.storage.weights import quantize_rows
from tests.models.followed import Followed, random_sources
from tests.models.helpers import make_model, transformer

pytestmark = pytest.mark.skipif(int8_kind() is None, reason="needs AVX2")

TOLERANCES = {"fp32": 1e-5, "int8": 0.15}
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
    "ssru-pre-rotary": transformer(decoder_autoreg="ssru", norm="pre", positions="rotary", value_size=3),
}


@pytest.fixture(params=CONFIGS)
def model(request: pytest.FixtureRequest, seed: int) -> Transformer:
    """With biases that are not all zero."""
    model = make_model(CONFIGS[request.param]).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "bias" in name:
                weight.normal_()
    return model


@pytest.fixture(params=["fp32", "int8"])
def precision(request: pytest.FixtureRequest) -> str:
    return request.param


def prepared(model: Transformer, precision: str) -> CompiledTransformer:
    ready = prepare(model, precision)
    assert isinstance(ready, CompiledTransformer)
    return ready


def truth(model: Transformer, precision: str) -> Transformer:
    """The model itself; for int8 a copy with linear layers rounded to eight bits, which computes in fp32."""
    if precision == "fp32":
        return model
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for part in twin.modules():
            if isinstance(part, nn.Linear):
                values, scales = quantize_rows(part.weight)
                rows, factors = without_overflow(values.numpy(), scales.numpy())
                part.weight.copy_(torch.from_numpy(rows * factors[:, None]))
    return twin


@torch.inference_mode()
@pytest.mark.parametrize("life", range(3))
def test_a_random_life(
    model: Transformer, precision: str, monkeypatch: pytest.MonkeyPatch, seed: int, life: int
) -> None:
    """There is room for three positions at first, so that it becomes too small while sentences come and go."""
    monkeypatch.setattr("limelight.inference.cpu.transformer.FIRST_ROOM", 3)
    ready = prepared(model, precision)
    followed = Followed.at_random(ready, seed + life, truth=truth(model, precision), tolerance=TOLERANCES[precision])
    assert isinstance(followed.state, CompiledState)
    followed.live(13)


@torch.inference_mode()
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@pytest.mark.parametrize(("length", "steps"), [(300, 2), (13, 27)])
def test_long_sequences_have_larger_tables(
    positions: str, length: int, steps: int, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """They have 11 positions at first: the source makes them larger, and then the target, which gets longer."""
    monkeypatch.setattr("limelight.inference.cpu.network.FIRST_POSITIONS", 11)
    model = make_model(transformer(positions=positions)).eval()
    ready = prepared(model, "fp32")
    followed = Followed(ready, random_sources(ready, (length, 3)), 1, truth=model, tolerance=TOLERANCES["fp32"])
    for _ in range(steps):
        followed.step()


@pytest.mark.parametrize(
    "changed", [{"score": "dot"}, {"score": "additive"}, {"norm_type": "rms_norm"}, {"kv_heads": 1}]
)
def test_other_parts_are_not_compiled(changed: dict, seed: int) -> None:
    """Such a model takes the readable path, with packed layers."""
    ready = prepare(make_model(transformer(**changed)).eval(), "int8")
    assert type(ready) is Transformer
    assert any(isinstance(part, CompiledInt8Linear) for part in ready.modules())


@pytest.mark.parametrize("norm", [lambda width: nn.LayerNorm(width, bias=False), lambda width: nn.Identity()])
def test_nor_are_norms_of_a_plugin(
    norm: Callable[[int], nn.Module], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setitem(NORMS.parts, "plain", norm)
    assert type(prepare(make_model(transformer(norm_type="plain")).eval(), "fp32")) is Transformer
