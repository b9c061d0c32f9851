"""Which configuration a run is taken up with, and what is said to whom."""

import json
import signal
from pathlib import Path

import pytest

from limelight.config import RunConfig, dump_config, load_config
from limelight.errors import UserError
from limelight.files import sha256
from limelight.signals import Stopped
from limelight.training.checkpoints.lock import only_trainer
from limelight.training.run import check_resumable, train
from tests.training.helpers import checkpoints_of, go, log_of, tiny_run, with_training

UPDATE = "limelight.training.loop.update"


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    return tiny_run(tmp_path / "text", max_steps=2)


@pytest.fixture
def run(config: RunConfig, tmp_path: Path) -> Path:
    """A folder with the settings of a run and a model in it."""
    folder = tmp_path / "run"
    (folder / "best").mkdir(parents=True)
    (folder / "config.yaml").write_text(dump_config(config))
    return folder


def test_other_settings_are_refused_and_every_one_is_listed(config: RunConfig, run: Path) -> None:
    other = config.model_copy(
        update={
            "model": config.model.model_copy(update={"d_model": 16, "heads": 4}),
            "training": config.training.model_copy(update={"seed": 9, "max_steps": 99}),
        }
    )
    with pytest.raises(UserError) as caught:
        check_resumable(other, run)
    message = str(caught.value)
    assert message.startswith(f"{run}: there is a run with other settings: ")
    for name, old, new in (("model.d_model", 8, 16), ("model.heads", 2, 4), ("training.seed", 1, 9)):
        assert f"{name} is {old} there, {new} here" in message
    assert "max_steps" not in message
    assert message.endswith("Leave them out, or give another --out")


def test_a_run_that_nothing_would_end_is_refused(config: RunConfig, tmp_path: Path) -> None:
    endless = with_training(config, max_steps=None, max_minutes=None)
    endless = endless.model_copy(update={"data": endless.data.model_copy(update={"valid": ()})})
    with pytest.raises(UserError, match=r"would never end.*--max-minutes or --max-steps, or text for validation"):
        train(endless, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_of_another_format_is_refused_before_any_work(config: RunConfig, tmp_path: Path) -> None:
    go(config, tmp_path / "run")
    place = checkpoints_of(tmp_path / "run")[-1]
    values = json.loads((place / "progress.json").read_text())
    del values["format"]
    (place / "progress.json").write_text(json.dumps(values))
    sums = json.loads((place / "manifest.json").read_text())
    (place / "manifest.json").write_text(json.dumps({**sums, "progress.json": sha256(place / "progress.json")}))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    with pytest.raises(UserError, match=r"has format 1, .* start a new run with --from"):
        go(config, tmp_path / "run", max_steps=9, log_every=7)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before


def test_a_folder_of_something_else_is_refused(config: RunConfig, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.png").touch()
    with pytest.raises(UserError, match=r"photos: this folder is not empty and not a run \(it holds cat\.png\)"):
        train(config, tmp_path / "photos", quiet=True)
    assert [path.name for path in (tmp_path / "photos").iterdir()] == ["cat.png"]


def test_a_second_trainer_touches_nothing(config: RunConfig, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "tokenizer.partial").mkdir()  # the first one's, which is just writing it
    with only_trainer(run):
        before = sorted(run.rglob("*"))
        with pytest.raises(UserError, match="run: another process is training there"):
            train(with_training(config, seed=2), run)
        assert sorted(run.rglob("*")) == before
    assert capsys.readouterr().err == ""
    assert go(config, run).step == 2
    assert not (run / ".lock").exists()


@pytest.mark.parametrize("failing", ["run_training", "loop.update"])
def test_a_run_that_failed_before_its_first_update_takes_other_settings(
    failing: str, config: RunConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the first update does not fit into memory, or is stopped, which leaves a checkpoint of update 0."""
    folder = tmp_path / "run"

    def fail(*_: object, **__: object) -> None:
        raise MemoryError if failing == "run_training" else Stopped(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr("limelight.training.run.run_training" if failing == "run_training" else UPDATE, fail)
        with pytest.raises((MemoryError, Stopped)):
            go(config, folder)
    assert load_config(folder / "config.yaml") == config
    smaller = config.model_copy(
        update={
            "model": config.model.model_copy(update={"d_model": 6, "heads": 3}),
            "tokens": config.tokens.model_copy(update={"vocabulary_size": 80}),
        }
    )
    check_resumable(smaller, folder)  # and it is stopped before its configuration is written
    assert go(smaller, folder).step == 2
    assert load_config(folder / "config.yaml") == smaller
    with pytest.raises(UserError, match=r"other settings: tokens\.vocabulary_size is 80 there, 90 here"):
        go(config, folder)


def test_nothing_left_to_do(config: RunConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    go(config, tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*") if path.is_file()}
    for bound in (2, 1):
        progress = train(with_training(config, max_steps=bound), tmp_path / "run")
        assert progress.step == 2
        said = capsys.readouterr().err
        assert (
            f"nothing left to do: training.max_steps={bound} updates are done. Give a larger bound to continue" in said
        )
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*") if path.is_file()}
    del before[tmp_path / "run" / "config.yaml"], after[tmp_path / "run" / "config.yaml"]
    assert before == after
    assert go(config, tmp_path / "run", max_steps=3).step == 3


def test_without_validation_text_the_last_model_is_the_model(
    config: RunConfig, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train(config, tmp_path / "measured")
    assert "nothing was measured" not in capsys.readouterr().err
    config = config.model_copy(update={"data": config.data.model_copy(update={"valid": ()})})
    progress = go(config, tmp_path / "run", max_steps=9)
    assert (tmp_path / "run" / "best" / "model.safetensors").exists()
    assert [line["event"] for line in log_of(tmp_path / "run") if line["event"] != "training"] == ["final"] * 2
    assert list(progress.snapshots.values()) == [4.0, 8.0]
    assert go(config, tmp_path / "run", max_steps=13).model_score == 13.0
    train(with_training(config, max_steps=14), tmp_path / "run")
    assert "nothing was measured: there was no text for validation" in capsys.readouterr().err
