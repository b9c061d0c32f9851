"""Truncated backpropagation through time: the final state of a batch is the initial state of the next one.

Values are carried over, gradients are not (Mikolov et al. 2010; Zaremba et al. 2014, section 4): the state of a
recurrent language model depends on all preceding text, its gradients only on the current block.
"""

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from limelight.batching.batch import Batch
from limelight.errors import UserError
from limelight.models.recurrent.cells import Carried
from limelight.shapes import Float, Int
from limelight.training.loss import Learner

FORGET = 0.01
"""The probability that a row begins a batch with the initial state, as text generation does later (Melis et al. 2018,
"On the State of the Art of Evaluation in Neural Language Models"). If the state is always carried over, the model does
not learn the beginnings of texts, and continuations of short prompts are useless."""


@runtime_checkable
class ReadsOn(Learner, Protocol):
    """A model that can continue from a state."""

    def read_on(
        self, ids: Int[Tensor, "batch target"], carried: Carried | None
    ) -> tuple[Float[Tensor, "batch target features"], Carried]:
        """Features of all positions, and the state after the last."""


class Carrying:
    """Replaces a model while an update is computed: each batch begins with `state`.

    The rows of a batch have to continue those of the batch before.

    Args:
        forget: probability that a row begins with the initial state instead; drawn from torch's generator.
    """

    def __init__(self, model: ReadsOn, state: Carried, *, forget: float = 0.0) -> None:
        self.model, self.state, self.forget = model, state, forget

    def __call__(self, batch: Batch) -> Float[Tensor, "batch target features"]:
        """Features of all positions; afterwards `state` is the one after the last."""
        if self.state and self.forget:
            kept = torch.rand(len(batch.target_in), 1, device=batch.target_in.device) >= self.forget
            self.state = tuple(part * kept for part in self.state)
        features, after = self.model.read_on(batch.target_in, self.state or None)
        self.state = tuple(part.detach() for part in after)
        return features

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        """Those of the model."""
        return self.model.output_weights()


def require_apart(model: object, processes: int) -> None:
    """Raise `UserError` if several processes would train a model that carries a state between batches."""
    if processes > 1 and isinstance(model, ReadsOn):
        raise UserError(
            f"{processes} processes, but a recurrent language model begins each batch where the one before ended, so "
            "no two can be computed at once: train it with one process"
        )
