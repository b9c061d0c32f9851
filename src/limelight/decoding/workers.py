"""Decoding on all cores: several engines side by side, each with a share of the sentences and of the threads.

Two engines of one thread are up to half as fast again as one with two: the products of a step are too small to be
divided. More than a few only wait for one another, since Python runs one of them at a time. Those of one sentence alone
are smaller still: it is decoded in one thread.

How many threads torch takes belongs to the process, so all this is for its owner: the command line, a run, a server.
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
"""A worker with fewer would not fill its batch."""

SWITCH = 1e-5
"""Seconds after which a worker that has to wait for Python may take it: one at work in Python would else keep it for
five milliseconds, in which the others could have begun their next product. Two workers are up to a fifth faster so."""

Numbered = tuple[int, Request]
"""A request and its place in the call."""

Found = list[tuple[int, list[Hypothesis]]]

_OWNER = Lock()
"""Held while torch's number of threads and the switch interval are other than before: they are the process's."""


def decode(
    requests: Sequence[Request], new_engine: Callable[[], Engine], *, workers: int = 1, threads: int | None = None
) -> Generator[tuple[int, list[Hypothesis]]]:
    """What is found for each request, by its place among them, in any order. The longest come first, so that too little
    memory shows at once and not at the end. Raises what a request fails with, and what is wrong with one.

    Args:
        workers: engines side by side; more than one need `threads`.
        threads: what the workers share, given by the owner of the process: torch's number of threads and Python's
            switch interval change until the iterator ends, and another call with `threads` waits for that. Without it
            one engine works in the thread of the caller with torch's settings as they are, and nothing is changed.
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
    """Afterwards torch's number of threads and Python's switch interval are what they were before, for new threads,
    too. For owners of the process: these are settings of the whole process."""
    threads, interval = torch.get_num_threads(), sys.getswitchinterval()
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        sys.setswitchinterval(interval)


def workers_for(requests: int, device: torch.device, threads: int | None) -> int:
    """How many engines are worth it. One for a GPU, and one without `threads`."""
    if device.type != "cpu" or threads is None:
        return 1
    return max(1, min(threads, requests // SENTENCES_EACH, MAX_WORKERS))


def _side_by_side(
    ordered: Sequence[Numbered], new_engine: Callable[[], Engine], workers: int, threads: int
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Workers with a share of the requests each, and so many threads."""
    stop = Event()

    def share(number: int) -> Found:
        torch.set_num_threads(threads)
        try:
            return list(_run(ordered[number::workers], new_engine(), stop))
        except BaseException:
            stop.set()  # the caller hears of it when the workers before this one have ended
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
