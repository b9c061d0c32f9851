"""Rows drawn by processes of their own: one process draws 50,000 to 100,000 tokens per second, a GPU learns from many
times as many, and threads would share Python's lock.

What is drawn is a pure function of (rows, seeds), so it does not depend on how many processes there are. A process
loads tokenizers and maps stores by itself, without torch. It reads requests from its standard input and ends with it,
also where this process is killed. Both directions carry a line of JSON and then plain arrays.
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

import numpy as np

from limelight.batching.drawing import Drawing, DrawnRows, View, varied_rows
from limelight.batching.store import Ragged, TokenStore, open_alignments, open_marked
from limelight.errors import RunError
from limelight.text.augmentation import Languages
from limelight.tokens import Tokenizers, load_tokenizers, save_tokenizers

PACKAGES = Path(__file__).parents[2]
"""Where the package lies, for a process that begins elsewhere."""


class Drawers:
    """So many processes that do `varied_rows`. They end when it is closed.

    Raises `RunError` where one of them cannot begin.
    """

    def __init__(self, views: Sequence[View], tokenizers: Tokenizers, how: Drawing, *, processes: int) -> None:
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._all: list[subprocess.Popen[bytes]] = []
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="drawers")
        with tempfile.TemporaryDirectory(prefix="limelight-") as folder:
            save_tokenizers(tokenizers, folder)
            begin = json.dumps({
                "tokenizers": folder,
                "views": [_described(view) for view in views],
                "how": {"sampling": how.sampling, "rates": dict(how.rates), "max_length": how.max_length},
            })  # fmt: skip
            try:
                self._all = [_start() for _ in range(processes)]
                for process in self._all:
                    _send(process, begin)
                for process in self._all:
                    _receive(process)
                    self._idle.put(process)
            except BaseException:
                self.close()
                raise

    def draw(self, chosen: np.ndarray, seeds: tuple[int, int]) -> Future[DrawnRows]:
        """What `varied_rows` makes of these rows; the future raises `RunError` where a process has failed."""
        return self._threads.submit(self._draw, chosen, seeds)

    def close(self) -> None:
        """End the processes, whatever they are doing, and wait for them."""
        for process in self._all:
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._all:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    _open(pipe).close()

    def _draw(self, chosen: np.ndarray, seeds: tuple[int, int]) -> DrawnRows:
        process = self._idle.get()
        try:
            _send(process, json.dumps({"rows": len(chosen), "seeds": seeds}), chosen.astype("<i8"))
            _receive(process)
            reply = _open(process.stdout)
            return DrawnRows(*([row.astype(np.int64) for row in _read_rows(reply, len(chosen))] for _ in range(2)))
        finally:
            self._idle.put(process)


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


def _start() -> subprocess.Popen[bytes]:
    """In a session of its own: Ctrl-C is for this process, which ends the others when it has saved."""
    paths = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(
        [sys.executable, "-m", "limelight.batching.drawers"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def _send(process: subprocess.Popen[bytes], line: str, *arrays: np.ndarray) -> None:
    pipe = _open(process.stdin)
    try:
        pipe.write(line.encode() + b"\n")
        for array in arrays:
            pipe.write(array.tobytes())
        pipe.flush()
    except (BrokenPipeError, ValueError):
        raise _ended(process) from None


def _receive(process: subprocess.Popen[bytes]) -> None:
    """Wait for an answer. Raises `RunError` where it is an error, or there is none."""
    try:
        line = _open(process.stdout).readline()
    except ValueError:  # it was closed meanwhile
        line = b""
    if not line:
        raise _ended(process)
    fault = json.loads(line)["error"]
    if fault:
        raise RunError(f"a process that draws training text failed: {fault}")


def _ended(process: subprocess.Popen[bytes]) -> RunError:
    return RunError(
        f"a process that draws training text has ended (exit code {process.wait()}); what was saved is intact. If "
        "memory ran out, lower training.data_workers"
    )


def _open(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


# --- in the other process ---


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    begin = json.loads(requests.readline())
    tokenizers = load_tokenizers(begin["tokenizers"])
    views = [_view(**each) for each in begin["views"]]
    how = Drawing(**begin["how"])
    _answer(replies)
    while line := requests.readline():
        request = json.loads(line)
        chosen = np.frombuffer(requests.read(16 * request["rows"]), dtype="<i8").reshape(-1, 2)
        try:
            drawn = varied_rows(views, chosen, tokenizers, how, tuple(request["seeds"]))
        except Exception as error:
            _answer(replies, "".join(traceback.format_exception_only(error)).strip())
            continue
        _answer(replies, "", *drawn)


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


def _answer(replies: IO[bytes], error: str = "", *sides: Sequence[np.ndarray]) -> None:
    replies.write(json.dumps({"error": error}).encode() + b"\n")
    for rows in sides:
        replies.write(np.array([len(row) for row in rows], dtype="<i4").tobytes())
        replies.write(np.concatenate([*rows, np.zeros(0, dtype="<i4")]).astype("<i4").tobytes())
    replies.flush()


def _read_rows(reply: IO[bytes], count: int) -> list[np.ndarray]:
    lengths = np.frombuffer(_whole(reply, 4 * count), dtype="<i4")
    ids = np.frombuffer(_whole(reply, 4 * int(lengths.sum())), dtype="<i4")
    return np.split(ids, np.cumsum(lengths)[:-1]) if count else []


def _whole(pipe: IO[bytes], count: int) -> bytes:
    found = pipe.read(count)
    if len(found) < count:
        raise RunError(
            "a process that draws training text has ended in the middle of an answer; what was saved is intact"
        )
    return found


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
