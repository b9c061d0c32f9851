"""Who may train in a folder, who is refused and with what words, and what is left behind."""

import errno
import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.training.checkpoints.lock import ATTEMPTS, LOCK, only_trainer

HOST = socket.gethostname()
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
            signed = json.loads((tmp_path / LOCK).read_text(encoding="utf-8"))
            assert (signed["pid"], signed["host"]) == (os.getpid(), HOST)
        assert list(tmp_path.iterdir()) == []


def test_a_second_process_is_named_the_first(tmp_path: Path, elsewhere: subprocess.Popen[str]) -> None:
    signed = json.loads((tmp_path / LOCK).read_text(encoding="utf-8"))
    assert refusal(tmp_path) == (
        f"{tmp_path}: process {elsewhere.pid} on {HOST} (since {signed['started']}) is training there. "
        "Wait for its end or stop it, or give --out another folder"
    )
    assert (tmp_path / LOCK).exists()  # who was refused takes nothing away
    elsewhere.communicate("go\n")
    with only_trainer(tmp_path):
        pass


def test_the_lock_of_a_killed_process_holds_nobody_up(tmp_path: Path, elsewhere: subprocess.Popen[str]) -> None:
    elsewhere.kill()
    elsewhere.wait()
    assert (tmp_path / LOCK).exists()
    with only_trainer(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text(encoding="utf-8"))["pid"] == os.getpid()
    assert not (tmp_path / LOCK).exists()


def test_twice_in_one_process(tmp_path: Path) -> None:
    with only_trainer(tmp_path):
        assert f"process {os.getpid()} on {HOST}" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ({"pid": 7, "host": "another.example", "started": "then"}, "process 7 on another.example (since then)"),
        ({"pid": 2**22 + 1, "host": HOST, "started": "then"}, f"process {2**22 + 1} on {HOST} (since then)"),  # killed
        ({"pid": 2**200, "host": HOST, "started": "then"}, f"process {2**200} on {HOST} (since then)"),
        ({"pid": "me", "host": HOST, "started": "then"}, f"process me on {HOST} (since then)"),
        ({"pid": 1, "host": HOST, "started": "then"}, f"process 1 on {HOST} (since then)"),
        ({"host": HOST}, "another process"),
        ([], "another process"),
        ("", "another process"),
    ],
)
def test_whatever_is_written_there_the_lock_holds(
    written: object, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with open(tmp_path / LOCK, "w", encoding="utf-8") as file:
        json.dump(written, file)
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        assert refusal(tmp_path).startswith(f"{tmp_path}: {named} is training there. ")
    with only_trainer(tmp_path):
        pass


def test_it_waits_for_the_name_of_one_who_has_just_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There stands nothing yet, or still the name of one who was killed."""
    names = iter([2**22 + 1, 2**22 + 1, os.getppid()])
    with open(tmp_path / LOCK, "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)

        def sign(_: float) -> None:
            entry = {"pid": next(names), "host": HOST, "started": "now"}
            (tmp_path / LOCK).write_text(json.dumps(entry), encoding="utf-8")

        monkeypatch.setattr("time.sleep", sign)
        assert f"process {os.getppid()} on {HOST} (since now) is training there" in refusal(tmp_path)


def test_a_lock_that_was_removed_before_it_was_taken_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one leaves between our opening of its file and our locking of it. To hold a file that nobody finds any
    more would let a third one in."""
    flock, removed = fcntl.flock, []

    def late(file: object, how: int) -> None:
        if len(removed) < 2:
            removed.append((tmp_path / LOCK).unlink())
            if len(removed) == 2:
                (tmp_path / LOCK).touch()  # of one who came in between
        flock(file, how)  # type: ignore[arg-type]

    monkeypatch.setattr(fcntl, "flock", late)
    with only_trainer(tmp_path):
        assert len(removed) == 2
        monkeypatch.undo()
        refusal(tmp_path)


def test_a_folder_that_is_removed_before_it_is_locked_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access, calls = os.access, []

    def removing(*arguments: object) -> bool:
        calls.append(arguments)
        if len(calls) == 1:
            (tmp_path / "run").rmdir()
            return True
        return access(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "access", removing)
    with only_trainer(tmp_path / "run"):
        assert (tmp_path / "run" / LOCK).exists()
    assert len(calls) == 2


def test_a_folder_of_which_nothing_has_come_goes_again(tmp_path: Path) -> None:
    with only_trainer(tmp_path / "runs" / "one" / "two"):
        pass
    assert not (tmp_path / "runs").exists()
    with only_trainer(tmp_path / "runs" / "one"):
        (tmp_path / "runs" / "one" / "log").touch()
    assert [path.name for path in (tmp_path / "runs" / "one").iterdir()] == ["log"]


def test_a_file_system_without_locks_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", cannot)
    with only_trainer(tmp_path) as locked:
        assert not locked
    assert list(tmp_path.iterdir()) == []


def test_another_fault_is_not_taken_for_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(UserError, match="cannot write there: Input/output error"), only_trainer(tmp_path):
        pytest.fail("it was let in")


def test_a_link_in_its_place_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("words", encoding="utf-8")
    (tmp_path / LOCK).symlink_to(tmp_path / "precious")
    assert "cannot write there: Too many levels of symbolic links" in refusal(tmp_path)
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "words"


def test_where_no_folder_can_be_made_it_is_said_instead_of_tried_for_ever(tmp_path: Path) -> None:
    """Below /proc the system answers that there is no such folder, as it does where another process removed it."""
    assert refusal(Path("/proc/limelight")) == (
        "/proc/limelight: cannot write there: No such file or directory; give --out another folder"
    )


def test_a_lock_that_is_removed_each_time_ends_the_attempts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flock, removed = fcntl.flock, []

    def late(file: object, how: int) -> None:
        removed.append((tmp_path / LOCK).unlink())
        flock(file, how)  # type: ignore[arg-type]

    monkeypatch.setattr(fcntl, "flock", late)
    assert "cannot write there: No such file or directory" in refusal(tmp_path)
    assert len(removed) == ATTEMPTS


def test_without_locks_of_the_system_training_names_where_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limelight.training.checkpoints.lock.fcntl", None)
    assert refusal(tmp_path / "run") == (
        "training needs Linux or macOS; on Windows, train in WSL (the Windows Subsystem for Linux)"
    )
    assert not (tmp_path / "run").exists()
