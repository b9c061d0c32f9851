"""Child processes that draw rows: one process draws 50,000 to 100,000 tokens per second, a GPU trains on many times as
many, and threads would share Python's lock.

The rows are a pure function of (rows, seeds), so they do not depend on the number of processes. A process (`child.py`)
loads tokenizers and maps stores by itself, without torch.
"""

import tempfile
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from limelight.batching.drawing import Drawing, DrawnRows, View, varied_rows
from limelight.batching.store import Ragged, TokenStore, open_alignments, open_marked
from limelight.child import Child, ChildEndedError, Frame, Handler, Header
from limelight.errors import RunError
from limelight.text.augmentation import Languages
from limelight.tokens import Tokenizers, load_tokenizers, save_tokenizers

SILENCE = 300.0
"""Seconds without an answer after which a process is killed."""


class DrawingPool:
    """A pool of processes that compute `varied_rows`; `close` ends them.

    Raises `RunError` if one of them cannot start.
    """

    def __init__(self, views: Sequence[View], tokenizers: Tokenizers, how: Drawing, *, processes: int) -> None:
        self._idle: SimpleQueue[Child] = SimpleQueue()
        self._all: list[Child] = []
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="drawers")
        with tempfile.TemporaryDirectory(prefix="limelight-") as folder:
            save_tokenizers(tokenizers, folder)
            opening = {
                "tokenizers": folder,
                "views": [_described(view) for view in views],
                "how": {"sampling": how.sampling, "rates": dict(how.rates), "max_length": how.max_length},
            }
            try:
                self._all = [Child(f"{__name__}:{drawer.__name__}", silence=SILENCE) for _ in range(processes)]
                for _ in self._threads.map(lambda child: _called(child, opening), self._all):
                    pass
                for child in self._all:
                    self._idle.put(child)
            except BaseException:
                self.close()
                raise

    def draw(self, chosen: np.ndarray, seeds: tuple[int, int]) -> Future[DrawnRows]:
        """A future of `varied_rows` for these rows; its result raises `RunError` if a process failed."""
        return self._threads.submit(self._draw, chosen, seeds)

    def close(self) -> None:
        """Kill the processes and wait for them."""
        for child in self._all:
            child.process.kill()
        self._threads.shutdown(cancel_futures=True)
        for child in self._all:
            child.close()

    def _draw(self, chosen: np.ndarray, seeds: tuple[int, int]) -> DrawnRows:
        child = self._idle.get()
        try:
            _, drawn = _called(child, {"seeds": seeds}, chosen.astype("<i8").tobytes())
        finally:
            self._idle.put(child)
        numbers = np.frombuffer(drawn, dtype="<i4")
        lengths, ids = numbers[: 2 * len(chosen)], numbers[2 * len(chosen) :].astype(np.int64)
        rows = np.split(ids, np.cumsum(lengths)[:-1]) if len(chosen) else []
        return DrawnRows(rows[: len(chosen)], rows[len(chosen) :])


def _called(child: Child, header: Header, payload: bytes = b"") -> Frame:
    try:
        return child.call(header, payload)
    except ChildEndedError as error:
        raise RunError(
            f"a process that draws training text has ended ({error}); what was saved is intact. If memory ran out, "
            "lower training.data_workers"
        ) from None
    except RunError as error:
        raise RunError(f"a process that draws training text failed: {error}") from None


def _described(view: View) -> dict[str, Any]:
    store = view.store
    parts = store.sources, store.targets, store.source_texts, store.target_texts
    words = view.alignment
    return {
        "files": [(str(part.place), part.values.dtype.str) for part in parts],
        "prefix": [int(number) for number in view.prefix],
        "languages": view.languages,
        "words": [str(words.links.place.parent), words.turned] if words and words.links.place else None,
    }


# --- in the child ---


def drawer() -> Handler:
    """The handler in the child: the first call opens tokenizers and stores, later calls draw rows.

    The answer to a draw contains the lengths of all source rows and all target rows, then their ids, as int32.
    """
    opened: list[tuple[list[View], Tokenizers, Drawing]] = []

    def answer(header: Header, payload: bytes) -> Frame:
        if not opened:
            views = [_view(**each) for each in header["views"]]
            opened.append((views, load_tokenizers(header["tokenizers"]), Drawing(**header["how"])))
            return {}, b""
        chosen = np.frombuffer(payload, dtype="<i8").reshape(-1, 2)
        rows = [
            row for side in varied_rows(opened[0][0], chosen, *opened[0][1:], tuple(header["seeds"])) for row in side
        ]
        lengths = np.array([len(row) for row in rows], dtype="<i4")
        return {}, lengths.tobytes() + np.concatenate([*rows, np.zeros(0, dtype="<i4")]).astype("<i4").tobytes()

    return answer


def _view(
    files: list[tuple[str, str]], prefix: list[int], languages: list[str], words: tuple[str, bool] | None
) -> View:
    places = [(Path(place), dtype) for place, dtype in files]
    parts = [Ragged.open(place.parent, place.name, dtype) for place, dtype in places]
    store = TokenStore(*parts, marked=open_marked(places[0][0].parent))
    alignment = None
    if words:
        folder, turned = words
        alignment = open_alignments(Path(folder))
        alignment = alignment.reversed() if turned else alignment
    return View(store, prefix=tuple(prefix), languages=Languages(*languages), alignment=alignment)
