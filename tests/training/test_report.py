"""What is shown and what is written down."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from limelight.batching.stream import Position
from limelight.config import TrainingConfig
from limelight.training import report as module
from limelight.training.checkpoints.checkpoint import Progress
from limelight.training.optimization.update import UpdateResult
from limelight.training.report import Report
from limelight.training.tasks.task import Validation
from tests.training.helpers import log_of


class Clock:
    """Stands for the module `time`."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(module, "open_loggers", lambda *_: [])
    return clock


@pytest.fixture
def report(clock: Clock, tmp_path: Path) -> Iterator[Report]:
    report = Report(tmp_path, TrainingConfig(log_every=2, max_steps=8))
    report.begin(Progress())
    yield report
    report.close()


def do(report: Report, progress: Progress, loss: float = 30.0, pieces: int = 10, *, applied: bool = True) -> None:
    """An update as the loop counts it."""
    progress.step += 1
    if applied:
        progress.loss_sum += loss
        progress.loss_pieces += pieces
    else:
        progress.skipped += 1
    report.update(progress, UpdateResult(loss, pieces, 0.5, applied), 1e-3)


def test_every_so_many_updates_make_a_line(
    report: Report, clock: Clock, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(position=Position(2, 0, 3), seconds=6.0)
    for loss in (30.0, 10.0, 40.0, 20.0, 7.0):
        clock.now += 2
        do(report, progress, loss)
    lines = log_of(tmp_path)
    assert [(line["event"], line["step"], line["epoch"]) for line in lines] == [("training", 2, 2), ("training", 4, 2)]
    assert [line["loss"] for line in lines] == [2.0, 3.0]  # 40 and 60 over 20 tokens
    assert [line["target_tokens_per_second"] for line in lines] == [5, 5]
    assert {line["learning_rate"] for line in lines} == {1e-3}
    assert progress.loss_sum == 7.0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "update      2  epoch 3  loss 2.0000  5 target tokens/s  rate 1.00e-03  0:00:18 left",
        "update      4  epoch 3  loss 3.0000  5 target tokens/s  rate 1.00e-03  0:00:06 left",
    ]


def test_numbers_that_are_not_finite_become_null(report: Report, tmp_path: Path) -> None:
    progress = Progress()
    for _ in range(2):
        do(report, progress, math.nan, applied=False)
    report.validation(progress, Validation(math.inf))
    skipped, _, training, validation = log_of(tmp_path)  # log_of refuses NaN and Infinity
    assert (skipped["event"], skipped["loss"], skipped["in_a_row"]) == ("skipped", None, 1)
    assert training["loss"] is None
    assert validation["loss"] is None
    assert validation["perplexity"] == pytest.approx(math.exp(700))


def written(folder: Path, lines: list[tuple[str, int]], tail: str = "") -> None:
    text = "".join(json.dumps({"event": event, "step": step}) + "\n" for event, step in lines)
    (folder / "log.jsonl").write_text(text + tail, encoding="utf-8")


@pytest.mark.parametrize("tail", ["", '{"event": "trai', '{"event": "training"}', "[]\n", "\n"])
def test_lines_of_updates_that_are_done_again_are_taken_back(tail: str, clock: Clock, tmp_path: Path) -> None:
    """And half a line at the end, which a killed process may leave."""
    lines = [("training", 2), ("validation", 3), ("training", 4), ("validation", 6), ("training", 6), ("training", 8)]
    written(tmp_path, lines, tail)
    report = Report(tmp_path, TrainingConfig(), quiet=True)
    report.begin(Progress(step=6, validated_step=3))  # it was saved after update 6, before that was validated
    report.close()
    assert [(line["event"], line["step"]) for line in log_of(tmp_path)] == [
        ("training", 2), ("validation", 3), ("training", 4), ("training", 6)
    ]  # fmt: skip


@pytest.mark.parametrize(("finished", "kept"), [("bound", 2), ("", 1)])
def test_lines_of_an_end_stay_if_it_was_reached(finished: str, kept: int, clock: Clock, tmp_path: Path) -> None:
    written(tmp_path, [("final", 4), ("final", 6), ("final", 8)])
    report = Report(tmp_path, TrainingConfig(), quiet=True)
    report.begin(Progress(step=6, validated_step=6, finished=finished))
    report.close()
    assert len(log_of(tmp_path)) == kept


def test_a_full_disk_is_told_with_path_and_cause(report: Report, tmp_path: Path) -> None:
    assert report._log
    report._log.close()
    report._log = open("/dev/full", "ab", buffering=0)  # noqa: SIM115
    with pytest.raises(OSError, match=f"No space left on device: '{tmp_path}/log.jsonl'"):
        report.validation(Progress(step=7), Validation(2.0))
