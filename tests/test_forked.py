"""Forked processes do what those of `subprocess` do: the same programs say the same and end alike."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.forked import Forked

SHOW = """
import os, sys
print(__name__, sys.argv, os.getcwd(), os.environ.get("GIVEN"), os.environ.get("HOME"), sys.stdin.read())
print(os.getsid(0) == os.getpid(), file=sys.stderr)
"""
ENDS = {
    "0": "pass",
    "3": "raise SystemExit(3)",
    "1": "raise SystemExit('why')",
    "-9": "os.kill(os.getpid(), 9)",
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(SHOW, encoding="utf-8")
    return tmp_path / "program.py"


@pytest.mark.parametrize("form", ["-c", "file", "-m"])
@pytest.mark.parametrize("session", [False, True])
def test_words_streams_folder_environment_and_session(form: str, session: bool, program: Path) -> None:
    words = {"-c": ["-c", SHOW], "file": [program.name], "-m": ["-m", "program"]}[form]
    command = [sys.executable, *words, "a b", "--c"]
    environment = {"GIVEN": "here", "PATH": os.environ["PATH"]}
    found = []
    for start in (subprocess.Popen, Forked):
        with start(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=program.parent, env=environment, start_new_session=session,
        ) as process:  # fmt: skip
            process.stdin.write("typed")
            process.stdin.close()
            found.append((process.stdout.read(), process.stderr.read(), process.wait()))
    assert found[0] == found[1]
    assert "typed" in found[0][0]


@pytest.mark.parametrize("code", ENDS)
def test_exit_codes_and_messages(code: str) -> None:
    command = [sys.executable, "-c", f"import os; {ENDS[code]}"]
    real = subprocess.run(command, capture_output=True, text=True, check=False)
    played = forked.run(command)
    assert (played.returncode, played.stdout, played.stderr) == (real.returncode, real.stdout, real.stderr)
    assert played.returncode == int(code)


def test_a_process_that_waits_is_sent_a_signal_and_killed() -> None:
    ready = "print('ready', flush=True); import time; time.sleep(600)"
    for number in (signal.SIGTERM, signal.SIGKILL):
        with Forked([sys.executable, "-c", ready], stdout=subprocess.PIPE) as process:
            assert process.stdout.readline() == b"ready\n"
            assert process.poll() is None
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.01)
            process.send_signal(number)
            assert process.wait(600) == process.poll() == -number
            process.kill()


def test_a_process_reads_to_the_end_of_its_input() -> None:
    with Forked([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as process:
        assert process.poll() is None
        process.stdin.close()
        assert process.wait(600) == 0
