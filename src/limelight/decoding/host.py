"""What a search computes on the host, in numpy.

The hypotheses are arrays on the host. A step moves a few hundred small numbers about in some twenty operations, each of
which takes numpy a microsecond and torch five or ten; and the device has to be waited for once a step all the same.
"""

import numpy as np
import numpy.typing as npt
from torch import Tensor

from limelight.errors import RunError

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


class NotANumberError(RunError):
    """A model predicts NaN."""

    def __init__(self) -> None:
        super().__init__(
            "what the model predicts is not a number (NaN), so nothing can be made of it: its weights are damaged, too "
            "large for the precision that was asked for, or of a training that diverged; take another checkpoint, or "
            "train it again with a lower training.learning_rate"
        )


def numbers(values: Tensor) -> Numbers:
    """On the host, in double precision, which not every GPU has."""
    return values.cpu().double().numpy()
