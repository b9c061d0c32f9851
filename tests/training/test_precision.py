"""Which numbers are multiplied in: autocast, a half-precision copy that computes, and the scale of the loss."""

import random
from pathlib import Path
from statistics import median

import pytest
import torch

from limelight.config import ModelConfig, RecurrentConfig, TransformerConfig
from limelight.errors import UserError
from limelight.training.optimization import precision
from limelight.training.optimization.loss import batch_loss
from limelight.training.optimization.precision import (
    FIRST_SCALE,
    HalfCopy,
    autocast,
    choose_precision,
    deterministic_kernels,
    next_scale,
)
from tests.models.helpers import decoder_only, make_model, random_batch
from tests.training.helpers import go, last_weights, log_of, tiny_run, trace_of, with_training

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


class Hardware:
    """What the hardware is said to multiply."""

    def __init__(self, patched: pytest.MonkeyPatch, *kinds: str) -> None:
        for kind in ("bf16", "fp16"):
            patched.setattr(precision, f"multiplies_{kind}", lambda _, found=kind in kinds: found)


@pytest.mark.parametrize("device", [CPU, CUDA])
@pytest.mark.parametrize(
    ("kinds", "chosen"), [(("bf16", "fp16"), "bf16"), (("bf16",), "bf16"), (("fp16",), "fp16"), ((), "fp32")]
)
def test_auto_asks_the_hardware(
    device: torch.device, kinds: tuple[str, ...], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Hardware(monkeypatch, *kinds)
    assert choose_precision("auto", device) == chosen
    assert choose_precision("fp32", device) == "fp32"
    assert choose_precision("fp16", device) == "fp16"


def test_bf16_on_a_gpu_without_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for kinds, other in (((), "fp32"), (("fp16",), "fp16")):
        Hardware(monkeypatch, *kinds)
        with pytest.raises(UserError, match=rf"precision=bf16, but this GPU cannot .* set training\.precision={other}"):
            choose_precision("bf16", CUDA)


def test_a_cpu_without_bf16_multiplies_in_fp32(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch's autocast would find no LSTM, and be slower with everything else."""
    monkeypatch.setattr(precision, "multiplies_bf16", lambda _: False)
    cells, inputs = torch.nn.LSTM(3, 5), torch.randn(2, 1, 3)
    with autocast("bf16", CPU):
        assert cells(inputs)[0].dtype == torch.float32


def test_deterministic_kernels_are_those_of_a_cpu(tmp_path: Path) -> None:
    """On a CPU the setting changes nothing, and afterwards the process is as before."""
    config = tiny_run(tmp_path / "text", max_steps=3)
    go(config, tmp_path / "one")
    go(config, tmp_path / "two", deterministic=True)
    assert last_weights(tmp_path / "one") == last_weights(tmp_path / "two")
    with deterministic_kernels(True):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()


def torchs(finite: list[bool], interval: int) -> list[float]:
    """The scale before each update, by `torch.amp.GradScaler`, which works on a CPU as well."""
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=FIRST_SCALE, growth_interval=interval)
    found = []
    for good in finite:
        found.append(scaler.get_scale())
        scaler.scale(weight.sum()).backward()
        if not good:
            weight.grad.fill_(torch.inf)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return found


def test_the_scale_of_the_loss_is_torchs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the bounds, which torch's has not."""
    monkeypatch.setattr(precision, "GROWTH_INTERVAL", 3)
    monkeypatch.setattr(precision, "MAX_SCALE", float("inf"))
    finite = random.Random(seed).choices([True, False], [5, 1], k=40)
    found, scale, since = [], FIRST_SCALE, 0
    for good in finite:
        found.append(scale)
        scale, since = next_scale(scale, since, applied=good)
    expected = torchs(finite, 3)
    assert len(set(expected)) > 1
    assert found == expected


SIZES = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 44, "heads": 2, "d_ff": 53, "dropout": 0.0}
CONFIGS: dict[str, ModelConfig] = {
    "post-norm": TransformerConfig(**SIZES),
    "pre-norm, rotary": TransformerConfig(**SIZES, norm="pre", positions="rotary"),
    "decoder alone": decoder_only(d_model=44, head_size=22, d_ff=53, dropout=0.0),
    "luong lstm": RecurrentConfig(embedding=41, hidden=43, wiring="luong", score="general", cell="lstm", dropout=0.0),
}


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
    assert whole.loss_scale != precision.FIRST_SCALE
    assert (parts.loss_scale, parts.scale_updates) == (whole.loss_scale, whole.scale_updates)
    assert trace_of(tmp_path / "parts")[-3:] == trace_of(tmp_path / "whole")[-3:]
    assert last_weights(tmp_path / "parts") == last_weights(tmp_path / "whole")
