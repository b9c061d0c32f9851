"""TensorBoard where it is installed, silence where it is not."""

import builtins
import threading
from pathlib import Path
from typing import Any

import pytest

from limelight.training.report import open_tensorboard


def test_scalars_are_written_where_it_is_installed(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for after, steps in ((0, (1, 2, 3)), (2, (3, 4))):  # the second writer goes on behind update 2
        writer = open_tensorboard(tmp_path, after=after)
        for step in steps:
            writer.add_scalar("loss", after * 10 + step, step)
        writer.close()
    events = EventAccumulator(str(tmp_path)).Reload().Scalars("loss")
    assert [(event.step, event.value) for event in events] == [(1, 1.0), (2, 2.0), (3, 23.0), (4, 24.0)]


def test_without_it_there_is_no_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = builtins.__import__

    def missing(name: str, *arguments: Any) -> Any:
        if "tensorboard" in name:
            raise ImportError(name)
        return load(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert open_tensorboard(tmp_path, after=0) is None
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_met_where_the_scalar_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tensorboard")
    before = threading.active_count()
    writer = open_tensorboard(tmp_path, after=0)
    writer._records.close()
    writer._records._writer = open("/dev/full", "wb")  # noqa: SIM115
    with pytest.raises(OSError, match="No space left"):
        writer.add_scalar("loss", 1.0, 1)
    with pytest.raises(OSError, match="No space left"):
        writer.close()
    assert threading.active_count() == before  # whatever happens, it happens here
    assert capsys.readouterr().err == ""
