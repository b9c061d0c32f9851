"""Loops that are compiled aside: until they are there, everything is found without them, and nothing is compiled."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Event, Thread

import pytest

pytest.importorskip("numba")

import numba
from numba.core import event

from limelight.child import Header
from limelight.decoding import ahead
from limelight.errors import RunError
from limelight.inference import linear
from limelight.inference.cpu.jit import complete_mark
from limelight.inference.linear import Fp32Linear
from limelight.models.families import build_model
from limelight.pipelines.translator import Translator
from limelight.tokens import Tokenizers
from tests.models.helpers import transformer
from tests.pipelines.helpers import tokenizer

Said = list[str]


class HeldChild:
    """In place of a child: writes the mark, or fails, once it may."""

    started = 0
    abandoned = False

    def __init__(self, factory: str, *, silence: float) -> None:
        HeldChild.started += 1

    def call(self, header: Header) -> None:
        assert self.may_end.wait(1800)  # a busy machine may take minutes to get there
        if self.fails:
            raise RunError("exit code -9")
        Path(header["mark"]).touch()

    def close(self) -> None:
        """There is nothing to kill."""


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[type[HeldChild]]:
    """An empty cache, and children that end on demand."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(ahead.VARIABLE, raising=False)
    monkeypatch.setattr(linear, "PENDING", [])
    monkeypatch.setattr(ahead, "Child", HeldChild)
    HeldChild.started, HeldChild.may_end, HeldChild.fails = 0, Event(), False
    yield HeldChild
    HeldChild.may_end.set()


def test_until_loops_are_compiled_nothing_waits_for_them(held: type[HeldChild], compilations: Said) -> None:
    said: Said = []
    ahead.compile_aside(said.append)
    assert "compiling kernels for this machine" in said[0]
    both = Tokenizers(tokenizer(), tokenizer())
    translator = Translator(build_model(transformer(norm="pre"), both), both, precision="int8")
    compilations.clear()
    for options in ({"beam_size": 1}, {"beam_size": 4}, {"beam_size": 4, "n_best": 2}):
        translator.translate("a cat sees the dog", **options)
    assert compilations == []
    assert isinstance(translator.searched.output, Fp32Linear)
    assert not translator.refresh()
    held.may_end.set()
    wait_until(lambda: not linear.is_pending())
    assert translator.refresh()
    assert type(translator.searched).__name__ == "CompiledTransformer"
    assert not translator.awaits_loops
    assert len(said) == 1


def test_one_child_compiles_and_none_if_that_was_done(held: type[HeldChild]) -> None:
    for _ in range(3):
        ahead.compile_aside(lambda message: None)
    held.may_end.set()
    wait_until(lambda: not linear.is_pending())
    linear.PENDING.clear()
    ahead.compile_aside(lambda message: None)
    assert held.started == 1


def test_a_child_that_fails_is_told_of_and_not_waited_for(held: type[HeldChild]) -> None:
    said: Said = []
    held.fails = True
    ahead.compile_aside(said.append)
    held.may_end.set()
    wait_until(lambda: not linear.is_pending())
    assert said[1:] == ["kernels could not be compiled in the background: exit code -9"]
    assert not complete_mark().exists()


def wait_until(holds: Callable[[], bool], seconds: float = 600.0) -> None:
    """Wait for what is sure to come; that it does is the assertion."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it has not come"
        time.sleep(0.01)


COUNTED: list[int] = []


def count() -> None:
    COUNTED.append(1)
    time.sleep(0.05)  # so that the other one comes in between


def test_two_at_once_compile_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("limelight.decoding.every_loop.compile_every_loop", count)
    COUNTED.clear()
    both, done = Barrier(2), []

    def compile_it() -> None:
        both.wait()
        done.append(ahead._compile(tmp_path / "mark"))

    threads = [Thread(target=compile_it) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(COUNTED), sorted(done)) == (1, [False, True])


def test_what_was_interrupted_is_not_marked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("limelight.decoding.every_loop.compile_every_loop", fail)
    with pytest.raises(KeyboardInterrupt):
        ahead._compile(tmp_path / "mark")
    assert not (tmp_path / "mark").exists()


PARENT = """
import atexit
atexit.register(lambda: linear.PENDING[0].join(600))  # first, so it runs after the child was killed
from limelight.decoding import ahead
from limelight.inference import linear
begun = []
class Watched(ahead.Child):
    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        begun.append(self.process.pid)
ahead.Child = Watched
ahead.compile_aside(print)
print(*begun, linear.is_pending())
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != ahead.VARIABLE}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path)
    ended = subprocess.run([sys.executable, "-c", PARENT], env=environment, capture_output=True, text=True, check=True)
    said, found = ended.stdout.splitlines()
    pid, pending = found.split()
    assert (pending, ended.stderr) == ("True", "")
    assert "compiling kernels for this machine" in said, "and nothing of a failure"
    wait_until(lambda: not _runs(int(pid)))


def _runs(pid: int) -> bool:
    try:
        return "limelight.child" in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:
        return False


@pytest.fixture
def compilations() -> Iterator[Said]:
    """What numba compiles meanwhile."""
    found: Said = []

    class Heard(event.Listener):
        def on_start(self, event: event.Event) -> None:
            found.append(str(event.data))

        def on_end(self, event: event.Event) -> None:
            """It is counted at its start."""

    listener = Heard()
    event.register("numba:compile", listener)
    yield found
    event.unregister("numba:compile", listener)
