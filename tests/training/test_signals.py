"""Ctrl-C and SIGTERM as requests: at once where nothing can be lost, at the next look elsewhere."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from limelight.training.signals import SIGNALS, Stopped, StopRequest


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


def test_a_signal_that_came_before_stops_interruptible_work_from_beginning() -> None:
    with StopRequest() as stop:
        send(signal.SIGTERM)
        with pytest.raises(Stopped), stop.interruptible():
            pytest.fail("the work began")


def test_after_an_interruptible_part_signals_wait_again() -> None:
    with StopRequest() as stop:
        with stop.interruptible():
            pass
        send(signal.SIGINT)
        with pytest.raises(Stopped):
            stop.check()


def test_nothing_that_handles_faults_of_the_work_swallows_a_stop() -> None:
    assert not issubclass(Stopped, Exception)


def test_the_former_handlers_come_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with StopRequest():
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


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


def test_a_second_signal_ends_the_process() -> None:
    """The module alone, without torch: the process is there in an instant."""
    script = (
        "import os, signal\n"
        "from limelight.training.signals import StopRequest\n"
        "with StopRequest():\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "    print('once', flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    print('twice', flush=True)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (130, "once\n")
