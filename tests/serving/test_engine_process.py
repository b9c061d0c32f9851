"""The process of an engine: what it does before it takes tasks. `test_links.py` runs it as a process."""

import gc
import io
from queue import SimpleQueue

import pytest

from limelight.serving import engine_process
from limelight.serving.load import Loading


def test_what_is_loaded_is_not_visited_by_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection that visited the model and its libraries would stop the engine for a tenth of a second."""
    frozen: list[int] = []

    class Loaded:
        def run(self, inbox: object) -> None:
            frozen.append(gc.get_freeze_count())

    monkeypatch.setattr(engine_process, "load_worker", lambda *_: Loaded())
    gc.unfreeze()  # what commands of other tests have frozen
    try:
        assert engine_process._work(Loading(""), SimpleQueue(), io.BytesIO()) == ""
    finally:
        gc.unfreeze()
    assert frozen[0] > len(gc.get_objects()) / 2
