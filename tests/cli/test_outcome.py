"""Every way a command can end, in a number and a line."""

import errno
import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from limelight.cli.outcome import WITH_LESS_MEMORY, exit_code
from limelight.errors import RunError, UserError

SOURCE = Path(__file__).parents[2] / "src"


def end_of(work: Callable[[], object], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = exit_code(lambda: (work(), None)[1])
    ended = capsys.readouterr()
    assert ended.out == ""
    return code, ended.err


def raising(error: BaseException) -> Callable[[], None]:
    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UserError("a.tsv:3: no TAB"), 2, "limelight: a.tsv:3: no TAB\n"),
        (RunError("disk full"), 1, "limelight: disk full\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 0, ""),
        (OSError(errno.EIO, "Input/output error", "x/log"), 1, "limelight: x/log: Input/output error\n"),
        (OSError(errno.ENOSPC, "No space left"), 1, "limelight: reading or writing failed: No space left\n"),
        (OSError("odd"), 1, "limelight: reading or writing failed: odd\n"),
        (MemoryError(), 1, f"limelight: out of memory (MemoryError). {WITH_LESS_MEMORY}\n"),
        (RuntimeError("can't start new thread"), 1,
         f"limelight: out of memory (can't start new thread). {WITH_LESS_MEMORY}\n"),
        (ImportError("libgomp.so: failed to map segment from shared object"), 1,
         f"limelight: out of memory (libgomp.so: failed to map segment from shared object). {WITH_LESS_MEMORY}\n"),
        (RuntimeError("CUDA out of memory. Tried\nmore"), 1,
         f"limelight: out of memory (CUDA out of memory. Tried). {WITH_LESS_MEMORY}\n"),
    ],
)  # fmt: skip
def test_what_is_raised_becomes_a_code_and_a_line(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limelight.cli.outcome.silence", lambda stream: None)  # pytest's own stream stays open
    assert end_of(raising(error), capsys) == (code, message)


@pytest.mark.filterwarnings("default")
def test_a_warning_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        for _ in range(3):  # a file is read several times
            warnings.warn("a.gz: may be cut off", stacklevel=1)

    before = warnings.showwarning
    assert end_of(work, capsys) == (0, "limelight: warning: a.gz: may be cut off\n")
    assert warnings.showwarning is before


@pytest.mark.parametrize(
    "error", [RuntimeError("shapes differ"), ImportError("no such name"), ValueError("ours"), KeyError("x")]
)
def test_a_fault_of_ours_keeps_its_traceback(error: Exception) -> None:
    with pytest.raises(type(error)):
        exit_code(raising(error))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_stop_the_work_on_the_spot(number: int, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(number)
    done = []

    def work() -> None:
        os.kill(os.getpid(), number)
        done.append("more")

    assert end_of(work, capsys) == (code, f"limelight: stopped by {signal.Signals(number).name}\n")
    assert not done
    assert signal.getsignal(number) is before


def test_a_stop_that_a_library_turns_into_its_own_error_is_a_stop(capsys: pytest.CaptureFixture[str]) -> None:
    """As pydantic does while it builds a class."""

    def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except BaseException as stopped:
            raise ValueError("the default validator cannot be built") from stopped

    assert end_of(work, capsys) == (130, "limelight: stopped by SIGINT\n")


def test_notes_are_told_with_the_message(capsys: pytest.CaptureFixture[str]) -> None:
    error = UserError("line 7 is bad")
    error.add_note("6 lines are in x.partial")
    assert end_of(raising(error), capsys) == (2, "limelight: line 7 is bad; 6 lines are in x.partial\n")
