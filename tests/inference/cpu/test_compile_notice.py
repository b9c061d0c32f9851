import numba
import numpy as np
import pytest
from numba.core import event

from limelight.inference.cpu.compile_notice import tell_compiling


def test_who_waits_for_compiling_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before the given time, counted over all functions, and not for what is taken from the disk."""
    listeners: list[event.Listener] = []
    monkeypatch.setattr(event, "register", lambda kind, listener: listeners.append(listener))
    said: list[int] = []
    for seconds in (1e-9, 60.0):
        tell_compiling(lambda seconds=seconds: said.append(seconds), seconds=seconds)
    monkeypatch.undo()
    for listener in listeners:
        event.register("numba:compile", listener)
    try:
        outer = numba.njit(lambda values: values.sum() + 1)
        assert not said
        for kind in (np.float32, np.float64):
            outer(np.zeros(3, kind))
        assert said == [1e-9]
        listeners[1].left = 1e-9
        outer(np.zeros(3, np.float32))
        assert said == [1e-9], "nothing was compiled"
        outer(np.zeros(3, np.int64))
        assert said == [1e-9, 60.0]
    finally:
        for listener in listeners:
            event.unregister("numba:compile", listener)
