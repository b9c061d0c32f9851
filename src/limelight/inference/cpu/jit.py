"""Compilation of loops with numba at their first call, cached on disk.

The first use on a machine takes some seconds, each later start a tenth of a second.
"""

import hashlib
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.codegen import get_host_cpu_features
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

from limelight.capabilities import has

Numbers = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.int8]
Given = ParamSpec("Given")
Result = TypeVar("Result")

SHARED = Path(__file__).parent
"""The folder with the source files of all compiled functions."""

NOTICES: list[Callable[[], None]] = []
"""Called once, when a function has been compiled that was not in the cache; never where nothing can be cached."""


AVX2 = "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+popcnt,+sse4.1,+sse4.2,+ssse3"
"""The instructions of x86-64-v3."""


def _compile_for_permitted_instructions() -> None:
    """If `capabilities` forbids instructions that the processor has, disable them in numba, too. The cache on disk
    distinguishes processors and instruction sets; for AVX2 without AVX-512, code is made for all such processors, so
    that the cache of an image serves wherever it runs (as fast as code for one of them: docs/performance.md)."""
    forbidden = "+avx512" if not has("avx512") else "+avx512vnni" if not has("vnni") else "nothing"
    features = get_host_cpu_features().split(",")
    settings = cast(Any, numba.config)
    if settings.CPU_FEATURES is not None or settings.CPU_NAME is not None:
        return
    if has("avx2") and not has("avx512") and set(AVX2.split(",")) <= set(features):
        settings.CPU_NAME, settings.CPU_FEATURES = "x86-64-v3", AVX2
    elif any(feature.startswith(forbidden) for feature in features):
        permitted = [feature.replace("+", "-") if feature.startswith(forbidden) else feature for feature in features]
        settings.CPU_FEATURES = ",".join(permitted)


_compile_for_permitted_instructions()


def instruction_set() -> str:
    """The instructions that numba compiles for."""
    return cast(Any, cpu_target.target_context).codegen().magic_tuple()[2]


def compiled(function: Callable[Given, Result], *, noinline: bool = False) -> Callable[Given, Result]:
    """Compile the function at its first call, and cache it if a cache folder is writable.

    It computes exactly the written operations, in that order, and releases Python's lock. The cache is invalidated when
    the function's file changes, or any file in `SHARED`, as functions call functions of other files.

    Each caller contains a copy of the functions it calls, and the copy that was loaded first serves all. So no sum may
    be left to the optimizer, which treats each copy differently: its last digits would depend on what else has run, and
    on whether it was just compiled or loaded from disk.
    Called functions are inlined, unless they are `noinline` (`compiled_noinline`).
    """
    # `forceinline=False` is explicit: otherwise numba inherits the option from the first caller
    machine_code = numba.njit(nogil=True, error_model="numpy", forceinline=not noinline)(function)
    # RuntimeError: NUMBA_CACHE_DIR, the package's folder and the user's folder are not writable
    with suppress(RuntimeError):
        cast(Any, machine_code)._cache = Cache(function)  # as `cache=True` does with numba's own
    return cast(Callable[Given, Result], machine_code)


def compiled_noinline(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """`compiled` for a large function, which begins with a call of `lanes.noinline`: it is never inlined, as its
    callers would take minutes to compile."""
    return compiled(function, noinline=True)


class _Filled:
    """A place that cannot be written to, and is used if it has all compiled code."""

    def ensure_cache_path(self) -> None:
        """Raises `OSError` if it has not."""
        (Path(cast(Any, self).get_cache_path()) / _mark_name()).stat()


class _Places(CompileResultCacheImpl):
    """numba's places of a cache, in its order: each if it can be written to, else if it is filled."""

    _locator_classes: Any = [  # noqa: RUF012 - numba reads it from the instance
        kind
        for place in CompileResultCacheImpl._locator_classes
        for kind in (place, type(f"Filled{place.__name__}", (_Filled, place), {}))
    ]


class Cache(FunctionCache):
    """A cache on disk that ignores write errors, such as a full disk."""

    _impl_class = _Places

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """One function for one kind of arguments, if it is stored. numba would first import what its compiler knows of
        all types, which takes longer than everything else here; only compilation needs that."""
        rtsys.initialize(target_context)  # the memory of arrays
        try:
            return self._load_overload(sig, target_context)
        except (ImportError, AttributeError):  # stored by another version, whose types had other names
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, *what: Any) -> None:
        """Store one function for one kind of arguments, which has just been compiled."""
        while NOTICES:
            NOTICES.pop()()
        with suppress(OSError):
            super().save_overload(*what)

    def _index_key(self, *what: Any) -> tuple[Any, ...]:
        """The key of a function: its arguments, the processor, and the version of the files it depends on."""
        return *super()._index_key(*what), _shared_version()


@cache
def _shared_version() -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(SHARED.glob("*.py")))).hexdigest()


def complete_mark() -> Path | None:
    """The file that says that all functions have been compiled for this processor, in the folder of the cache; None
    without such a folder. `decoding/ahead.py` writes it."""
    try:
        return Path(Cache(complete_mark).cache_path) / _mark_name()
    except RuntimeError:
        return None


@cache
def _mark_name() -> str:
    """Its name, another one for other code, versions and instructions."""
    processor = cast(Any, cpu_target.target_context).codegen().magic_tuple()
    made_of = repr((_shared_version(), numba.__version__, sys.version_info[:2], processor))
    return f"complete-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"
