"""Label-smoothed cross-entropy as a sum; the caller divides once, by all real tokens of an update."""

from typing import Protocol, runtime_checkable

from torch import Tensor

from limelight.batching.batch import Batch
from limelight.shapes import Float
from limelight.training.cross_entropy import linear_cross_entropy


@runtime_checkable
class Learner(Protocol):
    """What a loss may know of a model."""

    def __call__(self, batch: Batch) -> Float[Tensor, "batch length features"]:
        """Features of every place of `batch.target_out`."""

    def output_weights(self) -> tuple[Float[Tensor, "vocab features"], Float[Tensor, " vocab"] | None]:
        """The final linear layer, from features to logits."""


def batch_loss(model: Learner, batch: Batch, *, label_smoothing: float) -> Float[Tensor, ""]:
    """The loss of a batch, summed over its real target tokens (natural logarithm).

    With smoothing e the true distribution is (1 - e) on the true token and e / V on every one of the V tokens, the true
    one included (Szegedy et al. 2016, section 7; Vaswani et al. 2017, section 5.4). Some toolkits leave the true token
    out of the second part: their e means a little more smoothing.

    Padding is left out before the final linear layer: at a vocabulary of thousands that is where the time goes.
    """
    features = model(batch)[batch.target_valid]
    weight, bias = model.output_weights()
    targets = batch.target_out[batch.target_valid]
    return linear_cross_entropy(features, weight, bias, targets, label_smoothing=label_smoothing)
