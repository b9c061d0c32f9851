"""Ctrl-C and SIGTERM as requests: at once where nothing can be lost, at the next look elsewhere."""

import os
import pty
import signal
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from limelight.signals import SIGNALS, Stopped, StopRequest


def send(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_waits_for_the_next_look(number: int, code: int) -> None:
    with StopRequest() as stop:
        stop.check()
        send(number)
        with pytest.raises(Stopped, match=signal.Signals(number).name) as caught:
            stop.check()
    assert (caught.value.number, caught.value.exit_code) == (number, code)


@pytest.mark.parametrize("number", SIGNALS)
def test_where_nothing_is_half_done_it_stops_the_work_at_once(number: int) -> None:
    done = []

    def work(stop: StopRequest) -> None:
        with stop.interruptible():
            done.append("before")
            send(number)
            done.append("after")

    with StopRequest() as stop:
        with pytest.raises(Stopped):
            work(stop)
        with pytest.raises(Stopped):
            stop.check()
    assert done == ["before"]


@pytest.mark.parametrize("fails", [False, True])
def test_a_hidden_signal_ends_the_work(fails: bool) -> None:
    """Compiled code and callbacks of weak references hide `Stopped`; the work may fail later."""

    def work(stop: StopRequest) -> None:
        with stop.interruptible():
            with suppress(Stopped):
                send(signal.SIGINT)
            if fails:
                raise RuntimeError("no compiled object")

    with StopRequest() as stop, pytest.raises(Stopped):
        work(stop)


def test_a_signal_that_came_before_stops_interruptible_work_from_beginning() -> None:
    with StopRequest() as stop:
        send(signal.SIGTERM)
        with pytest.raises(Stopped), stop.interruptible():
            pytest.fail("the work began")


def test_nothing_that_handles_faults_of_the_work_swallows_a_stop() -> None:
    assert not issubclass(Stopped, Exception)


def test_in_another_thread_nothing_is_listened_to() -> None:
    before, faults = [signal.getsignal(number) for number in SIGNALS], []

    def work() -> None:
        try:
            with StopRequest() as stop:
                stop.check()
                assert [signal.getsignal(number) for number in SIGNALS] == before
        except BaseException as error:
            faults.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not faults


def end_of(*lines: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a process that does this while it listens: the module alone, without torch, so
    that it is there in an instant. `busy()` is compiled code, for minutes, between two steps of Python."""
    script = (
        "import hashlib, os, signal, threading, time\n"
        "from limelight import signals\n"
        "from limelight.signals import SIGNALS, Stopped, StopRequest\n"
        "def send(*numbers, after=0.0):\n"
        "    def now():\n"
        "        for number in numbers:\n"
        "            os.kill(os.getpid(), number)\n"
        "            time.sleep(0.01)\n"
        "    threading.Timer(after, now).start()\n"
        "def busy():\n"
        "    hashlib.pbkdf2_hmac('sha256', b'', b'', 400_000_000)\n"
        "with StopRequest() as stop:\n"
    ) + "".join(f"    {line}\n" for line in lines)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False)
    return ended.returncode, ended.stdout, ended.stderr


def test_ctrl_c_while_the_command_line_is_imported_is_a_line_and_a_code() -> None:
    script = (
        "import os, signal, sys\n"
        "from limelight.__main__ import main\n"
        "class Imports:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'limelight.cli':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Imports)\n"
        "main()\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "limelight: stopped by SIGINT\n")


SECOND = "limelight: stopped by {} without a last save: this was the second signal; what was saved before is intact\n"
LATE = SECOND.replace("this was the second signal", "the work had not come to a stop after {} s")


ENDINGS = {
    "a second signal ends the process": (
        ["send(signal.SIGTERM)", "print('once', flush=True)", "time.sleep(0.5)", "send(signal.SIGINT)",
         "time.sleep(50)", "print('twice', flush=True)"], 130, "once\n", SECOND.format("SIGINT")),
    "a second signal does not wait for compiled code": (
        ["send(signal.SIGTERM)", "send(signal.SIGTERM, after=0.5)", "busy()"], 143, "", SECOND.format("SIGTERM")),
    # `timeout` sends it to its child, and then to the group that the child is in
    "a signal that comes twice at once is one": (
        ["send(signal.SIGTERM, signal.SIGTERM)", "time.sleep(0.5)", "print('saved', flush=True)"], 0, "saved\n", ""),
    **{f"what does not end in time is ended within {within}": (
        ["signals.GRACE = 0.4", "send(signal.SIGINT, after=0.3)", f"with {within}: busy()"],
        130, "", LATE.format("SIGINT", "0.4"))
       for within in ("stop.interruptible()", "signals.suppress()")},
}  # fmt: skip


@pytest.mark.parametrize("what", ENDINGS)
def test_how_a_process_ends(what: str) -> None:
    lines, *expected = ENDINGS[what]
    assert end_of(*lines) == tuple(expected)


def test_a_live_display_is_left_and_the_cursor_comes_back() -> None:
    theirs, ours = pty.openpty()
    script = (
        "import os, signal, time\nfrom limelight import signals\nsignals.GRACE = 0.1\n"
        "with signals.StopRequest():\n    os.kill(os.getpid(), signal.SIGTERM)\n    time.sleep(50)\n"
    )
    try:
        ended = subprocess.run([sys.executable, "-c", script], stderr=ours, timeout=60, check=False)
        assert ended.returncode == 143
        assert os.read(theirs, 1000).startswith(b"\r\n\x1b[?25hlimelight: stopped by SIGTERM")
    finally:
        os.close(theirs)
        os.close(ours)
