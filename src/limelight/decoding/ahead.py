"""Compile all kernels before their first use, in this process or in the background, so that no request waits for it.

The first use on a machine compiles for half a minute. While a child process compiles, models are prepared without
kernels, and translation is slower. Compiled code is stored in a cache on disk, from which this process loads it.
"""

import os
from collections.abc import Callable
from pathlib import Path
from threading import Lock, Thread

from limelight.child import Child, Frame, Handler, Header
from limelight.errors import RunError, UserError
from limelight.files import locked

VARIABLE = "LIMELIGHT_COMPILE"
"""`here` compiles kernels at their first call in the calling process; the default is a child process."""

SILENCE = 3600.0
"""Seconds after which a child is killed."""

Say = Callable[[str], object]


_STARTING = Lock()


def compile_here() -> None:
    """Compile loops at their first call in this process and in its children, for results that do not depend on time;
    only for the owner of the process."""
    os.environ.setdefault(VARIABLE, "here")


def compile_aside(say: Say) -> None:
    """Compile all loops in a child process, if that has not been done on this machine; `say` is called with a message
    when it begins, and if it fails. The child ends with this process."""
    with _STARTING:
        if os.environ.get(VARIABLE) == "here" or (mark := _missing()) is None:
            return
        from limelight.inference.linear import PENDING

        if PENDING:
            return
        child = Child(f"{__name__}:in_child", silence=SILENCE)
        PENDING.append(Thread(target=_await, args=(child, mark, say), daemon=True))
        PENDING[0].start()
    say(
        "compiling kernels for this machine in the background (once, about 30 s, more if it is busy); translation "
        f"is slower until then (kept in {mark.parent})"
    )


def compile_now() -> str:
    """Compile all loops in this process, if that has not been done on this machine; returns what was done."""
    try:
        from limelight.inference.cpu.jit import complete_mark
    except ImportError:
        return 'there are no loops to compile: numba is not installed (pip install "limelight[fast]")'
    mark = complete_mark()
    if mark is None:
        raise RunError("no folder for compiled loops can be written to: set NUMBA_CACHE_DIR to one")
    return f"{'compiled' if _compile(mark) else 'compiled before'}: {mark.parent}"


def _missing() -> Path | None:
    """The file that would say that all is compiled; None if it is there, or if nothing can be compiled aside."""
    try:
        from limelight.inference.cpu.jit import complete_mark
    except ImportError:  # numba is an extra
        return None
    mark = complete_mark()
    return None if mark is None or mark.exists() else mark


def _await(child: Child, mark: Path, say: Say) -> None:
    try:
        child.call({"mark": str(mark)})
    except (RunError, UserError) as error:
        if not child.abandoned:  # a brief command ends before all is compiled
            say(f"kernels could not be compiled in the background: {error}")
    finally:
        child.close()


def in_child() -> Handler:
    """What the child answers with: it compiles, at low priority."""
    if hasattr(os, "nice"):
        os.nice(10)

    def handle(header: Header, payload: bytes) -> Frame:
        _compile(Path(header["mark"]))
        return {}, b""

    return handle


def _compile(mark: Path) -> bool:
    """Compile all loops and mark that, unless it was marked before; returns whether it was done. One process at a time
    does so, and torch and numba are imported by no other."""
    with locked(mark.parent):
        if mark.exists():
            return False
        from limelight.decoding.every_loop import compile_every_loop

        compile_every_loop()
        mark.touch()
        return True
