"""A bf16 copy computes; the fp32 weights learn."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import median

import pytest
import torch

from limelight.config import ModelConfig, RecurrentConfig, TransformerConfig
from limelight.models.interface import Seq2Seq
from limelight.training.optimization import precision
from limelight.training.optimization.loss import batch_loss
from limelight.training.optimization.precision import HalfCopy
from limelight.training.optimization.update import update
from tests.models.helpers import make_model, random_batch
from tests.training.helpers import go, last_weights, log_of, tiny_run, trace_of, with_training

SIZES = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 44, "heads": 2, "d_ff": 53, "dropout": 0.0}
CONFIGS: dict[str, ModelConfig] = {
    "post-norm": TransformerConfig(**SIZES),
    "pre-norm, rotary": TransformerConfig(**SIZES, norm="pre", positions="rotary"),
    "learned positions, bias": TransformerConfig(**SIZES, positions="learned", tie="none", output_bias=True),
    "bahdanau": RecurrentConfig(embedding=41, hidden=43, score_size=47, dropout=0.0),
    "luong lstm": RecurrentConfig(embedding=41, hidden=43, wiring="luong", score="general", cell="lstm", dropout=0.0),
    "no input feeding": RecurrentConfig(
        embedding=41, hidden=43, wiring="luong", score="dot", input_feeding=False, dropout=0.0
    ),
    "fixed": RecurrentConfig(embedding=41, hidden=43, wiring="fixed", dropout=0.0),
}


def learn(model: Seq2Seq, computing: Seq2Seq, batches: list, optimizer: torch.optim.Optimizer) -> float:
    settings = {"loss": partial(batch_loss, label_smoothing=0.1), "clip_norm": 1.0, "interruptible": nullcontext()}
    return update(computing, batches, optimizer, **settings).read().loss_sum


@pytest.mark.parametrize("name", CONFIGS)
def test_its_gradients_are_those_of_the_model_but_for_rounding(name: str, seed: int) -> None:
    """In the middle of five models: about one random model in fifty, pre-norm and rotary, is so badly conditioned that
    rounding its weights alone moves the gradients by a tenth."""
    assert median(distance_of_gradients(CONFIGS[name]) for _ in range(5)) < 0.1


def distance_of_gradients(config: ModelConfig) -> float:
    """How far the copy's gradients of a batch are from the model's, as a share of their length."""
    model = make_model(config).train()
    batch = random_batch(model, (7, 11, 5) * 5, (13, 3, 8) * 5)
    loss = batch_loss(model, batch, label_smoothing=0.1)
    loss.backward()
    whole = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    model.zero_grad(set_to_none=True)
    copied = batch_loss(HalfCopy(model).refreshed(), batch, label_smoothing=0.1)
    copied.backward()
    assert copied.item() == pytest.approx(loss.item(), rel=5e-3)
    found = torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
    assert found.dtype == torch.float32
    return ((found - whole).norm() / whole.norm()).item()


def test_gradients_of_several_batches_are_added_in_fp32(seed: int) -> None:
    """Hundreds of equal gradients: a sum in bf16 would stand still after 256 of them."""
    model = make_model(CONFIGS["post-norm"]).train()
    half, batch = HalfCopy(model), random_batch(model)
    batch_loss(half.refreshed(), batch, label_smoothing=0.1).backward()
    once = [parameter.grad.clone() for parameter in model.parameters()]
    computing = half.refreshed()
    for _ in range(9):
        batch_loss(computing, batch, label_smoothing=0.1).backward()
    for parameter, single in zip(model.parameters(), once, strict=True):
        torch.testing.assert_close(parameter.grad, 10 * single, rtol=1e-5, atol=1e-9)


def test_tied_weights_stay_tied_and_frozen_ones_frozen(seed: int) -> None:
    model = make_model(CONFIGS["post-norm"]).train()
    frozen = next(parameter for parameter in model.parameters() if parameter.ndim == 1)
    frozen.requires_grad_(False)
    computing = HalfCopy(model).refreshed()
    assert len(list(computing.parameters())) == len(list(model.parameters()))
    batch_loss(computing, random_batch(model), label_smoothing=0.1).backward()
    assert frozen.grad is None
    assert all(parameter.grad is not None for parameter in model.parameters() if parameter is not frozen)


def test_what_a_broken_off_backward_pass_left_is_gone(seed: int) -> None:
    model = make_model(CONFIGS["post-norm"]).train()
    half = HalfCopy(model)
    weight = next(half.refreshed().parameters())
    weight.grad = torch.ones_like(weight)
    assert all(parameter.grad is None for parameter in half.refreshed().parameters())


def test_a_run_in_fp16_is_resumed_with_its_scale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scale grows after every second update until a gradient overflows, before and after the interruption."""
    monkeypatch.setattr(precision, "GROWTH_INTERVAL", 2)
    config = tiny_run(tmp_path / "text", precision="fp16", max_steps=16)
    whole = go(config, tmp_path / "whole")
    go(with_training(config, max_steps=7), tmp_path / "parts")
    parts = go(config, tmp_path / "parts")
    assert any(line["event"] == "skipped" for line in log_of(tmp_path / "whole"))
    assert whole.loss_scale != precision.FIRST
    assert (parts.loss_scale, parts.scale_updates) == (whole.loss_scale, whole.scale_updates)
    assert trace_of(tmp_path / "parts")[-3:] == trace_of(tmp_path / "whole")[-3:]
    assert last_weights(tmp_path / "parts") == last_weights(tmp_path / "whole")
