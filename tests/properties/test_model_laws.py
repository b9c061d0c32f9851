"""Laws that hold for every model, whatever it computes: one test each, over all the configurations there are.

Models are random, in float64 and without dropout, so that equal means equal to rounding. Sizes are different primes on
every axis where the model allows it: 3 rows, 7 source and 5 target positions, 31 and 29 tokens, widths 11 or 13.
"""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from limelight.attention.local import LocalPredictive
from limelight.batching.batch import Batch
from limelight.config import DecoderOnlyConfig, TransformerConfig
from limelight.inspection.attention_map import NAMES
from limelight.inspection.probe import Recording, probe
from limelight.models.interface import Seq2Seq
from limelight.models.transformer.halves import DecoderOnly
from tests.models.helpers import batch_of, every_model, exact_model, make_model, random_batch, random_rows

MODELS = dict(every_model())
ATTENTIVE = {name: config for name, config in MODELS.items() if getattr(config, "wiring", "") != "fixed"}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, seed: int) -> Seq2Seq:
    return exact_model(MODELS[request.param])


@pytest.fixture(params=ATTENTIVE)
def attentive(request: pytest.FixtureRequest, seed: int) -> Seq2Seq:
    return exact_model(ATTENTIVE[request.param])


def assert_same(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def step_through(model: Seq2Seq, batch: Batch) -> Tensor:
    """Features of all positions, one step after the other."""
    state = model.start(model.encode(batch.source, batch.source_valid))
    features = []
    for ids in batch.target_in.split(1, dim=1):
        position, state = model.step(ids, state)
        features.append(position)
    return torch.cat(features, dim=1)


def test_padding_changes_nothing(model: Seq2Seq) -> None:
    sources = random_rows((6, 1, 4), model.source_padding + 1)
    targets = random_rows((2, 4, 3), model.target_padding + 1)
    together = model(batch_of(model, sources, targets))
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        alone = model(batch_of(model, [source], [target]))
        assert_same(together[row, : len(target) + 1], alone[0])


def test_what_stands_in_the_padding_changes_nothing(model: Seq2Seq) -> None:
    batch = random_batch(model)
    source = torch.where(batch.source_valid, batch.source, torch.randint(model.source_padding, batch.source.shape))
    target_in = torch.where(batch.target_valid, batch.target_in, torch.randint(model.target_padding, (3, 5)))
    changed = model(replace(batch, source=source, target_in=target_in))
    assert_same(changed[batch.target_valid], model(batch)[batch.target_valid])


def test_the_future_does_not_change_the_past(model: Seq2Seq) -> None:
    batch = random_batch(model)
    features = model(batch)
    for changed in range(5):
        target_in = batch.target_in.clone()
        target_in[:, changed] = (target_in[:, changed] + 1) % model.target_padding
        later = model(replace(batch, target_in=target_in))
        assert_same(later[:, :changed], features[:, :changed])
        assert not torch.allclose(later[:, changed], features[:, changed])


def test_step_by_step_equals_all_at_once(model: Seq2Seq) -> None:
    batch = random_batch(model)
    assert_same(step_through(model, batch), model(batch))


def test_every_source_position_matters(model: Seq2Seq) -> None:
    batch = random_batch(model, source_lengths=(6, 6, 6))
    features = model(batch)
    for position in range(7):
        source = batch.source.clone()
        source[:, position] = (source[:, position] + 1) % model.source_padding
        assert not torch.allclose(model(replace(batch, source=source)), features, rtol=1e-7, atol=1e-9)


def test_weights_sum_to_one_and_put_nothing_on_padding_or_the_future(attentive: Seq2Seq) -> None:
    batch = random_batch(attentive)
    _, seen = weighted(attentive, batch)
    nowhere = ~batch.source_valid[:, None, None, :]
    for layer in (*seen.layers("encoder_self"), *seen.layers("cross")):
        if not has_factors(attentive):
            assert_same(layer.sum(-1), torch.ones_like(layer[..., 0]))
        assert (layer.masked_select(nowhere) == 0).all()
    for layer in seen.layers("decoder_self"):
        future = torch.ones(layer.shape[-2:], dtype=torch.bool).triu(1)
        assert_same(layer.sum(-1), torch.ones_like(layer[..., 0]))
        assert (layer.masked_select(future) == 0).all()


def has_factors(model: Seq2Seq) -> bool:
    """Whether weights are multiplied after the softmax, by a Gaussian."""
    return any(isinstance(part, LocalPredictive) for part in model.modules())


@pytest.mark.parametrize("name", MODELS)
def test_weights_have_a_tensor_per_attention(name: str, seed: int) -> None:
    config = MODELS[name]
    model = exact_model(config)
    _, seen = weighted(model, random_batch(model))
    shapes = {kind: [tuple(layer.shape) for layer in layers] for kind in NAMES if (layers := seen.layers(kind))}
    if isinstance(config, TransformerConfig):
        expected = {"encoder_self": [(3, 3, 7, 7)] * config.encoder_layers}
        if config.decoder_autoreg == "self-attention":
            expected["decoder_self"] = [(3, 3, 5, 5)] * config.decoder_layers
        assert shapes == {**expected, "cross": [(3, 3, 5, 7)] * config.decoder_layers}
    elif isinstance(config, DecoderOnlyConfig):
        assert shapes == {"decoder_self": [(3, 3, 12, 12)] * config.layers}
    elif config.wiring == "fixed":
        assert shapes == {}
    else:
        assert shapes == {"cross": [(3, 1, 5, 7)]}


def weighted(model: Seq2Seq, batch: Batch) -> tuple[Tensor, Recording]:
    """Features and weights."""
    with probe(model, weights=True) as seen:
        return model(batch), seen


def test_every_head_can_be_switched_off(attentive: Seq2Seq) -> None:
    batch = random_batch(attentive)
    expected, seen = weighted(attentive, batch)
    for name, layer in seen.weights.items():
        chosen = int(torch.randint(layer.shape[1], ()))
        for head in range(layer.shape[1]):
            without = torch.ones(layer.shape[1])
            without[head] = 0
            with probe(attentive, {name: without}):
                features = attentive(batch)
                assert not torch.allclose(features, expected), (name, head)
                if head == chosen:  # one of each layer: with every head, this took a tenth of the time of all laws
                    assert_same(step_through(attentive, batch), features)
                    assert_same(weighted(attentive, batch)[0], features)


def test_no_output_class_for_padding(model: Seq2Seq) -> None:
    batch = random_batch(model)
    assert model.project(model(batch)).shape == (3, 5, model.target_padding)
    assert model.output_size == model.target_padding == 28
    assert model.start_id == (0 if isinstance(model, DecoderOnly) else 28)


def test_gradients_reach_every_parameter(model: Seq2Seq) -> None:
    batch = random_batch(model)
    logits = model.project(model(batch))
    functional.cross_entropy(logits[batch.target_valid], batch.target_out[batch.target_valid]).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        # A bias of the keys shifts all scores of a query alike, which softmax does not see.
        assert parameter.grad.any() or name.endswith("key_proj.bias"), name


@pytest.mark.parametrize("name", MODELS)
def test_dropout_repeats_with_the_seed(name: str, seed: int) -> None:
    model = make_model(MODELS[name].model_copy(update={"dropout": 0.3})).train()
    batch = random_batch(model)
    runs = []
    for number in (seed, seed, seed + 1):
        torch.manual_seed(number)
        runs.append(model(batch))
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])
