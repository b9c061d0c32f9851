"""The recurrent unit (SSRU) of a decoder layer in compiled loops, one position of each hypothesis at a time."""

import math
from functools import partial

import numpy as np

from limelight.inference.cpu.int8 import Int8Weights, Norm, normalize, project_in
from limelight.inference.cpu.jit import Integers, Numbers, compiled
from limelight.inference.cpu.simd import apart


@partial(compiled, apart=True)
def advance_cells(joint: Numbers, firsts: Integers, cells: Numbers, ancestors: Integers, ages: Integers) -> None:
    """Write the new cells, c = f * c_before + (1 - f) * (W x).

    Args:
        joint: (rows, 2 * model): W x and W_f x + b_f of each hypothesis; ReLU(c) is written over the first half.
        firsts: (batch + 1,): index of the first row of each sentence; the rows are its first hypotheses.
        cells: (batch, width, room, 1, model): cells of previous positions; written to.
        ancestors: (batch, width, room): index of each hypothesis' ancestor at each position; written to.
        ages: (batch,): number of previous positions.
    """
    apart()
    model = cells.shape[4]
    zeros = np.zeros(model, dtype=np.float32)
    for sentence in range(len(firsts) - 1):
        age = ages[sentence]
        for hypothesis in range(firsts[sentence + 1] - firsts[sentence]):
            before = cells[sentence, ancestors[sentence, hypothesis, age - 1], age - 1, 0] if age > 0 else zeros
            row, after = joint[firsts[sentence] + hypothesis], cells[sentence, hypothesis, age, 0]
            ancestors[sentence, hypothesis, age] = hypothesis
            for index in range(model):
                forget = np.float32(1 / (1 + math.exp(-row[model + index])))
                cell = forget * before[index] + (np.float32(1) - forget) * row[index]
                after[index], row[index] = cell, np.float32(0) if cell < 0 else cell  # NaN is kept


@partial(compiled, apart=True)
def recur(
    hidden: Numbers, norm: Norm, linear: Int8Weights, firsts: Integers, cells: Numbers, ancestors: Integers,
    ages: Integers,
) -> None:  # fmt: skip
    """The unit with its residual connection, for int8 weights: `hidden`, (rows, model), is changed in place. The rest
    as in `advance_cells`."""
    apart()
    joint = np.empty((len(hidden), linear.outputs), dtype=np.float32)
    project_in(hidden, norm, linear, joint)
    advance_cells(joint, firsts, cells, ancestors, ages)
    for row in range(len(hidden)):
        for index in range(hidden.shape[1]):
            hidden[row, index] += joint[row, index]
    if not norm.first:
        normalize(hidden, norm, hidden)
