"""What `make test` does in a shorter form, as it is."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.test_scaling import require_figures, run_here
from tests.examples.test_lessons import NOTEBOOKS, answers, faults, printed

pytestmark = pytest.mark.usefixtures("in_full_only")


def test_the_launcher_of_torch_starts_processes_that_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(command: list[str], **options: Any) -> None:
        if "torch.distributed.run" in command:
            subprocess.run(command, **options)
        else:
            run_here(command, **options)

    require_figures(run, tmp_path, monkeypatch, capsys)


def test_the_models_of_a_lesson_learn_what_it_says() -> None:
    path = NOTEBOOKS[0]
    assert "updates: int = 300" in path.read_text(encoding="utf-8")
    assert faults(answers("1"), printed(path)) == []
