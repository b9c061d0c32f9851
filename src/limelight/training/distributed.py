"""Data parallelism: several processes train one model.

    torchrun --nproc-per-node 4 -m limelight train ... --set training.accumulate=4

Every process plans the same stream of batches. An update has G = `training.accumulate` of them, and the processes
share them so that each has about as many positions to compute; a process makes only its own, ahead of their use. Each
loss is a sum, divided by the tokens of all G batches before the backward pass, so one sum of gradients over the
processes makes the update of one process. Weights and optimizer are the same everywhere. The first process alone
writes, measures time and decides; a validation is divided among all. Random numbers, such as those of dropout, are a
function of the seed, the update and the batch: no random state is stored, and it does not matter which process computes
a batch.
"""

import json
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, distributed

from limelight.batching.batch import Batch, PlannedBatch
from limelight.batching.stream import Position
from limelight.errors import RunError, UserError
from limelight.signals import Stopped


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


T = TypeVar("T")
STOPPED = "stopped by signal "
HELP = "help"
WAIT = timedelta(days=1)
"""Timeout of collective operations: the first process may read text or validate for long. If a process ends, the others
notice within a second, because its connections close."""


class Agreed(NamedTuple):
    """The values on which all processes agree after an update."""

    seconds: float
    """Training time so far, by the clock of the first process."""
    spent: float
    """Duration of this update, by the same clock."""
    signal: int
    """The largest number of a signal that any process received; 0 if none did."""


class Group:
    """The processes of a run. For a single process all methods are trivial."""

    def __init__(self, rank: int = 0, size: int = 1, local_rank: int = 0) -> None:
        self.rank, self.size, self.local_rank = rank, size, local_rank

    @property
    def is_first(self) -> bool:
        """Whether this process writes, measures and decides."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Every so many-th item, from one on, for this process."""
        return items[self.rank :: self.size]

    def device(self, chosen: torch.device) -> torch.device:
        """The device of this process: each process of a machine has its own GPU."""
        if self.size > 1 and chosen.type == "cuda" and chosen.index is None:
            return torch.device("cuda", self.local_rank)
        return chosen

    def sum_gradients(self, parameters: Sequence[Tensor], loss: Tensor) -> Tensor:
        """Sum gradients in place, and the loss, which is returned, over all processes in one exchange.

        A parameter without a gradient in all processes keeps none; a process without a batch contributes zeros.
        """
        if self.size == 1:
            return loss
        device = parameters[0].device
        # On the CPU on any device: it is known before the device has computed, so no synchronization is needed.
        present = torch.tensor([parameter.grad is not None for parameter in parameters], dtype=torch.uint8)
        parts = [
            torch.zeros(parameter.numel(), device=device) if parameter.grad is None else parameter.grad.flatten()
            for parameter in parameters
        ]
        numbers = torch.cat([loss.reshape(1).to(device, parts[0].dtype), *parts])
        with _told():
            distributed.all_reduce(present, distributed.ReduceOp.MAX)
            distributed.all_reduce(numbers)
        first = 1
        for parameter, there in zip(parameters, present.tolist(), strict=True):
            if there:
                parameter.grad = numbers[first : first + parameter.numel()].view_as(parameter)
            first += parameter.numel()
        return numbers[0]

    def agree(self, seconds: float, spent: float, signal: int) -> Agreed:
        """The times of the first process, and the signal, if any, of any process."""
        if self.size == 1:
            return Agreed(seconds, spent, signal)
        times = torch.tensor([seconds, spent] if self.is_first else [0.0, 0.0], dtype=torch.float64)
        heard = torch.zeros(self.size, dtype=torch.float64)
        heard[self.rank] = signal
        numbers = torch.cat([times, heard])
        with _told():
            distributed.all_reduce(numbers)
        return Agreed(numbers[0].item(), numbers[1].item(), int(numbers[2:].max()))

    def wait(self) -> None:
        """Wait until all processes have called this (a barrier)."""
        if self.size > 1:
            with _told():
                distributed.barrier()

    def from_first(self, work: Callable[[], str], assist: Callable[[], None] = lambda: None) -> str:
        """Call `work` in the first process only, and return its result in all processes. When `work` calls
        `call_for_help`, the others run `assist`.

        A signal that stops the first process stops all: each raises `Stopped`.
        """
        if self.size == 1:
            return work()
        if not self.is_first:
            while (text := self._broadcast("")) == HELP:
                with suppress(Stopped):  # the first process is notified, and stops all
                    assist()
            if text.startswith(STOPPED):
                raise Stopped(int(text.removeprefix(STOPPED)))
            return text
        try:
            text = work()
        except Stopped as stopped:
            self._broadcast(f"{STOPPED}{stopped.number}")
            raise
        return self._broadcast(text)

    def call_for_help(self) -> None:
        """Let the other processes run `assist`; called by the first process within `from_first`."""
        if self.size > 1:
            self._broadcast(HELP)

    def gather(self, work: Callable[[], list[Any]]) -> list[list[Any]]:
        """Call `work` in each process, and return all results in all processes, as plain values for JSON.

        A signal that stops one process stops all: each raises `Stopped`.
        """
        if self.size == 1:
            return [work()]
        try:
            text = json.dumps(work())
        except Stopped as stopped:
            text = f"{STOPPED}{stopped.number}"
        content = torch.tensor(list(text.encode()), dtype=torch.uint8)
        lengths = torch.zeros(self.size, dtype=torch.int64)
        lengths[self.rank] = len(content)
        with _told():
            distributed.all_reduce(lengths)
            texts = torch.zeros(self.size, int(lengths.max()), dtype=torch.uint8)
            texts[self.rank, : len(content)] = content
            distributed.all_reduce(texts)  # zero in all other processes
        found = [bytes(row[:length].tolist()).decode() for row, length in zip(texts, lengths.tolist(), strict=True)]
        for each in found:
            if each.startswith(STOPPED):
                raise Stopped(int(each.removeprefix(STOPPED)))
        return [json.loads(each) for each in found]

    def equalize(self, tensors: Sequence[Tensor]) -> None:
        """Broadcast the tensors of the first process, in place: machines may round the first weights differently."""
        if self.size > 1:
            with _told():
                for tensor in tensors:
                    distributed.broadcast(tensor.data, src=0)

    def _broadcast(self, text: str) -> str:
        """The text of the first process, sent as bytes without pickle."""
        content = torch.tensor(list(text.encode()), dtype=torch.uint8)
        length = torch.tensor([len(content)])
        with _told():
            distributed.broadcast(length, src=0)
            content = content if self.is_first else torch.empty(int(length), dtype=torch.uint8)
            distributed.broadcast(content, src=0)
        return bytes(content.tolist()).decode()


ALONE = Group()


@dataclass(frozen=True, slots=True)
class Sharing:
    """Divides work without side effects, such as a validation, among processes."""

    group: Group = ALONE
    interruptible: Callable[[], AbstractContextManager[object]] = nullcontext
    """A context in which a signal may stop the share of a process; all others are notified."""

    def over(self, items: Iterable[T], work: Callable[[Iterable[T]], list[Any]]) -> list[Any]:
        """The results of `work` for all items, in order, as plain values for JSON. Each process computes its share; all
        get the whole."""

        def own() -> list[Any]:
            with self.interruptible():
                return work(items if self.group.size == 1 else self.group.share(list(items)))

        found = self.group.gather(own)
        return [found[place % len(found)][place // len(found)] for place in range(sum(map(len, found)))]


ALL_MINE = Sharing()


def shared(sizes: Sequence[int], count: int) -> list[list[int]]:
    """Which items each of `count` processes computes, in order: the largest goes first, and each to the process with
    the least so far."""
    loads, own = [0] * count, [[] for _ in range(count)]  # type: list[int], list[list[int]]
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        least = loads.index(min(loads))
        loads[least] += sizes[place]
        own[least].append(place)
    return [sorted(places) for places in own]


@dataclass(frozen=True, slots=True)
class Share:
    """The batches of an update that this process computes; they are made in another thread."""

    making: Mapping[int, Future[Batch]]
    """By the index of the batch in the update."""
    tokens: int
    """Target tokens of all batches of the update, in all processes."""

    def batches(self, device: torch.device, *, seed: int, step: int) -> Iterator[Batch]:
        """The batches in order, on `device`. The generators are seeded for each: with the seed of the run and the
        number of previous updates, its index determines its random numbers, in any process."""
        for number, future in self.making.items():
            batch = future.result().to(device)
            seed_draws(device, seed=seed, step=step, batch=number)
            yield batch


MADE_AHEAD = 2
"""Updates whose batches are made while another one is computed."""


def shares(
    plans: Iterator[tuple[PlannedBatch, Position]], accumulate: int, group: Group, device: torch.device
) -> Generator[tuple[Share, Position]]:
    """Endless updates of `accumulate` batches: the share of this process, and the position after them."""

    def use_device() -> None:
        if device.type == "cuda":  # pinning would otherwise wake the first GPU in every process
            torch.cuda.set_device(device)

    def made(plan: PlannedBatch) -> Batch:
        return plan.make().pinned() if device.type == "cuda" else plan.make()

    def planned() -> tuple[Share, Position]:
        drawn = [next(plans) for _ in range(accumulate)]
        own = shared([plan.positions for plan, _ in drawn], group.size)[group.rank]
        making = {number: pool.submit(made, drawn[number][0]) for number in own}
        return Share(making, sum(plan.target_tokens for plan, _ in drawn)), drawn[-1][1]

    upcoming: deque[tuple[Share, Position]] = deque()
    with ThreadPoolExecutor(1, "batches", initializer=use_device) as pool:
        try:
            while True:
                while len(upcoming) <= MADE_AHEAD:
                    upcoming.append(planned())
                yield upcoming.popleft()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


class PeerEndedError(RunError):
    """Another process of the training ended early; that process or its launcher reports why."""


@contextmanager
def joined_group() -> Iterator[Group]:
    """Join the processes started by torchrun, or by a launcher that sets the same variables.

    Raises `UserError` if the variables are incomplete.
    """
    size = _number("WORLD_SIZE", 1)
    if size <= 1:
        yield ALONE
        return
    missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if not os.environ.get(name)]
    if missing:
        raise UserError(
            f"WORLD_SIZE={size} says that this is one of {size} processes, but {', '.join(missing)} is not set: start "
            "them with torchrun, or unset WORLD_SIZE to train with one"
        )
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and distributed.is_nccl_available() else "gloo"
    local_rank = _number("LOCAL_RANK", 0)
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank % torch.cuda.device_count())
    with _told():
        distributed.init_process_group(backend, timeout=WAIT)
    try:
        yield Group(_number("RANK", 0), size, local_rank)
    finally:
        distributed.destroy_process_group()


def group_warnings(accumulate: int, group: Group) -> Iterator[str]:
    """Warnings about settings that leave processes idle."""
    if accumulate < group.size:
        idle = group.size - accumulate
        yield (
            f"training.accumulate={accumulate}: an update has so many batches, and {group.size} processes share them: "
            f"{idle} of them have nothing to do. Give --set training.accumulate={group.size}, with batching.tokens "
            "smaller by as much if an update is to be as large as it is now"
        )


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    if text and not text.isdecimal():
        raise UserError(f"{name}={text} is not a whole number; launchers such as torchrun set it")
    return int(text) if text else default


@contextmanager
def _told() -> Iterator[None]:
    """A context that converts a lost connection into `PeerEndedError`."""
    try:
        yield
    except RuntimeError as error:
        raise PeerEndedError(
            "another process of this training has ended. Everything saved is intact; the same command resumes from the "
            "last checkpoint"
        ) from error
