"""Loops as machine code: numba compiles them when they are first called, and keeps them on disk.

The first use on a machine takes some seconds, each later start a tenth of one.
"""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
import numpy as np
import numpy.typing as npt
from numba.core.caching import FunctionCache
from numba.core.codegen import get_host_cpu_features

from limelight.capabilities import has

Numbers = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Given = ParamSpec("Given")
Result = TypeVar("Result")

SHARED = Path(__file__).parent
"""The folder whose files compiled functions are made of."""


def _compile_for_permitted_instructions() -> None:
    """Where `capabilities` forbids instructions that the processor has, numba does without them, too. What is kept on
    disk knows for which instructions it was compiled."""
    forbidden = "+avx512" if not has("avx512") else "+avx512vnni" if not has("vnni") else "nothing"
    features = get_host_cpu_features().split(",")
    settings = cast(Any, numba.config)
    if settings.CPU_FEATURES is None and any(each.startswith(forbidden) for each in features):
        permitted = [each.replace("+", "-") if each.startswith(forbidden) else each for each in features]
        settings.CPU_FEATURES = ",".join(permitted)


_compile_for_permitted_instructions()


def compiled(function: Callable[Given, Result], *, exact: bool = False) -> Callable[Given, Result]:
    """The function as machine code, compiled when it is first called and kept where there is a folder to keep it in.

    It adds up in any order, as matrix products do, too, and assumes that there are no infinities, unless it is `exact`;
    and it releases Python's lock meanwhile. What is kept is compiled anew when the function's own file changes, or
    any file in `SHARED`: a function may call those of the others.

    What it calls is inlined. Else there would be a copy of the callee in each caller, optimized in its own way, and the
    copy that was loaded first would serve all: the last digits would depend on what else had run, and on whether it was
    compiled just now or came from disk.
    """
    machine_code = numba.njit(nogil=True, fastmath=not exact, error_model="numpy", forceinline=True)(function)
    # RuntimeError: neither NUMBA_CACHE_DIR nor the package's folder nor the user's can be written to
    with suppress(RuntimeError):
        cast(Any, machine_code)._cache = Cache(function)  # as `cache=True` does with numba's own
    return cast(Callable[Given, Result], machine_code)


class Cache(FunctionCache):
    """What is compiled is kept on disk if it can be: a disk that is full does not stop the work."""

    def save_overload(self, *what: Any) -> None:
        """Keep one function for one kind of arguments."""
        with suppress(OSError):
            super().save_overload(*what)

    def _index_key(self, *what: Any) -> tuple[Any, ...]:
        """What a function is found by: its arguments, the processor, and what it shares with other files."""
        return *super()._index_key(*what), _shared_version()


@cache
def _shared_version() -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(SHARED.glob("*.py")))).hexdigest()
