"""When a run validates, saves and ends."""

import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from limelight.config import RunConfig, TrainingConfig
from limelight.errors import RunError
from limelight.storage.weights import read_weights
from limelight.training import loop, run_state
from limelight.training.checkpoints.checkpoint import Progress
from limelight.training.loop import MAX_SKIPPED, why_over
from limelight.training.run import train
from limelight.training.tasks.task import Task, Validation
from tests.training.helpers import checkpoints_of, go, last_weights, log_of, tiny_run, trace_of, with_training


def played(monkeypatch: pytest.MonkeyPatch, losses: list[float], figures: Sequence[tuple[float, float]] = ()) -> None:
    """Let validations find these losses, and BLEU and chrF if given, whatever the model does."""
    found = [{"bleu": bleu, "chrf": chrf} for bleu, chrf in figures] or [{} for _ in losses]
    following = iter([Validation(*each) for each in zip(losses, found, strict=True)])
    monkeypatch.setattr("limelight.training.tasks.translation.Translation.validate", lambda *_, **__: next(following))


@pytest.mark.parametrize(
    ("progress", "reason"),
    [
        (Progress(step=9, seconds=119.0, without_gain=2), ""),
        (Progress(step=10), "training.max_steps=10 updates are done"),
        (Progress(seconds=120.0), "training.max_minutes=2 minutes are over"),
        (Progress(without_gain=3), "no gain in 3 validations (training.patience=3)"),
    ],
)
def test_bounds(progress: Progress, reason: str) -> None:
    training = TrainingConfig(max_steps=10, max_minutes=2, patience=3)
    run = SimpleNamespace(config=RunConfig(training=training), progress=progress, epoch=1.0)
    assert why_over(run) == reason


def test_it_stops_when_nothing_gets_better_and_keeps_the_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played(monkeypatch, [3.0, 2.0, 2.5, 2.0, 2.1, 9.0])
    config = tiny_run(tmp_path / "text", max_steps=None, patience=3, validate_every=2, average=1)
    progress = go(config, tmp_path / "run")
    assert (progress.step, progress.best_score, progress.without_gain) == (10, -2.0, 3)
    assert progress.finished == "no gain in 3 validations (training.patience=3)"
    weights, notes = read_weights(tmp_path / "run" / "best" / "model.safetensors")
    # Update 8 was as good as update 4, and the later of two equals is kept.
    assert (notes["step"], notes["valid_loss"]) == ("8", "2.0000")
    assert weights


def test_while_bleu_says_nothing_a_falling_loss_is_a_gain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The defect: BLEU of 0.00 three times ended a run whose loss still fell."""
    played(
        monkeypatch, [6.0, 5.0, 4.0, 3.0, 3.5, 3.6], [(0.0, 9.0), (0.4, 8.0), (0.0, 9.0), (0.0, 7.0)] + [(0.0, 6.0)] * 2
    )
    config = tiny_run(tmp_path / "text", max_steps=None, patience=2, validate_every=1, average=1)
    progress = go(config, tmp_path / "run")
    assert (progress.step, progress.best_loss) == (6, 3.0)
    _, notes = read_weights(tmp_path / "run" / "best" / "model.safetensors")
    assert (notes["step"], notes["valid_chrf"]) == ("3", "9.00"), "chrF chooses, and the later of two equals is kept"


@pytest.mark.parametrize(("warmup", "fit", "steps"), [(12, False, 12), (4, False, 4), (12, True, 4)])
def test_patience_does_not_count_inside_the_warm_up(
    warmup: int, fit: bool, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the first validation is a gain. Fitted, the warm-up is a tenth of 24 updates."""
    played(monkeypatch, [2.0] + [3.0] * 20)
    config = tiny_run(tmp_path / "text", max_steps=24, warmup=warmup, patience=1, validate_every=2, average=1)
    assert go(config, tmp_path / "run", fit_to_budget=fit).step == steps


class Simulated:
    """A run by a clock that only moves with updates and validations."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, update: float, validation: float) -> None:
        self.now = 0.0
        real = loop.update

        def updated(*arguments: Any, **options: Any) -> Any:
            self.now += update
            return real(*arguments, **options)

        def validated(*_: Any, **__: Any) -> Validation:
            self.now += validation
            return Validation(2.0)

        for module in (loop, run_state):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(loop, "update", updated)
        monkeypatch.setattr("limelight.training.tasks.translation.Translation.validate", validated)


def test_the_last_validation_fits_into_the_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Five minutes: updates of 10 s, validations of 25 s. How long those take is known after half the time."""
    Simulated(monkeypatch, update=10.0, validation=25.0)
    config = tiny_run(tmp_path / "text", max_steps=None, max_minutes=5.0, validate_every=None, average=1)
    config = with_training(config, fit_to_budget=True, warmup=1000)
    progress = train(config, tmp_path / "run")
    capsys.readouterr()
    lines = log_of(tmp_path / "run")
    ends = [(line["event"], line["step"], line["seconds"]) for line in lines if line["event"] != "training"]
    assert ends == [("validation", 15, 175.0), ("final", 25, 300.0)]
    rates = [line["learning_rate"] for line in lines if line["event"] == "training"]
    assert len(rates) == 25
    assert rates[0] < 0.1 * max(rates)
    assert rates[-1] < 0.05 * max(rates)
    assert progress.finished == "training.max_minutes=5 minutes are over"
    train(config, tmp_path / "run")
    assert "nothing left to do: training.max_minutes=5 minutes are over" in capsys.readouterr().err


def broken(monkeypatch: pytest.MonkeyPatch, bad: Any) -> None:
    """Let the loss of the micro-batches that `bad` names by number (from 0) not be a number."""
    loss, calls = Task.loss, iter(range(10**6))
    monkeypatch.setattr(Task, "loss", lambda *given: loss(*given) * (math.nan if bad(next(calls)) else 1.0))


def test_an_update_that_is_not_finite_is_left_out_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken(monkeypatch, lambda call: call in (4, 9))
    config = tiny_run(tmp_path / "text", max_steps=7, validate_every=100)
    progress = train(config, tmp_path / "run")
    assert progress.skipped == 0
    lines = log_of(tmp_path / "run")
    assert [line["step"] for line in lines if line["event"] == "skipped"] == [3, 5]
    assert [line["loss"] is None for line in lines if line["event"] == "training"] == [
        step in (3, 5) for step in range(1, 8)
    ]
    assert "update      3  skipped: its loss or gradient is not finite" in capsys.readouterr().err
    weights, _ = read_weights(checkpoints_of(tmp_path / "run")[-1] / "weights.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())


def test_many_in_a_row_end_the_run_with_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken(monkeypatch, lambda call: call >= 10)
    config = tiny_run(tmp_path / "text", max_steps=100, validate_every=1000)
    with pytest.raises(
        RunError, match=f"in {MAX_SKIPPED} consecutive updates, the last one at update 25; lower"
    ) as caught:
        go(config, tmp_path / "run")
    for advice in ("training.learning_rate", "training.warmup", "training.precision=fp32", "checkpoint is intact"):
        assert advice in str(caught.value)
    weights, _ = read_weights(checkpoints_of(tmp_path / "run")[-1] / "weights.safetensors")
    assert all(torch.isfinite(tensor).all() for tensor in weights.values())


def test_results_may_be_read_one_update_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: log, validations and checkpoints are the same."""
    config = tiny_run(tmp_path / "text")
    go(config, tmp_path / "once")
    monkeypatch.setattr(loop, "_reads_at_once", lambda run: False)
    go(config, tmp_path / "later", max_steps=7)
    go(config, tmp_path / "later")
    assert trace_of(tmp_path / "later") == trace_of(tmp_path / "once")
    assert last_weights(tmp_path / "later") == last_weights(tmp_path / "once")
