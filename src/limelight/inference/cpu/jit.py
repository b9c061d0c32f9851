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


def compiled(function: Callable[Given, Result], *, apart: bool = False) -> Callable[Given, Result]:
    """The function as machine code, compiled when it is first called and kept where there is a folder to keep it in.

    It computes what is written down, in that order, and releases Python's lock meanwhile. What is kept is compiled anew
    when the function's own file changes, or any file in `SHARED`: a function may call those of the others.

    There is a copy of what it calls in each caller, and the copy that was loaded first serves all. So no sum may be
    left to the optimizer, which treats each copy in its own way: its last digits would depend on what else had run, and
    on whether it was compiled just now or came from disk. What a function calls is inlined; a large function that
    is `apart` is not, since its callers would take minutes to compile.
    """
    # `forceinline=False` is said, too: else numba takes it from the function that calls this one first
    machine_code = numba.njit(nogil=True, error_model="numpy", forceinline=not apart)(function)
    # RuntimeError: neither NUMBA_CACHE_DIR nor the package's folder nor the user's can be written to
    with suppress(RuntimeError):
        cast(Any, machine_code)._cache = Cache(function)  # as `cache=True` does with numba's own
    return cast(Callable[Given, Result], machine_code)


def expanded(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """A part of the compiled function that calls it, copied into it before that is compiled: for what has one caller,
    and would be compiled twice. It may return at its end alone: numba counts references wrongly where a copy returns
    from within a loop."""
    return cast(Callable[Given, Result], numba.njit(nogil=True, error_model="numpy", inline="always")(function))


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
