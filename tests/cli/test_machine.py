"""`--device` and `--threads` are settled before anything is loaded."""

from pathlib import Path

import pytest
import torch

from tests.cli.conftest import Limelight

COMMANDS = ["translate --model {trained} --text x", "attention --model {trained} x", "generate --model {writing} x"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_a_device_and_threads(
    command: str, limelight: Limelight, trained: Path, writing: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", asked.append)  # the process of the tests keeps its own
    words = command.format(trained=trained, writing=writing).split()
    assert limelight(*words, "--device", "cpu", "--threads", 3).code == 0
    assert asked[0] == 3
    monkeypatch.setattr("limelight.storage.model.load_model", lambda *_: pytest.fail("began to work"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    ended = limelight(*words, "--device", "cuda:1")
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert ended.err.startswith("limelight: --device cuda:1: this machine, or this build of torch, has only cpu")
