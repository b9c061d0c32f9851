"""Engines as threads and as processes: the same answers, and an end that is noticed."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from queue import SimpleQueue

import pytest

from limelight.child import KILLED
from limelight.pipelines.load import load_translator
from limelight.serving import links
from limelight.serving.links import SILENT, ProcessLink, ThreadLink, thread_link
from limelight.serving.load import Loading
from limelight.serving.tasks import Report, Task
from limelight.serving.worker import plain
from tests import forked
from tests.cli.conftest import corpus, trained  # noqa: F401

Reports = SimpleQueue[Report]


@pytest.fixture(scope="module")
def model(trained: Path) -> str:  # noqa: F811
    return str(trained)


def translated(model: str, text: str) -> dict:
    return json.loads(json.dumps(plain(load_translator(model, precision="fp32").translate(text))))


@pytest.mark.parametrize("start", [thread_link, ProcessLink])
def test_an_engine_loads_answers_and_ends(model: str, start) -> None:
    reports: Reports = SimpleQueue()
    link = start(Loading(model, precision="fp32"), reports.put)
    loaded = reports.get(timeout=60)
    assert (loaded.kind, loaded.value["directions"]) == ("loaded", [["en", "lumi"]])
    link.send(Task(4, "translate", "the dog sees the cat"))
    assert reports.get(timeout=60) == Report(4, "done", translated(model, "the dog sees the cat"))
    link.close()
    assert reports.get(timeout=60) == Report(0, "closed", "")
    link.join(10.0)
    link.send(Task(5, "translate", "nobody hears this"))


@pytest.mark.parametrize("start", [thread_link, ProcessLink])
def test_why_a_model_cannot_be_loaded_is_told(tmp_path: Path, start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "subprocess", forked.SUBPROCESS)
    reports: Reports = SimpleQueue()
    start(Loading(str(tmp_path / "nothing")), reports.put)
    closed = reports.get(timeout=60)
    assert closed.kind == "closed"
    assert "nothing" in closed.value


def test_an_engine_that_is_killed_is_noticed_and_leaves_nothing(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "subprocess", forked.SUBPROCESS)
    reports: Reports = SimpleQueue()
    link = ProcessLink(Loading(model), reports.put)
    assert reports.get(timeout=60).kind == "loaded"
    assert isinstance(link, ProcessLink)
    assert link.pid is not None
    os.kill(link.pid, signal.SIGTERM)  # which it leaves to the service
    link.send(Task(1, "translate", "the dog"))
    assert reports.get(timeout=60).kind == "done"
    os.kill(link.pid, signal.SIGKILL)
    assert reports.get(timeout=60) == Report(0, "closed", KILLED)


def test_an_engine_that_the_service_kills_was_not_ended_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    start = subprocess.Popen
    code = "import time; time.sleep(600)"
    monkeypatch.setattr(subprocess, "Popen", lambda _, **more: start([sys.executable, "-c", code], **more))
    reports: Reports = SimpleQueue()
    ProcessLink(Loading("none"), reports.put).kill()
    assert reports.get(timeout=10) == Report(0, "closed", SILENT)


def test_an_engine_ends_when_its_service_is_gone(model: str) -> None:
    """However that ended: its standard input is closed then."""
    code = f"""
import os, sys, json
from queue import SimpleQueue
from limelight.serving.links import ProcessLink
from limelight.serving.load import Loading
reports = SimpleQueue()
link = ProcessLink(Loading({model!r}), reports.put)
assert reports.get(timeout=60).kind == "loaded"
print(link.pid, flush=True)
os.kill(os.getpid(), 9)
"""
    ended = forked.run([sys.executable, "-c", code])
    assert ended.returncode == -9
    pid = int(ended.stdout)
    gone = threading.Event()
    for _ in range(1000):
        if not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]:
            gone.set()
            break
        gone.wait(0.01)
    assert gone.is_set()


@pytest.mark.parametrize("last", ['{"id": 4, "kind": "do', "no report", '{"id": 4, "other": 1}', "[]"])
def test_an_engine_that_ends_in_the_middle_of_a_report_is_noticed(monkeypatch: pytest.MonkeyPatch, last: str) -> None:
    """The reports of explanations are megabytes, so it is there that one is killed."""
    script = f"""
import os, sys
sys.stdout.write('{{"id": 0, "kind": "loaded", "value": null}}\\n' + {last!r})
sys.stdout.flush()
os.kill(os.getpid(), 9)
"""
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda _, **more: start([sys.executable, "-c", script], **more))
    reports: Reports = SimpleQueue()
    ProcessLink(Loading("none"), reports.put)
    assert reports.get(timeout=60).kind == "loaded"
    assert reports.get(timeout=10) == Report(0, "closed", KILLED)


def test_a_thread_that_raises_tells_it() -> None:
    reports: Reports = SimpleQueue()

    def broken(heard):
        raise ZeroDivisionError("by nothing")

    ThreadLink(broken, reports.put).join(10.0)
    assert reports.get(timeout=10) == Report(0, "closed", "ZeroDivisionError: by nothing")
