"""Process-wide settings for training and translation: memory, compiled kernels, spinning, garbage collection.

glibc returns large blocks to the system when they are freed and requests them again soon after; each page of a new
block then costs a page fault and is cleared by the kernel. A training step allocates gigabytes in blocks that live for
milliseconds: keeping them avoids most of the faults (`python -m benchmarks.training recipe` counts them).

OpenMP threads wait for one another by spinning, by default so long that a single other process on the machine makes
training ten to forty times slower: each waits for one that waits for a core. A short spin costs nothing on an idle
machine.

oneDNN compiles a kernel for every shape of a product and caches 1,024 of them. Batches of sentences have new shapes all
the time, so most kernels are never used again and only take memory.

Python's collector visits all objects when many new ones have survived, and stops every thread meanwhile. A service that
holds the alternatives of a long request has millions of objects, none of them garbage.
"""

import ctypes
import gc
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_MALLOC_OPTIONS = {
    -4: 0,  # M_MMAP_MAX: no separate mappings, which would be returned when they are freed
    -1: 2**31 - 1,  # M_TRIM_THRESHOLD: the top of the heap is returned only above 2 GiB
    -2: 2**28,  # M_TOP_PAD: the heap grows by 256 MiB at a time
}


COLLECT_SECONDS = 60.0
"""Time between two collections of all objects in `rare_collections`."""


def set_environment() -> None:
    """Few compiled kernels and short spins of waiting threads, in this process if torch has not been imported yet, and
    in its children."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")


def hold_memory_for_work() -> bool:
    """Keep freed memory (glibc only; returns whether it does), and `set_environment`.

    For processes that exist to train or translate. The library never does this by itself: the settings affect the whole
    process, which may belong to another program.
    """
    set_environment()
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all(mallopt(option, value) == 1 for option, value in _MALLOC_OPTIONS.items())


@contextmanager
def rare_collections() -> Iterator[None]:
    """A context in which all objects are collected only every `COLLECT_SECONDS`, and those that exist on entry never.
    New objects are collected as before.

    For processes that answer requests: a long request would otherwise cause several collections of all objects, and
    each delays the other requests by up to half a second.
    """
    thresholds, ended = gc.get_threshold(), threading.Event()

    def collect() -> None:
        while not ended.wait(COLLECT_SECONDS):
            gc.collect()

    gc.freeze()
    gc.set_threshold(*thresholds[:2], 2**31 - 1)
    thread = threading.Thread(target=collect, daemon=True, name="collections")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        gc.set_threshold(*thresholds)
        gc.unfreeze()
