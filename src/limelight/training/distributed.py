"""Data parallelism: several processes train one model.

    torchrun --nproc-per-node 4 -m limelight train ... --set training.accumulate=4

Every process plans the same stream of batches: they take turns in cutting chunks of text into batches. An update has
G = `training.accumulate` batches, and the processes share them so that each has about as many positions to compute; a
process makes only its own, ahead of their use. Each loss is a sum, divided by the tokens of all G batches before the
backward pass, so one sum of gradients over the processes makes the update of one process. Weights and optimizer are
the same everywhere. The first process alone writes, validates, measures time and decides. Random numbers, such as
those of dropout, are a function of the seed, the update and the batch: no random state is stored, and it does not
matter which process computes a batch.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor, distributed

from limelight.batching.stream import ALONE as ONLY_ONE
from limelight.batching.stream import Chunk, Relay
from limelight.errors import RunError, UserError
from limelight.signals import Stopped

T = TypeVar("T")
WAIT = timedelta(days=1)
"""Timeout of collective operations: the first process may read text or validate for long. If a process ends, the others
notice within a second, because its connections close."""


class Group:
    """The processes of a run. For a single process all methods are trivial."""

    def __init__(self, rank: int = 0, size: int = 1, local_rank: int = 0, relay: Relay = ONLY_ONE) -> None:
        self.rank, self.size, self.local_rank, self.relay = rank, size, local_rank, relay

    @property
    def is_first(self) -> bool:
        """Whether this process writes, measures and decides."""
        return self.rank == 0

    def device(self, chosen: torch.device) -> torch.device:
        """The device of this process: each process of a machine has its own GPU."""
        if self.size > 1 and chosen.type == "cuda" and chosen.index is None:
            return torch.device("cuda", local_gpu(self.local_rank))
        return chosen

    def agree(self, seconds: float, spent: float, signal: int) -> tuple[float, float, int]:
        """Training time so far and the duration of an update, by the clock of the first process, and the largest number
        of a signal that any process received, 0 for none."""
        if self.size == 1:
            return seconds, spent, signal
        numbers = torch.zeros(2 + self.size, dtype=torch.float64)
        if self.is_first:
            numbers[:2] = torch.tensor([seconds, spent], dtype=torch.float64)
        numbers[2 + self.rank] = signal
        with told():
            distributed.all_reduce(numbers)
        return numbers[0].item(), numbers[1].item(), int(numbers[2:].max())

    def wait(self) -> None:
        """Wait until all processes have called this (a barrier)."""
        if self.size > 1:
            with told():
                distributed.barrier()

    def from_first(self, work: Callable[[], T]) -> T:
        """Call `work` in the first process only, and return its result in all processes.

        A signal that stops the first process stops all: each raises `Stopped`.
        """
        if self.size == 1:
            return work()
        outcome: list[Any] = [_outcome(work) if self.is_first else None]
        with told():
            distributed.broadcast_object_list(outcome, src=0)
        if isinstance(outcome[0], _Signal):
            raise Stopped(outcome[0].number)
        return cast(T, outcome[0])

    def equalize(self, tensors: Sequence[Tensor]) -> None:
        """Broadcast the tensors of the first process, in place: machines may round the first weights differently."""
        if self.size > 1:
            with told():
                for tensor in tensors:
                    distributed.broadcast(tensor.data, src=0)


class _Signal(NamedTuple):
    """Sent in place of a result: the number of the signal that stopped a process."""

    number: int


def _outcome(work: Callable[[], T]) -> T | _Signal:
    try:
        return work()
    except Stopped as stopped:
        return _Signal(stopped.number)


ALONE = Group()


ENDED = (
    "another process of this training has ended. Everything saved is intact; the same command resumes from the last "
    "checkpoint"
)


class PeerEndedError(RunError):
    """Another process of the training ended early; that process or its launcher reports why."""


class ChunkRelay(Relay):
    """Passes on chunks of batches, beside the other messages of the processes: in a group of its own, by a thread."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank, self.size = rank, size
        self._own = distributed.new_group(backend="gloo", timeout=WAIT)

    def pass_on(self, chunk: Chunk | None, maker: int) -> Chunk | None:
        messages: list[Chunk | None] = [chunk]
        with told():
            distributed.broadcast_object_list(messages, src=maker, group=self._own)
        if messages[0] is None and maker != self.rank:
            raise PeerEndedError(ENDED)
        return messages[0]


@contextmanager
def joined_group() -> Iterator[Group]:
    """Join the processes started by torchrun, or by a launcher that sets the same variables.

    Raises `RunError` if they cannot connect.
    """
    size = _number("WORLD_SIZE", 1)
    if size <= 1:
        yield ALONE
        return
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and distributed.is_nccl_available() else "gloo"
    local_rank = _number("LOCAL_RANK", 0)
    if torch.cuda.is_available():
        torch.cuda.set_device(local_gpu(local_rank))
    try:
        distributed.init_process_group(backend, timeout=WAIT)
    except (RuntimeError, ValueError) as error:  # a ValueError: a variable of the launcher is not set
        raise RunError(f"the {size} processes of this training cannot connect: {error}") from error
    try:
        rank = _number("RANK", 0)
        yield Group(rank, size, local_rank, ChunkRelay(rank, size))
    finally:
        distributed.destroy_process_group()


def local_gpu(local_rank: int) -> int:
    """The GPU of a process: launchers show a process all GPUs of its machine, or only its own."""
    return local_rank % max(1, torch.cuda.device_count())


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    if text and not text.isdecimal():
        raise UserError(f"{name}={text} is not a whole number; launchers such as torchrun set it")
    return int(text) if text else default


@contextmanager
def told() -> Iterator[None]:
    """A context that converts a lost connection into `PeerEndedError`."""
    try:
        yield
    except RuntimeError as error:
        raise PeerEndedError(ENDED) from error
