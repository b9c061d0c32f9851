"""Freed blocks stay with the process: counted in page faults, in processes of their own. Collections are rare."""

import gc
import os
import platform
import subprocess
import sys
import threading
import weakref

import pytest

from limelight import memory
from limelight.memory import rare_collections

WORK = """
import resource, sys
import numpy as np
from limelight.memory import hold_memory_for_work
if sys.argv[1] == "hold":
    assert hold_memory_for_work()
def faults(): return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
np.ones(5_000_000)
before = faults()
for _ in range(20):
    np.ones(5_000_000)
print(faults() - before)
"""


def faults_of(kind: str) -> int:
    found = subprocess.run([sys.executable, "-c", WORK, kind], capture_output=True, text=True, check=True)
    return int(found.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc hands every large block back")
def test_blocks_that_are_freed_are_used_again() -> None:
    held, handed_back = faults_of("hold"), faults_of("hand back")
    assert held < 0.1 * handed_back, f"{held} page faults with memory held, {handed_back} without"


@pytest.mark.parametrize(("name", "chosen"), [("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64"), ("GOMP_SPINCOUNT", "3000")])
def test_kernels_and_spinning_are_bounded_unless_somebody_has_chosen(name: str, chosen: str) -> None:
    work = (
        "import os, sys; from limelight.memory import hold_memory_for_work; hold_memory_for_work(); "
        f"assert 'torch' not in sys.modules; print(os.environ['{name}'])"
    )
    bare = {key: value for key, value in os.environ.items() if key != name}
    for environment, expected in ((bare, chosen), ({**bare, name: "7"}, "7")):
        found = subprocess.run(
            [sys.executable, "-c", work], env=environment, capture_output=True, text=True, check=True
        )
        assert found.stdout.strip() == expected


class Cycle:
    """Garbage that only a collection finds."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_that_has_lived_long_is_collected_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "COLLECT_SECONDS", 0.01)
    thresholds, threads = gc.get_threshold(), threading.active_count()
    with rare_collections():
        gone = threading.Event()
        cycle = Cycle()
        weakref.finalize(cycle, gone.set)
        gc.collect(1)
        del cycle
        assert gone.wait(600)
    assert gc.get_threshold() == thresholds
    assert threading.active_count() == threads
