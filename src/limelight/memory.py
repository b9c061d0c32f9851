"""How a process that trains or translates holds memory, and its threads: freed blocks are kept, compiled kernels are
not kept, and threads do not spin for long.

glibc gives large blocks back as soon as they are freed, and asks for them again a moment later; each page of a fresh
block then costs a fault and is cleared by the kernel. A training step allocates gigabytes in blocks that live for
milliseconds: keeping them saves most of the faults (`python -m benchmarks.training_speed` counts them).

Its threads wait for one another by spinning, by default so long that a single other process on the machine makes
training ten to forty times slower: each waits for one that waits for a core. A short spin costs nothing where nobody
else is at work.

oneDNN compiles a kernel for every shape of a product and keeps 1,024 of them. Batches of sentences have new shapes all
the time, so most are never used again and only take memory.
"""

import ctypes
import os
import platform

_MALLOC_OPTIONS = {
    -4: 0,  # M_MMAP_MAX: no block is a mapping of its own, for such blocks go back when they are freed
    -1: 2**31 - 1,  # M_TRIM_THRESHOLD: the end of the heap goes back only above 2 GiB of it
    -2: 2**28,  # M_TOP_PAD: the heap grows by 256 MiB at a time
}


_KERNELS = "64"
_SPINS = "3000"


def physical_memory() -> int | None:
    """Bytes of memory this machine has; None where the system does not say (Windows)."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def hold_memory_for_work() -> bool:
    """Keep what is freed (glibc only; returns whether it does), few compiled kernels (if none was used yet), and spin
    little while threads wait (if torch has not been imported yet).

    For processes that exist to train or translate. The library never does this by itself: the settings hold for the
    whole process, which may belong to another program.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", _KERNELS)
    os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    return all(mallopt(option, value) == 1 for option, value in _MALLOC_OPTIONS.items())
