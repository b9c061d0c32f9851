"""Truncated backpropagation through time: the state at the end of a batch is where the next one begins.

Values go on, gradients do not (Mikolov et al. 2010; Zaremba et al. 2014, section 4): what a recurrent language model
remembers reaches as far back as the text, what it learns from as far as a block.
"""

from typing import Protocol, runtime_checkable

from torch import Tensor

from limelight.batching.batch import Batch
from limelight.models.recurrent.cells import Carried
from limelight.shapes import Float, Int
from limelight.training.loss import Learner


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
    """

    def __init__(self, model: ReadsOn, state: Carried) -> None:
        self.model, self.state = model, state

    def __call__(self, batch: Batch) -> Float[Tensor, "batch target features"]:
        """Features of all positions; afterwards `state` is that behind the last."""
        features, after = self.model.read_on(batch.target_in, self.state or None)
        self.state = tuple(part.detach() for part in after)
        return features

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        """Those of the model."""
        return self.model.output_weights()
