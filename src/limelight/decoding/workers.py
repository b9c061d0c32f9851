"""Decoding on all cores: several engines in parallel, each with a share of the sentences and of the threads.

Two engines with one thread each are up to 1.5 times as fast as one with two threads: the matrix products of a step are
too small to be divided. More than a few engines wait for one another, because Python runs one thread at a time. A
single sentence is decoded in one thread.

The number of torch's threads is a setting of the process, so this module is for its owner: the command line, a
training run, a server.
"""

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event, Lock

import torch

from limelight.decoding.engine import Engine
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request

MAX_WORKERS = 4
SENTENCES_EACH = 32
"""Minimum number of sentences for each worker, so that its batch is full."""

SWITCH = 1e-5
"""Python's switch interval in seconds. With the default of five milliseconds a worker would hold the interpreter lock
while others could begin their next product; with this value two workers are up to a fifth faster."""

Numbered = tuple[int, Request]
"""A request and its index in the call."""

Found = list[tuple[int, list[Hypothesis]]]

_OWNER = Lock()
"""Held while torch's number of threads and the switch interval, which belong to the process, are changed."""


def decode(
    requests: Sequence[Request], new_engine: Callable[[], Engine], *, workers: int = 1, threads: int | None = None
) -> Generator[tuple[int, list[Hypothesis]]]:
    """Decode requests; yields the index and the hypotheses of each, in any order. The longest are decoded first, so
    that a lack of memory shows early. Raises the error of a request that fails or is invalid.

    Args:
        workers: number of parallel engines; more than one need `threads`.
        threads: number of threads that the workers share, given by the owner of the process: torch's number of threads
            and Python's switch interval are changed until the iterator ends, and another call with `threads` waits for
            that. Without it one engine works in the caller's thread, and no settings are changed.
    """
    ordered = sorted(enumerate(requests), key=lambda numbered: -len(numbered[1].source))
    if threads is None:
        yield from _run(ordered, new_engine(), Event())
        return
    with _OWNER, settings_put_back():
        if workers > 1:
            yield from _side_by_side(ordered, new_engine, workers, threads // workers)
        else:
            torch.set_num_threads(threads if len(requests) > 1 else 1)
            yield from _run(ordered, new_engine(), Event())


@contextmanager
def settings_put_back() -> Iterator[None]:
    """Restore torch's number of threads and Python's switch interval on exit, also for new threads. For owners of the
    process: these are settings of the whole process."""
    threads, interval = torch.get_num_threads(), sys.getswitchinterval()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        sys.setswitchinterval(interval)


def workers_for(requests: int, device: torch.device, threads: int | None) -> int:
    """The number of engines to use: one for a GPU, and one without `threads`."""
    if device.type != "cpu" or threads is None:
        return 1
    return max(1, min(threads, requests // SENTENCES_EACH, MAX_WORKERS))


def _side_by_side(
    ordered: Sequence[Numbered], new_engine: Callable[[], Engine], workers: int, threads: int
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Decode with several workers, which share the requests and `threads`."""
    stop = Event()

    def share(number: int) -> Found:
        torch.set_num_threads(threads)
        try:
            return list(_run(ordered[number::workers], new_engine(), stop))
        except BaseException:
            stop.set()  # raised to the caller when the preceding workers have ended
            raise

    sys.setswitchinterval(SWITCH)
    with ThreadPoolExecutor(workers) as pool:
        try:
            for found in pool.map(share, range(workers)):
                yield from found
        except BaseException:
            stop.set()  # the results of the others are no longer needed
            raise


def _run(requests: Sequence[Numbered], engine: Engine, stop: Event) -> Iterator[tuple[int, list[Hypothesis]]]:
    places = {engine.submit(request): place for place, request in requests}
    while engine.busy and not stop.is_set():
        for outcome in engine.step():
            if outcome.error is not None:
                raise outcome.error
            yield places[outcome.id], outcome.hypotheses
