"""Decoding on all cores: several engines side by side, each with a share of the sentences and of the threads.

Two engines of one thread are up to half as fast again as one with two: the products of a step are too small to be
divided. More than a few only wait for one another, since Python runs one of them at a time. Those of one sentence alone
are smaller still: it is decoded in one thread.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import torch

from limelight.decoding.engine import Engine
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.jobs import Job
from limelight.decoding.search import Request

MOST_WORKERS = 4
SENTENCES_EACH = 32
"""A worker with fewer would not fill its batch."""

SWITCH = 1e-5
"""Seconds after which a worker that has to wait for Python may take it: one at work in Python would else keep it for
five milliseconds, in which the others could have begun their next product. Two workers are up to a fifth faster so."""

Found = list[tuple[int, list[Hypothesis]]]


def decode(
    jobs: Sequence[Job], new_engine: Callable[[], Engine[int]], workers: int
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """What is found for each job, by its place, in any order. The longest come first, so that too little memory shows
    at once and not at the end."""
    ordered = sorted(jobs, key=lambda job: -len(job.source))
    if workers == 1:
        yield from _alone(jobs, new_engine()) if len(jobs) == 1 else _run(ordered, new_engine(), Event())
        return
    threads, interval = torch.get_num_threads(), sys.getswitchinterval()
    stop = Event()

    def share(number: int) -> Found:
        torch.set_num_threads(threads // workers)
        try:
            return list(_run(ordered[number::workers], new_engine(), stop))
        except BaseException:
            stop.set()  # the caller hears of it when the workers before this one have ended
            raise

    try:
        sys.setswitchinterval(SWITCH)
        with ThreadPoolExecutor(workers) as pool:
            try:
                for found in pool.map(share, range(workers)):
                    yield from found
            except BaseException:
                stop.set()  # nobody waits for the others any more
                raise
    finally:
        torch.set_num_threads(threads)
        sys.setswitchinterval(interval)


def workers_for(jobs: int, device: torch.device) -> int:
    """How many engines are worth it. A GPU is busy with one."""
    if device.type != "cpu":
        return 1
    return max(1, min(torch.get_num_threads(), jobs // SENTENCES_EACH, MOST_WORKERS))


def _alone(jobs: Sequence[Job], engine: Engine[int]) -> Found:
    """A sentence in one thread. How many there are belongs to who calls, and is put back before they see anything."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return list(_run(jobs, engine, Event()))
    finally:
        torch.set_num_threads(threads)


def _run(jobs: Sequence[Job], engine: Engine[int], stop: Event) -> Iterator[tuple[int, list[Hypothesis]]]:
    for job in jobs:
        engine.add(job.place, job.source, Request(job.max_length, tuple(job.prefix)))
    while engine.busy and not stop.is_set():
        yield from engine.step()
