"""The sum of gradients over processes, which overlaps with the backward pass: as in torch's DistributedDataParallel,
gradients are views of a few flat buckets, and a bucket is exchanged as soon as all its gradients are complete.

Unlike there, a process may have any number of batches, also none, and gradients may come from a half-precision copy.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, distributed

from limelight.training.distributed import peer_errors

BUCKET = 25 * 2**20
"""Bytes of a bucket; the default of DistributedDataParallel."""


class GradientSum:
    """Sums the gradients of `parameters` over all processes.

    `begin` precedes the backward passes of an update, `arrived` follows each gradient, `finish` waits for the sums.
    """

    def __init__(self, parameters: Sequence[Tensor], *, bucket: int = BUCKET) -> None:
        self._buckets: list[list[Tensor]] = [[]]
        for parameter in reversed(parameters):  # about the order in which the backward pass completes them
            if sum(owner.nbytes for owner in self._buckets[-1]) >= bucket:
                self._buckets.append([])
            self._buckets[-1].append(parameter)
        self._bucket_of = {owner: number for number, bucket in enumerate(self._buckets) for owner in bucket}
        sizes = [sum(owner.numel() for owner in bucket) + 1 for bucket in self._buckets]
        self._flat = [torch.zeros(size, device=parameters[0].device) for size in sizes]
        """All gradients of each bucket, and one more number: in the last one the loss."""
        self.begin(0)  # the sample batch that compiles a model comes before the first update

    def begin(self, batches: int) -> None:
        """Clear the gradients. This process will compute `batches` batches."""
        self._expected, self._counts = batches, dict.fromkeys(self._bucket_of, 0)
        self._incomplete, self._exchanges = list(map(len, self._buckets)), list[Any]()
        for flat, bucket in zip(self._flat, self._buckets, strict=True):
            parts = flat.zero_()[:-1].split([owner.numel() for owner in bucket])
            for parameter, part in zip(bucket, parts, strict=True):
                parameter.grad = part.view_as(parameter)

    def arrived(self, parameter: Tensor) -> None:
        """Called after the gradient of each batch was added; exchanges the buckets that are complete, in order."""
        self._counts[parameter] += 1
        if self._counts[parameter] == self._expected:
            self._incomplete[self._bucket_of[parameter]] -= 1
        while len(self._exchanges) < len(self._flat) - 1 and not self._incomplete[len(self._exchanges)]:
            self._exchange()

    def finish(self, loss: Tensor) -> Tensor:
        """Wait for the sums; returns the sum of the losses. A parameter that no batch used has no gradient, as with one
        process: the optimizer skips it."""
        used = torch.tensor([count > 0 for count in self._counts.values()], dtype=torch.uint8)
        self._flat[-1][-1] = loss
        while len(self._exchanges) < len(self._flat):
            self._exchange()
        with peer_errors():
            distributed.all_reduce(used, distributed.ReduceOp.MAX)  # on the CPU: no one waits for a device
            for exchange in self._exchanges:
                exchange.wait()
        for parameter, used_anywhere in zip(self._counts, used.tolist(), strict=True):
            if not used_anywhere:
                parameter.grad = None
        return self._flat[-1][-1]

    def _exchange(self) -> None:
        with peer_errors():
            self._exchanges.append(distributed.all_reduce(self._flat[len(self._exchanges)], async_op=True))
