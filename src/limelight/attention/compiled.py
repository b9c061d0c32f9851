"""Attention of one new position, as plain loops that numba compiles: score, softmax, sum.

In a search each hypothesis asks one query a step. Products of matrices are made for more than that, and want the keys
of beams copied, or masked, and all sources padded to one length. A loop looks up each hypothesis' own past where it was
written, and stops where a sentence ends (`python -m benchmarks.kernels`). Positions are the outermost loop, so that
what is read lies together for all heads, and hypotheses that share their past find it in the cache.
"""

import math

import numpy as np
import numpy.typing as npt

from limelight.layers.compiled import Numbers, compiled

Integers = npt.NDArray[np.int64]


@compiled
def _softmax(scores: Numbers, length: int) -> None:
    """exp(s) / sum of exp(s) over the first `length` scores, in place."""
    most = scores[0]
    for place in range(1, length):
        most = max(most, scores[place])
    total = np.float32(0)
    for place in range(length):
        scores[place] = math.exp(scores[place] - most)
        total += scores[place]
    for place in range(length):
        scores[place] /= total


@compiled
def attend_past(
    joint: Numbers, keys: Numbers, values: Numbers, ancestors: Integers, ages: Integers, context: Numbers
) -> None:
    """Write the new keys and values, and let each hypothesis look at its own past and at itself.

    Args:
        joint: (batch, width, 3, heads, head_size): query, key and value of the new position.
        keys, values: (batch, width, room, heads, head_size): those of the positions before; written to.
        ancestors: (batch, width, room): which hypothesis of its sentence each one was, at each position; written to.
        ages: (batch,): how many positions there are already.
        context: (batch, width, heads, head_size): is filled.
    """
    batch, width, room, heads, head_size = keys.shape
    scale = np.float32(1 / math.sqrt(head_size))
    scores = np.empty((width, heads, room), dtype=np.float32)
    for row in range(batch):
        age = ages[row]
        for hypothesis in range(width):
            keys[row, hypothesis, age] = joint[row, hypothesis, 1]
            values[row, hypothesis, age] = joint[row, hypothesis, 2]
            ancestors[row, hypothesis, age] = hypothesis
        for place in range(age + 1):
            for hypothesis in range(width):
                found = keys[row, ancestors[row, hypothesis, place], place]
                for head in range(heads):
                    product = np.float32(0)
                    for part in range(head_size):
                        product += joint[row, hypothesis, 0, head, part] * found[head, part]
                    scores[hypothesis, head, place] = product * scale
        context[row] = 0
        for hypothesis in range(width):
            for head in range(heads):
                _softmax(scores[hypothesis, head], age + 1)
        for place in range(age + 1):
            for hypothesis in range(width):
                found = values[row, ancestors[row, hypothesis, place], place]
                for head in range(heads):
                    weight = scores[hypothesis, head, place]
                    for part in range(head_size):
                        context[row, hypothesis, head, part] += weight * found[head, part]


@compiled
def attend_source(queries: Numbers, memory: Numbers, lengths: Integers, context: Numbers) -> None:
    """Let each hypothesis look at its source.

    Args:
        queries: (batch, width, heads, head_size).
        memory: (batch, source, 2, heads, head_size): keys and values of the source.
        lengths: (batch,): how many of them are real.
        context: (batch, width, heads, head_size): is filled.
    """
    batch, width, heads, head_size = queries.shape
    scale = np.float32(1 / math.sqrt(head_size))
    scores = np.empty((width, heads, memory.shape[1]), dtype=np.float32)
    for row in range(batch):
        length = lengths[row]
        for place in range(length):
            for hypothesis in range(width):
                for head in range(heads):
                    product = np.float32(0)
                    for part in range(head_size):
                        product += queries[row, hypothesis, head, part] * memory[row, place, 0, head, part]
                    scores[hypothesis, head, place] = product * scale
        context[row] = 0
        for hypothesis in range(width):
            for head in range(heads):
                _softmax(scores[hypothesis, head], length)
        for place in range(length):
            for hypothesis in range(width):
                for head in range(heads):
                    weight = scores[hypothesis, head, place]
                    for part in range(head_size):
                        context[row, hypothesis, head, part] += weight * memory[row, place, 1, head, part]
