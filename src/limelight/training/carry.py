"""Truncated backpropagation through time: the state at the end of a batch is where the next one begins.

Values go on, gradients do not (Mikolov et al. 2010; Zaremba et al. 2014, section 4): what a recurrent language model
remembers reaches as far back as the text, what it learns from as far as a block.
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
"""The share of rows that begin a batch with nothing, as a text begins that is asked for later (Melis et al. 2018, "On
the State of the Art of Evaluation in Neural Language Models"). Where all goes on and on, nothing is learned of
beginnings, and what is written after a short prompt is useless."""


@runtime_checkable
class ReadsOn(Learner, Protocol):
    """A model that can be asked to go on from a state."""

    def read_on(
        self, ids: Int[Tensor, "batch target"], carried: Carried | None
    ) -> tuple[Float[Tensor, "batch target features"], Carried]:
        """Features of all positions, and the state behind the last."""


class Carrying:
    """Stands in for a model while an update is computed: each batch begins where `state` is.

    The rows of a batch have to go on where those of the batch before ended.

    Args:
        forget: how probable it is that a row begins with nothing instead; drawn from torch's generator.
    """

    def __init__(self, model: ReadsOn, state: Carried, *, forget: float = 0.0) -> None:
        self.model, self.state, self.forget = model, state, forget

    def __call__(self, batch: Batch) -> Float[Tensor, "batch target features"]:
        """Features of all positions; afterwards `state` is that behind the last."""
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
    """Raises `UserError` where several processes would train a model whose batches follow from one another."""
    if processes > 1 and isinstance(model, ReadsOn):
        raise UserError(
            f"{processes} processes, but a recurrent language model begins each batch where the one before ended, so "
            "no two can be computed at once: train it with one process"
        )
