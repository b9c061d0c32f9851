"""Updates divided among processes: plans tell sizes, and a process makes only its own batches, ahead of their use."""

import threading
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import islice

import numpy as np
import pytest
import torch

from limelight.batching.batch import Batch, make_blocks
from limelight.batching.stream import PlannedBatch, Position
from limelight.training.distributed import Group
from limelight.training.shares import MADE_AHEAD, shares

CPU = torch.device("cpu")


class Plans:
    """Endless plans of blocks; remembers which were made, and where."""

    def __init__(self) -> None:
        self.made: list[int] = []
        self.threads: set[str] = set()

    def __iter__(self) -> Iterator[PlannedBatch]:
        for number in range(10**9):
            size = 1 + number * 7 % 5
            yield PlannedBatch(size, size, partial(self._make, number, size), Position(number))

    def _make(self, number: int, size: int) -> Batch:
        self.made.append(number)
        self.threads.add(threading.current_thread().name)
        return make_blocks(np.full((1, size + 1), number))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_each_batch_is_made_by_one_process_and_ahead(size: int) -> None:
    seen: list[int] = []
    for rank in range(size):
        plans, own = Plans(), []
        with closing(shares(iter(plans), 4, Group(rank, size), CPU)) as updates:
            for step, share in enumerate(islice(updates, 5)):
                assert share.after == Position(4 * step + 3)
                assert share.tokens == sum(1 + number * 7 % 5 for number in range(4 * step, 4 * step + 4))
                own += [int(batch.target_in[0, 0]) for batch in share.batches(CPU, seed=1, step=step)]
        seen += own
        assert plans.made[: len(own)] == own
        assert len(plans.made) <= len(own) + 4 * MADE_AHEAD
        assert all(name.startswith("batches") for name in plans.threads)
    assert sorted(seen) == list(range(20))


def test_a_gpu_without_a_number_is_the_current_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Batch, "pinned", lambda batch: batch)
    with closing(shares(iter(Plans()), 1, Group(), torch.device("cuda"))) as updates:
        assert next(updates).making[0].result().target_tokens == 1


def test_the_draws_of_a_batch_follow_from_its_index_in_the_update() -> None:
    drawn: dict[int, float] = {}
    for rank, size in ((0, 1), (0, 2), (1, 2)):
        with closing(shares(iter(Plans()), 3, Group(rank, size), CPU)) as updates:
            share = next(updates)
            for batch in share.batches(CPU, seed=5, step=9):
                value = torch.rand(()).item()
                assert drawn.setdefault(int(batch.target_in[0, 0]), value) == value
    assert len(set(drawn.values())) == 3
