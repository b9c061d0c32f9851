"""Train, translate, evaluate, attention and serve without what Windows does not have (`make test-portable-os`).

Every process of these commands finds no `fcntl`, `resource`, `SIGHUP`, `fork`, signal handlers of event loops, `select`
of pipes and files below /proc, where Limelight asks for them; the libraries have their own ways.
"""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.training.helpers import write_pairs

HIDE = """
import asyncio, builtins, os, select, signal, socket, sys
find, modules = builtins.__import__, {"fcntl", "resource", "pwd", "grp", "termios", "pty"}
def without(name, globals=None, locals=None, fromlist=(), level=0):
    if name in modules and (globals or {}).get("__name__", "").startswith("limelight"):
        raise ImportError(name)
    return find(name, globals, locals, fromlist, level)
builtins.__import__ = without
def forbid(event, arguments):
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith("/proc"):
        raise FileNotFoundError(arguments[0])
sys.addaudithook(forbid)
def missing(*_):
    raise NotImplementedError
asyncio.unix_events._UnixSelectorEventLoop.add_signal_handler = missing
for name in "fork forkpty mkfifo setsid sched_getaffinity".split():
    delattr(os, name)
del signal.SIGHUP
wait = select.select
def of_sockets(reading, writing, *rest):
    if not all(isinstance(each, socket.socket) for each in [*reading, *writing]):
        raise OSError(10038, "not a socket")
    return wait(reading, writing, *rest)
select.select = of_sockets
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("portable")
    (folder / "sitecustomize.py").write_text(HIDE, encoding="utf-8")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> Path:
    folder = tmp_path_factory.mktemp("portable")
    files = ["--train", write_pairs(folder / "train.tsv", 61), "--valid", write_pairs(folder / "valid.tsv", 7, 500)]
    bounds = ["--recipe", "tiny", "--max-steps", "4", "--set", "training.checkpoint_every=2"]
    limelight("train", *files, "--source", "en", "--target", "de", *bounds, "--out", folder / "run", at=environment)
    again = limelight("train", "--out", folder / "run", "--max-steps", "6", at=environment)
    assert "going on after update 4" in again.stderr
    return folder / "run"


def limelight(*words: object, at: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "limelight", *map(str, words)]
    done = subprocess.run(command, env=at, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


def test_translate_evaluate_and_attention(run: Path, environment: dict[str, str], tmp_path: Path) -> None:
    test = write_pairs(tmp_path / "test.tsv", 9, 900)
    assert limelight("translate", "--model", run, "--text", "one two", at=environment).stdout.count("\n") == 1
    figures = json.loads(limelight("evaluate", "--model", run, "--test", test, "--json", at=environment).stdout)
    assert "bleu" in figures
    limelight("attention", "--model", run, "one two", "-o", tmp_path / "map.json", at=environment)
    assert json.loads((tmp_path / "map.json").read_text(encoding="utf-8"))


def test_many_files(run: Path, environment: dict[str, str], tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text("one\ntwo three\n" * 20, encoding="utf-8")
    given = [tmp_path / "a.txt", tmp_path / "b.txt", "-o", tmp_path / "out", "--workers", "2"]
    limelight("translate", "--model", run, *given, at=environment)
    assert len((tmp_path / "out" / "b.txt").read_text(encoding="utf-8").splitlines()) == 40


def test_serve(run: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "limelight", "serve", "--model", str(run), "--port", "0"]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        lines = []
        for line in process.stderr:
            lines.append(line)
            if json.loads(line)["event"] == "engine_ready":
                break
        (port,) = (json.loads(line)["port"] for line in lines if json.loads(line)["event"] == "listening")
        body = json.dumps({"text": "one two"}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v1/translate", body)
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=600) as answer:
            assert len(json.load(answer)["translations"]) == 1
        process.terminate()
        assert process.wait(600) == 0, lines
