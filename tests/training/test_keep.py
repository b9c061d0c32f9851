"""Snapshots, the best model, and the choice at the end of a run."""

from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from limelight.config import RunConfig, TrainingConfig
from limelight.models.interface import Seq2Seq
from limelight.signals import StopRequest
from limelight.storage.weights import named_weights, read_weights, save_weights
from limelight.tokens import Tokenizers
from limelight.training.checkpoints import keep
from limelight.training.checkpoints.checkpoint import Progress, save_checkpoint
from limelight.training.checkpoints.keep import (
    SNAPSHOTS,
    average_weights,
    drop_snapshots,
    finish_model,
    keep_snapshot,
    save_if_best,
    score_of_best,
)
from limelight.training.optimization.optimizer import make_optimizer
from limelight.training.report import Report
from limelight.training.run_state import Run
from limelight.training.tasks.task import Validation
from limelight.training.tasks.translation import Translation
from tests.models.helpers import Vocabulary, make_model
from tests.training.helpers import TRANSFORMER, go, log_of, tiny_run
from tests.training.interrupted import Killed, interruption, kill


class Told(Report):
    """A report that remembers which models were offered at the end."""

    def __init__(self) -> None:
        self.final_models: list[tuple[str, bool]] = []

    def final(self, progress: Progress, seen: Validation | None, made_from: str, *, chosen: bool) -> None:
        self.final_models.append((made_from, chosen))


@pytest.fixture
def looks() -> list[Validation]:
    """What the next looks at the model will find."""
    return []


@pytest.fixture
def run(tmp_path: Path, looks: list[Validation], seed: int, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A run without text: its model folder is a single file, and its validations find what they are told."""
    model = make_model(TRANSFORMER)

    def save(folder: Path, model: Seq2Seq, *_: object, **__: object) -> None:
        folder.mkdir(exist_ok=True)
        save_weights(folder / "model.safetensors", named_weights(model))

    monkeypatch.setattr(keep, "save_model", save)
    monkeypatch.setattr(keep, "validate", lambda _: looks.pop(0) if looks else None)
    return Run(
        folder=tmp_path,
        config=RunConfig(training=TrainingConfig(average=3, best_by="loss")),
        model=model,
        optimizer=make_optimizer(model),
        task=Translation.__new__(Translation),
        tokenizers=Tokenizers(Vocabulary(29), Vocabulary(29)),
        device=torch.device("cpu"),
        precision="fp32",
        progress=Progress(),
        report=Told(),
        stop=StopRequest(),
    )


def move_on(run: Run) -> None:
    """One update further; every weight is the number of the update."""
    run.progress.step += 1
    with torch.no_grad():
        for parameter in run.model.parameters():
            parameter.fill_(run.progress.step)


def snapshot(run: Run, score: float) -> None:
    move_on(run)
    run.progress.snapshots = keep_snapshot(run, score)
    run.progress.validated_step = run.progress.step


def files(run: Run) -> list[int]:
    return sorted(int(path.name[5:13]) for path in (run.folder / SNAPSHOTS).iterdir())


def names(snapshots: dict[str, float]) -> list[int]:
    return [int(name[5:13]) for name in snapshots]


def best(run: Run) -> float:
    """What every weight of the model that is kept is."""
    values = torch.cat([each.flatten() for each in read_weights(run.folder / "best" / "model.safetensors")[0].values()])
    assert values.unique().numel() == 1
    return values[0].item()


def loss(value: float) -> Validation:
    return Validation(value)


def test_the_card_of_another_start_is_not_appended(run: Run) -> None:
    (run.folder / "parent.md").write_text("# Another model")
    move_on(run)
    assert save_if_best(run, loss(1.0), "x")
    assert "Another model" not in (run.folder / "README.md").read_text()


def test_the_last_snapshots_are_averaged(run: Run) -> None:
    for score in (5.0, 1.0, 4.0, 2.0, 4.5):
        snapshot(run, score)
    assert names(run.progress.snapshots) == [3, 4, 5]
    assert {3, 4, 5} <= set(files(run))


def test_snapshots_stay_until_no_checkpoint_knows_them(run: Run) -> None:
    for step in range(1, 10):
        snapshot(run, 0.0)
        if step in (4, 6):
            save_checkpoint(run.folder / "checkpoints", run.model, run.optimizer, run.progress, keep=6 // step)
            drop_snapshots(run)
            assert files(run) == {4: [2, 3, 4], 6: [4, 5, 6]}[step]
    assert files(run) == [4, 5, 6, 7, 8, 9]  # the checkpoint of update 6 would still average 4, 5 and 6


def test_the_best_model_is_never_replaced_by_a_worse_one(run: Run) -> None:
    for value, chosen in ((3.0, True), (2.0, True), (2.5, False), (2.0, True)):
        move_on(run)
        assert save_if_best(run, loss(value), "x") == chosen
    assert run.progress.model_score == -2.0
    assert best(run) == 4
    assert "validation loss | 2.0000" in (run.folder / "README.md").read_text()


def test_after_a_kill_the_best_model_stays_though_no_checkpoint_knows_it(tmp_path: Path) -> None:
    """Validated and killed before the next checkpoint; the run is taken up with other settings and gets worse."""
    config = tiny_run(tmp_path / "text", checkpoint_every=5, validate_every=4, best_by="loss", average=1, max_steps=10)
    with interruption("update", 9, kill), pytest.raises(Killed):
        go(config, tmp_path / "run")
    best = (tmp_path / "run" / "best" / "model.safetensors").read_bytes()
    had = score_of_best(tmp_path / "run")
    go(config, tmp_path / "run", learning_rate=1e-12, warmup=0)
    assert had is not None
    assert all(-line["loss"] < had for line in log_of(tmp_path / "run") if line["event"] in ("validation", "final"))
    assert (tmp_path / "run" / "best" / "model.safetensors").read_bytes() == best


def test_at_the_end_the_average_wins_if_it_is_as_good(run: Run, looks: list[Validation]) -> None:
    for value in (3.0, 2.0):
        snapshot(run, -value)
        save_if_best(run, loss(value), "x")
    own = {name: tensor.clone() for name, tensor in named_weights(run.model).items()}
    looks.append(loss(2.0))
    finish_model(run)
    assert run.report.final_models == [("the average of updates 1, 2", True)]
    assert best(run) == 1.5
    assert all(torch.equal(tensor, own[name]) for name, tensor in named_weights(run.model).items())


def test_the_last_weights_count_without_a_trace_in_what_follows(run: Run, looks: list[Validation]) -> None:
    snapshot(run, -3.0)
    save_if_best(run, loss(3.0), "x")
    run.progress.best_score, run.progress.without_gain = -3.0, 4
    move_on(run)
    before = asdict(run.progress)
    looks += [loss(2.0), loss(1.0)]
    finish_model(run)
    assert run.report.final_models == [("update 2", True), ("the average of updates 1, 2", True)]
    assert {**before, "model_score": -1.0, "seconds": run.progress.seconds} == asdict(run.progress)


def test_the_mean_of_each_tensor(seed: int, tmp_path: Path) -> None:
    snapshots = [{"a": torch.randn(3, 5), "b": torch.randn(7)} for _ in range(3)]
    for number, weights in enumerate(snapshots):
        save_weights(tmp_path / str(number), weights)
    mean = average_weights([tmp_path / str(number) for number in range(3)])
    assert set(mean) == {"a", "b"}
    for name, tensor in mean.items():
        expected = sum(weights[name].double() for weights in snapshots) / 3
        assert torch.equal(tensor, expected.float())
