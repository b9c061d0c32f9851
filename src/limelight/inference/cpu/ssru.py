"""The recurrent unit (SSRU) of a decoder layer in compiled loops, one position of each hypothesis at a time."""

import math

import numpy as np

from limelight.inference.cpu.jit import Integers, Numbers, compiled_noinline
from limelight.inference.cpu.lanes import noinline
from limelight.inference.cpu.weights import Norm, Weights, normalize, project_in


@compiled_noinline
def recur(
    hidden: Numbers, norm: Norm, linear: Weights, firsts: Integers, cells: Numbers, ancestors: Integers,
    ages: Integers,
) -> None:  # fmt: skip
    """The unit with its residual connection: c = f * c_before + (1 - f) * (W x), and ReLU(c) is its output.

    Args:
        hidden: (rows, model): changed in place.
        linear: to W x and W_f x + b_f, side by side.
        firsts: (batch + 1,): index of the first row of each sentence; the rows are its first hypotheses.
        cells: (batch, width, room, 1, model): cells of previous positions; written to.
        ancestors: (batch, width, room): index of each hypothesis' ancestor at each position; written to.
        ages: (batch,): number of previous positions.
    """
    noinline()
    model = cells.shape[4]
    joint, zeros = np.empty((len(hidden), linear.outputs), dtype=np.float32), np.zeros(model, dtype=np.float32)
    project_in(hidden, norm, linear, joint)
    for sentence in range(len(firsts) - 1):
        age = ages[sentence]
        for hypothesis in range(firsts[sentence + 1] - firsts[sentence]):
            row = firsts[sentence] + hypothesis
            before = cells[sentence, ancestors[sentence, hypothesis, age - 1], age - 1, 0] if age > 0 else zeros
            after = cells[sentence, hypothesis, age, 0]
            ancestors[sentence, hypothesis, age] = hypothesis
            for index in range(model):
                forget = np.float32(1 / (1 + math.exp(-joint[row, model + index])))
                cell = forget * before[index] + (np.float32(1) - forget) * joint[row, index]
                after[index] = cell
                hidden[row, index] += np.float32(0) if cell < 0 else cell  # NaN is kept
    if not norm.first:
        normalize(hidden, norm, hidden)
