"""The process of an engine: what it does before it takes tasks. `test_links.py` runs it as a process."""

import gc
import io
import os
import threading
from queue import SimpleQueue

import pytest

from limelight.serving import links
from limelight.serving.load import Loading
from limelight.serving.tasks import Report, decode_report


def test_what_is_loaded_is_not_visited_by_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection that visited the model and its libraries would stop the engine for a tenth of a second."""
    frozen: list[int] = []

    class Loaded:
        def run(self, inbox: object) -> None:
            frozen.append(gc.get_freeze_count())

    monkeypatch.setattr(links, "load_worker", lambda *_: Loaded())
    gc.unfreeze()  # what commands of other tests have frozen
    assert links._work(Loading(""), SimpleQueue(), io.BytesIO()) == ""
    assert frozen[0] > len(gc.get_objects()) / 2


def test_reports_of_two_threads_stay_whole() -> None:
    """The lines are longer than a pipe holds."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as lines, os.fdopen(writing, "wb") as out:

        def report(number: int) -> None:
            for _ in range(20):
                links._write(out, Report(number, "done", "x" * 200_000))

        threads = [threading.Thread(target=report, args=(number,)) for number in (1, 2)]
        for thread in threads:
            thread.start()
        found = [decode_report(next(lines)) for _ in range(40)]
        for thread in threads:
            thread.join()
    assert sorted((each.id, len(each.value)) for each in found) == [(1, 200_000)] * 20 + [(2, 200_000)] * 20
