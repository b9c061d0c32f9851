"""A model made ready for decoding: the same features, fewer products, and nothing of the original changed."""

import pytest
import torch
from torch import Tensor, nn

from limelight.attention.scores import Score
from limelight.config import ModelConfig
from limelight.errors import UserError
from limelight.inference.linear import Bf16Linear, Fp32Linear, int8_kind
from limelight.inference.prepare import _in_bf16, prepare
from limelight.models.interface import Seq2Seq
from tests.models.helpers import every_model, make_model, random_batch, transformer

MODELS = {
    **dict(every_model()),
    "transformer-bias": transformer(output_bias=True),
    "transformer-none-bias": transformer(output_bias=True, tie="none"),
}
KINDS = {"fp32": Fp32Linear, "bf16": Bf16Linear, "int8": int8_kind()}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, seed: int) -> Seq2Seq:
    return built(MODELS[request.param])


def built(config: ModelConfig) -> Seq2Seq:
    """With biases that are not all zero."""
    model = make_model(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "bias" in name:
                weight.normal_()
    return model


def assert_same(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


def linear_layers(model: nn.Module) -> list[nn.Module]:
    """Those that a prepared model must not have; scores keep theirs."""
    kept = {id(part) for score in model.modules() if isinstance(score, Score) for part in score.modules()}
    return [part for part in model.modules() if isinstance(part, nn.Linear) and id(part) not in kept]


def step_through(model: Seq2Seq, source: Tensor, valid: Tensor, target: Tensor) -> Tensor:
    state = model.start(model.encode(source, valid), 2)
    features = []
    for ids in target.unbind(dim=1):
        position, state = model.step(torch.stack([ids, ids.flip(0)], dim=1), state)
        state = state.reorder(torch.tensor([[0, 0]] * len(ids)))
        features.append(position)
    return torch.stack(features)


@torch.inference_mode()
def test_features_are_the_same(model: Seq2Seq) -> None:
    batch, ready = random_batch(model), prepare(model, "fp32")
    features, found = model(batch), ready(batch)
    assert_same(found, features)
    assert_same(ready.project(found), model.project(features))
    given = batch.source, batch.source_valid, batch.target_in
    assert_same(step_through(ready, *given), step_through(model, *given))


@torch.inference_mode()
@pytest.mark.parametrize("precision", KINDS)
def test_every_linear_layer_is_of_that_precision_and_features_in_fewer_bits_are_near(
    model: Seq2Seq, precision: str
) -> None:
    """How near is the business of each layer; here no layer may be another."""
    assert linear_layers(model)
    ready = prepare(model, precision)
    assert linear_layers(ready) == []
    if not ready.searches:  # the layers of a compiled model are arrays
        assert {type(part) for part in ready.modules()} & set(KINDS.values()) == {KINDS[precision]}
    if precision == "fp32":  # see `test_features_are_the_same`
        return
    batch = random_batch(model)
    expected, found = model(batch), ready(batch)
    assert found.dtype == torch.float32
    assert torch.cosine_similarity(found.flatten(), expected.flatten(), dim=0) > 0.95
    logits = ready.project(found)
    assert not torch.equal(logits, model.project(expected))
    assert torch.cosine_similarity(logits.flatten(), model.project(expected).flatten(), dim=0) > 0.95


def test_modes_are_not_shared_and_packed_weights_have_no_matrix(model: Seq2Seq) -> None:
    """The readable model may be training while the other decodes. Who wants the matrix of the projection asks the
    readable model."""
    model.train()
    ready = prepare(model, "fp32")
    assert not any(part.training for part in ready.modules())
    assert all(part.training for part in model.modules())
    with pytest.raises(TypeError, match=r"is not a linear layer|are packed"):
        ready.output_weights()


def test_an_unknown_precision_is_refused(seed: int) -> None:
    with pytest.raises(UserError, match="unknown precision 'int4'; choose from fp32, bf16, int8"):
        prepare(make_model(transformer()), "int4")


@torch.inference_mode()
@pytest.mark.parametrize("positions", ["rotary", "sinusoidal"])
def test_a_whole_model_in_bf16_keeps_its_angles(positions: str, seed: int) -> None:
    """As on a GPU, where the parameters become bf16. Rates of rotary positions that did as well would turn a head by
    quite another angle at its two-hundredth position."""
    model = built(transformer(positions=positions))
    half = _in_bf16(model)
    assert {weight.dtype for weight in half.parameters()} == {torch.bfloat16}
    batch = random_batch(model, (197, 211), (193, 199))
    expected, found = model(batch).flatten(0, 1), half(batch).float().flatten(0, 1)
    assert torch.cosine_similarity(found, expected, dim=1).min() > 0.9
    buffers = dict(model.named_buffers())
    assert bool(buffers) == (positions == "rotary")
    for name, kept in half.named_buffers():
        assert torch.equal(kept, buffers[name])
        assert kept.dtype == torch.float32


def test_on_a_gpu_bf16_is_a_copy_of_the_whole_model(seed: int) -> None:
    """Torch's device without memory stands for one: what decides is that it is not the CPU."""
    model = make_model(transformer()).to("meta")
    assert prepare(model, "fp32") is model
    half = prepare(model, "bf16")
    assert {weight.dtype for weight in half.parameters()} == {torch.bfloat16}
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    with pytest.raises(UserError, match="precision int8 is for the CPU; on a GPU use bf16, or hide it with CUDA_VISI"):
        prepare(model, "int8")
