"""Child processes that answer calls: frames, errors, silence, and the end of the parent."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from limelight.child import (
    Child,
    ChildEndedError,
    Frame,
    Handler,
    Header,
    how_it_ended,
)
from limelight.errors import RunError, UserError

ROOT = Path(__file__).parents[1]
WITHIN = 600


def echo() -> Handler:
    """In the child: counts its calls, and does what the header asks for."""
    calls: list[Header] = []

    def answer(header: Header, payload: bytes) -> Frame:
        calls.append(header)
        if "sleep" in header:
            time.sleep(header["sleep"])
        if "mistake" in header:
            raise UserError("no such file")
        if "fault" in header:
            raise ValueError("seven")
        if "die" in header:
            os._exit(7)
        if "signal" in header:
            os.kill(os.getpid(), header["signal"])
        print("printed text is no answer")
        return {"calls": len(calls)}, payload[::-1]

    return answer


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch) -> Iterator[Child]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
    child = Child("tests.test_child:echo", silence=WITHIN)
    yield child
    child.close()


def test_calls_are_answered_one_after_the_other_and_prints_are_no_answers(child: Child) -> None:
    assert child.call({}, b"abc") == ({"calls": 1}, b"cba")
    large = bytes(range(256)) * 40_000
    assert child.call({}, large) == ({"calls": 2}, large[::-1])


def test_an_error_is_told_and_the_child_goes_on(child: Child) -> None:
    with pytest.raises(UserError, match=r"^no such file$"):
        child.call({"mistake": 1})
    with pytest.raises(RunError, match=r"^ValueError: seven$"):
        child.call({"fault": 1})
    assert child.call({})[0] == {"calls": 3}


@pytest.mark.parametrize(
    ("asked", "says"), [({"die": 1}, "exit code 7"), ({"signal": signal.SIGXCPU}, "^ended by SIGXCPU$")]
)
def test_a_child_that_ends_is_told_with_its_exit_code_or_signal(asked: Header, says: str, child: Child) -> None:
    """From within, as by a bound on its time or by a library that aborts."""
    with pytest.raises(ChildEndedError, match=says):
        child.call(asked)
    assert how_it_ended(-40) == "ended by signal 40"


def test_a_child_that_is_killed_from_outside_is_told_with_the_usual_cause(child: Child) -> None:
    child.call({})
    child.process.kill()
    with pytest.raises(ChildEndedError, match=r"^ended from outside by SIGKILL, usually because memory ran out$"):
        child.call({})


def test_a_silent_child_is_killed(child: Child) -> None:
    child.call({})
    child.silence = 0.5
    with pytest.raises(ChildEndedError, match=r"no answer after 0\.5 s"):
        child.call({"sleep": 600})
    assert (child.process.exitcode or 0) < 0


def test_a_child_ends_with_its_parent_also_during_work() -> None:
    code = (
        "import sys, threading\nfrom limelight.child import Child\n"
        "child = Child('tests.test_child:echo', silence=600)\nchild.call({})\n"
        "print(child.process.pid, flush=True)\nchild.call({'sleep': 600})\n"
    )
    path = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    with subprocess.Popen([sys.executable, "-c", code], env=path, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    last = time.monotonic() + WITHIN
    while is_running(pid):
        assert time.monotonic() < last
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """A zombie is not."""
    try:
        os.kill(process, 0)
        state = Path(f"/proc/{process}/stat")
        return not state.exists() or state.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
