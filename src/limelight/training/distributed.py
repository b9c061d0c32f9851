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
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from datetime import timedelta
from itertools import cycle
from typing import Any, TypeVar

import torch
from torch import distributed, nn

from limelight.batching.stream import Chunk, OneProcess, ahead
from limelight.errors import RunError
from limelight.signals import Stopped

T = TypeVar("T")
WAIT = timedelta(days=1)
"""Timeout of collective operations: the first process may read text or validate for long. If a process ends, the others
notice within a second, because its connections close."""


AGREE_EVERY = 0.2
"""Seconds between exchanges of the time and of signals; an exchange takes 2 ms of a process."""


class Group(OneProcess):
    """The processes of a run. For a single process all methods are trivial."""

    def __init__(self, rank: int = 0, size: int = 1) -> None:
        self.rank, self.size = rank, size
        self.for_chunks: distributed.ProcessGroup | None = None
        """Exchanges chunks of batches beside the other messages."""
        self._updates_left = 0
        """Number of updates before the processes agree again."""

    @property
    def is_first(self) -> bool:
        """Whether this process writes, measures and decides."""
        return self.rank == 0

    def device(self, chosen: torch.device) -> torch.device:
        """The device of this process: each process of a machine has its own GPU, which `joined_group` has chosen."""
        if self.size > 1 and chosen.type == "cuda" and chosen.index is None:
            return torch.device("cuda", torch.cuda.current_device())
        return chosen

    def agree(self, seconds: float, spent: float, signal: int) -> tuple[float, float, int] | None:
        """Training time so far and the duration of an update, by the clock of the first process, and the largest number
        of a signal that any process received, 0 for none. None if the processes agreed less than `AGREE_EVERY` ago."""
        if self.size == 1:
            return seconds, spent, signal
        if self._updates_left:
            self._updates_left -= 1
            return None
        numbers = torch.zeros(2 + self.size, dtype=torch.float64)
        if self.is_first:
            numbers[:2] = torch.tensor([seconds, spent], dtype=torch.float64)
        numbers[2 + self.rank] = signal
        with peer_errors():
            distributed.all_reduce(numbers)
        seconds, spent = numbers[:2].tolist()
        self._updates_left = int(AGREE_EVERY / max(spent, 0.01))
        return seconds, spent, int(numbers[2:].max())

    def wait(self) -> None:
        """Wait until all processes have called this (a barrier)."""
        if self.size > 1:
            with peer_errors():
                distributed.barrier()

    def from_first(self, work: Callable[[], T]) -> T:
        """Call `work` in the first process only, and return its result in all processes.

        A signal that stops the first process stops all: each raises `Stopped`.
        """
        if self.size == 1:
            return work()
        outcome: list[Any] = [None, 0]
        """The result, and the number of the signal that stopped the process."""
        if self.is_first:
            try:
                outcome[0] = work()
            except Stopped as stopped:
                outcome[1] = stopped.number
        with peer_errors():
            distributed.broadcast_object_list(outcome, src=0)
        if outcome[1]:
            raise Stopped(outcome[1])
        return outcome[0]

    def exchange(self, own: Iterator[Chunk]) -> Iterator[Chunk]:
        own = own if self.size == 1 else ahead(own)
        for maker in cycle(range(self.size)):
            message: list[Chunk | None] = [None]
            if maker == self.rank:
                with suppress(CancelledError):  # the others stop after this exchange, too
                    message = [next(own)]
            if self.size > 1:
                with peer_errors():
                    distributed.broadcast_object_list(message, src=maker, group=self.for_chunks)
            if message[0] is None:
                raise PeerEndedError(ENDED)
            yield message[0]

    def equalize(self, model: nn.Module) -> None:
        """Broadcast the weights of the first process, in place: machines may round the first weights differently."""
        if self.size > 1:
            with peer_errors():
                for tensor in model.parameters():
                    distributed.broadcast(tensor.data, src=0)


ALONE = Group()


ENDED = (
    "another process of this training has ended. Everything saved is intact; the same command resumes from the last "
    "checkpoint"
)


class PeerEndedError(RunError):
    """Another process of the training ended early; that process or its launcher reports why."""


@contextmanager
def joined_group() -> Iterator[Group]:
    """Join the processes started by torchrun, or by a launcher that sets the same variables.

    Raises `RunError` if they cannot connect.
    """
    size = int(os.environ.get("WORLD_SIZE", 1))
    if size <= 1:
        yield ALONE
        return
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and distributed.is_nccl_available() else "gloo"
    if torch.cuda.is_available():  # launchers show a process all GPUs of its machine, or only its own
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
    try:
        distributed.init_process_group(backend, timeout=WAIT)
    except (RuntimeError, ValueError) as error:  # a ValueError: a variable of the launcher is not set
        raise RunError(f"the {size} processes of this training cannot connect: {error}") from error
    try:
        group = Group(distributed.get_rank(), size)
        group.for_chunks = distributed.new_group(backend="gloo", timeout=WAIT)
        yield group
    finally:
        distributed.destroy_process_group()


@contextmanager
def peer_errors() -> Iterator[None]:
    """A context that converts a lost connection into `PeerEndedError`."""
    try:
        yield
    except RuntimeError as error:
        raise PeerEndedError(ENDED) from error
