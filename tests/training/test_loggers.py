"""Loggers by name: TensorBoard if it is installed, others if they are asked for."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock

import pytest

from limelight.errors import UserError
from limelight.training.loggers import open_loggers, require_loggers
from tests.training.helpers import go, log_of, tiny_run


def test_tensorboard_has_the_points_of_the_run_that_went_on(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for after, steps in ((0, (1, 2, 3)), (2, (3, 4))):  # the second one goes on behind update 2
        (logger,) = open_loggers(None, tmp_path, after)
        for step in steps:
            logger.log({"training/loss": after * 10.0 + step}, step)
        logger.close()
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload().Scalars("training/loss")
    assert [(event.step, event.value) for event in events] == [(1, 1.0), (2, 2.0), (3, 23.0), (4, 24.0)]


def test_without_tensorboard_there_is_no_logger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto.event_pb2", None)
    assert open_loggers(None, tmp_path, 0) == []


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "trackio"])
def test_the_package_of_a_logger_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UserError, match=f"training.loggers={name}: .*; pip install {name}$"):
        require_loggers([name])


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_a_tracker_gets_the_figures_of_the_log(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service, run = ModuleType(name), SimpleNamespace(log=Mock(), finish=Mock())
    service.init = Mock(return_value=run)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, name, service)
    go(tiny_run(tmp_path / "text", loggers=(name,)), tmp_path / "run", max_steps=4)
    service.init.assert_called_once_with(project="limelight", name="run")
    run.finish.assert_called_once_with()
    sent = [(call.kwargs["step"], call.args[0].get("training/loss")) for call in run.log.call_args_list]
    written = [
        (line["step"], line["loss"] if line["event"] == "training" else None) for line in log_of(tmp_path / "run")
    ]
    assert sent == written
