"""The share of a process in an update: which batches it computes, made ahead in a thread, with seeded random draws."""

from collections import deque
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch

from limelight.batching.batch import Batch
from limelight.batching.stream import PlannedBatch, Position
from limelight.training.distributed import Group


def seed_draws(device: torch.device, *, seed: int, step: int, batch: int) -> None:
    """Seed torch's generators of the CPU and of `device` for one batch of one update.

    Only these two: `torch.manual_seed` would seed every GPU.
    """
    (value,) = np.random.SeedSequence([seed, step, batch]).generate_state(1, np.uint64)
    torch.default_generator.manual_seed(int(value))
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(int(value))
    elif device.type == "mps":
        torch.mps.manual_seed(int(value))


class Share(NamedTuple):
    """The batches of an update that this process computes; they are made in another thread."""

    making: Mapping[int, Future[Batch]]
    """By the index of the batch in the update."""
    tokens: int
    """Target tokens of all batches of the update, in all processes."""
    after: Position
    """The position after the update."""

    def batches(self, device: torch.device, *, seed: int, step: int) -> Iterator[Batch]:
        """The batches in order, on `device`. The generators are seeded for each: with the seed of the run and the
        number of previous updates, its index determines its random numbers, in any process."""
        for number, future in self.making.items():
            batch = future.result().to(device)
            seed_draws(device, seed=seed, step=step, batch=number)
            yield batch


MADE_AHEAD = 2
"""Updates whose batches are made while another one is computed."""


def shares(plans: Iterator[PlannedBatch], accumulate: int, group: Group, device: torch.device) -> Generator[Share]:
    """Endless updates of `accumulate` batches: the share of this process."""

    def use_device() -> None:
        if device.type == "cuda" and device.index is not None:  # pinning would else wake the first GPU everywhere
            torch.cuda.set_device(device)

    def made(plan: PlannedBatch) -> Batch:
        return plan.make().pinned() if device.type == "cuda" else plan.make()

    def planned() -> Share:
        drawn = [next(plans) for _ in range(accumulate)]
        by_size = sorted(range(accumulate), key=lambda number: -drawn[number].positions)  # dealt to the processes
        making = {number: pool.submit(made, drawn[number]) for number in sorted(by_size[group.rank :: group.size])}
        return Share(making, sum(plan.target_tokens for plan in drawn), drawn[-1].after)

    upcoming = deque[Share]()
    with ThreadPoolExecutor(1, "batches", initializer=use_device) as pool:
        try:
            while True:
                while len(upcoming) <= MADE_AHEAD:
                    upcoming.append(planned())
                yield upcoming.popleft()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
