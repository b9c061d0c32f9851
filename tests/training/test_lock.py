"""Who may train in a folder, who is refused and with what words, and what is left behind."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.training.checkpoints.lock import LOCK, only_trainer

ROOT = Path(__file__).parents[2]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that trains in `tmp_path`, until it is killed or a line is sent to it."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom limelight.training.checkpoints.lock import only_trainer\n"
        "with only_trainer(Path(sys.argv[1])):\n    print(flush=True)\n    sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def refusal(folder: Path) -> str:
    with pytest.raises(UserError) as caught, only_trainer(folder):
        pytest.fail("it was let in")
    return str(caught.value)


def test_one_after_another_is_let_in_and_leaves_nothing(tmp_path: Path) -> None:
    for _ in range(3):
        with only_trainer(tmp_path) as locked:
            assert locked
        assert list(tmp_path.iterdir()) == []


def test_a_second_process_is_refused(tmp_path: Path, elsewhere: subprocess.Popen[str]) -> None:
    assert refusal(tmp_path).startswith(f"{tmp_path}: another process is training there. Wait for its end")
    assert (tmp_path / LOCK).exists()  # who was refused takes nothing away
    elsewhere.communicate("go\n")
    with only_trainer(tmp_path):
        pass


def test_a_file_system_without_locks_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", cannot)
    with only_trainer(tmp_path) as locked:
        assert not locked
    assert list(tmp_path.iterdir()) == []
