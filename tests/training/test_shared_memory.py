"""Sums and orthogonal steps through shared memory are those of one process, whoever computes what."""

import os
import threading
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from limelight.training.optimizer import Muon, make_optimizer, set_rate
from limelight.training.shared_memory import SharedMemory

SIZE = 3


@pytest.fixture
def descriptor() -> Iterator[int]:
    number = os.memfd_create("test")
    yield number
    os.close(number)


def models() -> list[nn.Module]:
    found = []
    for _ in range(SIZE):
        torch.manual_seed(1)
        found.append(nn.Sequential(nn.Linear(5, 4), nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 5)))
    return found


def in_threads(work: list[threading.Thread]) -> None:
    for each in work:
        each.start()
    for each in work:
        each.join(30)
        assert not each.is_alive()


def test_a_sum_is_that_of_all_processes(descriptor: int) -> None:
    parameters = [torch.zeros(3, 2), torch.zeros(7), torch.zeros(2)]
    gradients: list[list[Tensor | None]] = [[torch.randn(3, 2), torch.randn(7), None] for _ in range(SIZE)]
    gradients[1][1] = None
    barrier, found = threading.Barrier(SIZE), {}

    def process(rank: int) -> None:
        memory = SharedMemory(descriptor, rank, SIZE, parameters, lambda: barrier.wait(30) and None)
        for _ in range(2):  # what was there before does not count
            memory.put(torch.tensor(float(rank)), gradients[rank])
            barrier.wait(30)
            loss, sums = memory.add()
            found[rank] = loss, [each.clone() for each in sums]
            barrier.wait(30)

    in_threads([threading.Thread(target=process, args=(rank,)) for rank in range(SIZE)])
    for loss, sums in found.values():
        assert loss == 3
        for place, parameter in enumerate(parameters):
            there = [each[place] for each in gradients]
            expected = sum((each for each in there if each is not None), torch.zeros_like(parameter))
            assert torch.allclose(sums[place], expected)
            assert torch.equal(sums[place], found[0][1][place])


def test_divided_steps_are_those_of_one_process(descriptor: int) -> None:
    barrier, own = threading.Barrier(SIZE), [0] * SIZE
    several, alone = models(), models()[0]

    def process(rank: int, model: nn.Module, divided: bool) -> None:
        optimizer = make_optimizer(model, kind="muon", beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0.1)
        assert isinstance(optimizer, Muon)
        set_rate(optimizer, 0.01)
        learned = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        if divided:
            optimizer.memory = SharedMemory(descriptor, rank, SIZE, learned, lambda: barrier.wait(30) and None)
        for step in range(3):
            generator = torch.Generator().manual_seed(step)
            for parameter in learned:
                parameter.grad = torch.randn(parameter.shape, generator=generator)
            optimizer.step()
            own[rank] += 1

    in_threads([threading.Thread(target=process, args=(rank, model, True)) for rank, model in enumerate(several)])
    assert own == [3] * SIZE
    process(0, alone, divided=False)
    for model in several:
        for mine, theirs, first in zip(model.parameters(), alone.parameters(), several[0].parameters(), strict=True):
            assert torch.allclose(mine, theirs, atol=1e-6)
            assert torch.equal(mine, first)
