"""The sum of gradients over processes, which overlaps with the backward pass: as in torch's DistributedDataParallel,
gradients are views of a few flat buckets, and a bucket is exchanged as soon as all its gradients are complete.

Unlike there, a process may have any number of batches, also none, and gradients may come from a half-precision copy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, distributed

from limelight.training.distributed import told

BUCKET = 25 * 2**20
"""Bytes of a bucket; the default of DistributedDataParallel."""


@dataclass(slots=True)
class _Bucket:
    flat: Tensor
    """All gradients of the bucket, and one more number."""
    views: dict[Tensor, Tensor]
    """The gradient of each parameter."""
    incomplete: int = 0
    """Number of parameters whose gradient is not complete."""
    exchange: Any = field(default=None)


class GradientSum:
    """Sums the gradients of `parameters` over all processes.

    `begin` precedes the backward passes of an update, `arrived` follows each gradient, `finish` waits for the sums.
    """

    def __init__(self, parameters: Sequence[Tensor], *, bucket: int = BUCKET) -> None:
        self._buckets: list[_Bucket] = []
        self._of: dict[Tensor, _Bucket] = {}
        self._expected, self._counts = 0, dict[Tensor, int]()
        self._exchanged = 0
        self._device = parameters[0].device
        some: list[Tensor] = []
        for parameter in reversed(parameters):  # about the order in which the backward pass completes them
            some.append(parameter)
            if sum(each.nbytes for each in some) >= bucket:
                self._add(some)
                some = []
        self._add(some)

    def _add(self, parameters: list[Tensor]) -> None:
        sizes = [each.numel() for each in parameters]
        flat = torch.zeros(sum(sizes) + 1, device=self._device)
        parts = flat[:-1].split(sizes)
        bucket = _Bucket(flat, {each: part.view_as(each) for each, part in zip(parameters, parts, strict=True)})
        self._buckets.append(bucket)
        self._of |= dict.fromkeys(parameters, bucket)

    def begin(self, batches: int) -> None:
        """Clear the gradients. This process will compute `batches` batches."""
        self._expected, self._counts, self._exchanged = batches, dict.fromkeys(self._of, 0), 0
        for bucket in self._buckets:
            bucket.flat.zero_()
            bucket.incomplete = len(bucket.views)
            for parameter, view in bucket.views.items():
                parameter.grad = view

    def arrived(self, parameter: Tensor) -> None:
        """Called after the gradient of each batch was added; exchanges the buckets that are complete, in order."""
        self._counts[parameter] += 1
        if self._counts[parameter] == self._expected:
            self._of[parameter].incomplete -= 1
        while self._exchanged < len(self._buckets) - 1 and not self._buckets[self._exchanged].incomplete:
            self._exchange()

    def finish(self, loss: Tensor) -> Tensor:
        """Wait for the sums; returns that of the losses. A parameter that no batch used has no gradient, as with one
        process: the optimizer skips it."""
        used = torch.tensor([count > 0 for count in self._counts.values()], dtype=torch.uint8)
        last = self._buckets[-1].flat
        last[-1] = loss
        while self._exchanged < len(self._buckets):
            self._exchange()
        with told():
            distributed.all_reduce(used, distributed.ReduceOp.MAX)  # on the CPU: no one waits for a device
            for bucket in self._buckets:
                bucket.exchange.wait()
        for parameter, used_anywhere in zip(self._counts, used.tolist(), strict=True):
            if not used_anywhere:
                parameter.grad = None
        return last[-1]

    def _exchange(self) -> None:
        bucket = self._buckets[self._exchanged]
        with told():
            bucket.exchange = distributed.all_reduce(bucket.flat, async_op=True)
        self._exchanged += 1
