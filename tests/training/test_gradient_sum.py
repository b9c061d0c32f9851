"""Buckets of gradients over processes: the sums of a plain loop, whatever the size of the buckets and the batches."""

import os
from multiprocessing.connection import Connection

import pytest
import torch
from torch import nn

from limelight.training.distributed import joined_group
from limelight.training.gradient_sum import GradientSum
from limelight.training.optimization.precision import HalfCopy
from tests.forked import PROCESSES
from tests.training.test_distributed import free_port

SIZE, STEPS = 3, 4
CASES = [(bucket, half) for bucket in (1, 100, 2**20) for half in (False, True)]
USING_SOME = (1, 3, 8)
"""Batches that use one more layer: two of the first update, none of the second, one of the third, none of the last."""


def network() -> nn.Module:
    """One layer is never used, one is used twice, and one by some batches only."""
    torch.manual_seed(7)
    return nn.ModuleDict(
        {"first": nn.Linear(3, 5), "again": nn.Linear(5, 5), "unused": nn.Linear(2, 2), "some": nn.Linear(5, 5)}
    )


def loss_of(model: nn.Module, number: int) -> torch.Tensor:
    inputs = torch.linspace(-1, 1, 6).view(2, 3) * (1 + number)
    dtype = model["first"].weight.dtype
    hidden = model["first"](inputs.to(dtype)).tanh()
    if number in USING_SOME:
        hidden = model["some"](hidden)
    return model["again"](model["again"](hidden)).float().square().sum()


def batches_of(rank: int, step: int) -> list[int]:
    """The last process has none."""
    return [[[0, 1, 2], [3], []], [[4], [5, 6], []], [[7], [8], []], [[], [9], []]][step][rank]


def _summed(rank: int, port: int, told: Connection) -> None:
    """In a process of its own: losses and gradients of each update, for each case."""
    os.environ |= {"WORLD_SIZE": str(SIZE), "RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    with joined_group():
        told.send({case: _case(rank, *case) for case in CASES})
    told.close()
    os._exit(0)


def _case(rank: int, bucket: int, half: bool) -> list[list[object]]:
    found = []
    model = network()
    sums = GradientSum(list(model.parameters()), bucket=bucket)
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(sums.arrived)
    copy = HalfCopy(model, torch.bfloat16, arrived=sums.arrived) if half else None
    for step in range(STEPS):
        computing = model if copy is None else copy.refreshed()
        sums.begin(len(batches_of(rank, step)))
        total = torch.zeros(())
        for number in batches_of(rank, step):
            loss = loss_of(computing, number)
            loss.backward()
            total += loss.detach()
        total = sums.finish(total)
        found.append([total.item()] + [_numbers(each.grad) for each in model.parameters()])
    return found


def _numbers(gradient: torch.Tensor | None) -> list[float] | None:
    return None if gradient is None else gradient.flatten().tolist()


@pytest.fixture(scope="module")
def summed() -> list[dict[tuple[int, bool], list[list[object]]]]:
    """What each process found."""
    port = free_port()
    pipes = [PROCESSES.Pipe(duplex=False) for _ in range(SIZE)]
    for rank, (_, sender) in enumerate(pipes):
        PROCESSES.Process(target=_summed, args=(rank, port, sender), daemon=True).start()
        sender.close()
    assert all(receiver.poll(600) for receiver, _ in pipes)
    return [receiver.recv() for receiver, _ in pipes]


@pytest.mark.parametrize(("bucket", "half"), CASES)
def test_sums_are_those_of_a_loop_over_all_batches(bucket: int, half: bool, summed: list) -> None:
    found = [each[bucket, half] for each in summed]
    assert found[0] == found[1] == found[2]
    model = network()
    copy = HalfCopy(model, torch.bfloat16) if half else None
    for step in range(STEPS):
        model.zero_grad()
        computing = model if copy is None else copy.refreshed()
        total = 0.0
        for rank in range(SIZE):
            for number in batches_of(rank, step):
                loss = loss_of(computing, number)
                loss.backward()
                total += loss.item()
        expected = [total] + [_numbers(each.grad) for each in model.parameters()]
        for there, here in zip(found[0][step], expected, strict=True):
            assert there == (here if here is None else pytest.approx(here, rel=1e-4, abs=1e-4))
