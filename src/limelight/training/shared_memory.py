"""Memory that the processes of one machine share: a sum of gradients is then an addition instead of a transfer.

The memory belongs to no file and to no name: it is gone when the last process has ended, however that ended.
"""

import mmap
import os
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

HEAD = 16
"""Elements before the first parameter; the first is the loss."""


class SharedMemory:
    """A part for each process, with room for a loss and the gradients of all parameters, and a part for their sum.

    Args:
        descriptor: of the memory, the same in all processes; it is given the size that is needed.
        parameters: in fp32, in the same order in all processes.
        wait: a barrier of all processes.

    A process writes its own part only, and reads those of others only between two barriers.
    """

    def __init__(
        self, descriptor: int, rank: int, size: int, parameters: Sequence[Tensor], wait: Callable[[], None]
    ) -> None:
        self.rank, self.size, self.wait = rank, size, wait
        lengths = [parameter.numel() for parameter in parameters]
        count = HEAD + sum(lengths)
        os.ftruncate(descriptor, 4 * count * (size + 1))
        self._memory = mmap.mmap(descriptor, 4 * count * (size + 1))
        self._parts = torch.frombuffer(self._memory, dtype=torch.float32).view(size + 1, count)
        self._views = [
            [each.view_as(parameter) for each, parameter in zip(part[HEAD:].split(lengths), parameters, strict=True)]
            for part in self._parts
        ]
        self._number = {id(parameter): number for number, parameter in enumerate(parameters)}

    def of(self, rank: int, parameter: Tensor) -> Tensor:
        """The place for a parameter in the part of a process; same shape."""
        return self._views[rank][self._number[id(parameter)]]

    def put(self, loss: Tensor, gradients: Sequence[Tensor | None]) -> None:
        """Write the loss and the gradients of this process into its part; None counts as zeros."""
        self._parts[self.rank, 0] = loss
        own = self._views[self.rank]
        there = [place for place, gradient in enumerate(gradients) if gradient is not None]
        torch._foreach_copy_([own[place] for place in there], [each for each in gradients if each is not None])
        for place in set(range(len(own))) - set(there):
            own[place].zero_()

    def add(self) -> tuple[Tensor, list[Tensor]]:
        """The sums of the loss and of the gradients over all processes, when all have `put`. They are valid until the
        next `put`. Each process adds a section of all parts, so all get the same bits."""
        count = self._parts.shape[1]
        section = slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)
        torch.sum(self._parts[: self.size, section], dim=0, out=self._parts[self.size, section])
        self.wait()
        return self._parts[self.size, 0].clone(), self._views[self.size]
