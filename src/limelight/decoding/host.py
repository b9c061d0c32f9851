"""NumPy arrays of a search on the host.

A step of a search needs about twenty operations on a few hundred numbers, each of which takes one microsecond in NumPy
and five to ten in torch; and a step has to synchronize with the device once in any case.
"""

import numpy as np
import numpy.typing as npt
from torch import Tensor

from limelight.errors import RunError

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]
Truths = npt.NDArray[np.bool_]


class NotANumberError(RunError):
    """The predictions of a model are NaN."""

    def __init__(self) -> None:
        super().__init__(
            "the model's predictions are not a number (NaN): its weights are damaged, too large for the chosen "
            "precision, or from a training that diverged; use another checkpoint, or train again with a lower "
            "training.learning_rate"
        )


def numbers(values: Tensor) -> Numbers:
    """The values on the host, in double precision, which not every GPU supports."""
    return values.cpu().double().numpy()
