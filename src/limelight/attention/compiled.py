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
    joint: Numbers,
    firsts: Integers,
    keys: Numbers,
    values: Numbers,
    ancestors: Integers,
    ages: Integers,
    context: Numbers,
) -> None:
    """Write the new keys and values, and let each hypothesis look at its own past and at itself.

    Args:
        joint: (rows, inner): of each hypothesis queries, keys and values of all heads at the new position, end to end.
        firsts: (batch + 1,): where the rows of each sentence begin; they are those of its first hypotheses.
        keys: (batch, width, room, heads, head_size): those of the positions before; written to.
        values: (batch, width, room, heads, value_size): likewise.
        ancestors: (batch, width, room): which hypothesis of its sentence each one was, at each position; written to.
        ages: (batch,): how many positions there are already.
        context: (rows, heads, value_size): is filled.
    """
    batch, width, room, heads, head_size = keys.shape
    value_size = values.shape[4]
    inner = heads * head_size
    scale = np.float32(1 / math.sqrt(head_size))
    queries = np.empty((width, heads, head_size), dtype=np.float32)
    scores = np.empty((width, heads, room), dtype=np.float32)
    for sentence in range(batch):
        age, first = ages[sentence], firsts[sentence]
        living = firsts[sentence + 1] - first
        for hypothesis in range(living):
            new = joint[first + hypothesis]
            queries[hypothesis] = new[:inner].reshape(heads, head_size)
            keys[sentence, hypothesis, age] = new[inner : 2 * inner].reshape(heads, head_size)
            values[sentence, hypothesis, age] = new[2 * inner :].reshape(heads, value_size)
            ancestors[sentence, hypothesis, age] = hypothesis
        for place in range(age + 1):
            for hypothesis in range(living):
                found = keys[sentence, ancestors[sentence, hypothesis, place], place]
                for head in range(heads):
                    product = np.float32(0)
                    for part in range(head_size):
                        product += queries[hypothesis, head, part] * found[head, part]
                    scores[hypothesis, head, place] = product * scale
        for hypothesis in range(living):
            context[first + hypothesis] = 0
            for head in range(heads):
                _softmax(scores[hypothesis, head], age + 1)
        for place in range(age + 1):
            for hypothesis in range(living):
                found = values[sentence, ancestors[sentence, hypothesis, place], place]
                for head in range(heads):
                    weight = scores[hypothesis, head, place]
                    for part in range(value_size):
                        context[first + hypothesis, head, part] += weight * found[head, part]


@compiled
def attend_source(
    queries: Numbers, firsts: Integers, keys: Numbers, values: Numbers, lengths: Integers, context: Numbers
) -> None:
    """Let each hypothesis look at its source.

    Args:
        queries: (rows, heads, head_size).
        firsts: (batch + 1,): where the rows of each sentence begin.
        keys: (batch, source, heads, head_size): those of the source.
        values: (batch, source, heads, value_size): likewise.
        lengths: (batch,): how many of them are real.
        context: (rows, heads, value_size): is filled.
    """
    _, heads, head_size = queries.shape
    value_size = values.shape[3]
    scale = np.float32(1 / math.sqrt(head_size))
    width = 0
    for sentence in range(len(lengths)):
        width = max(width, firsts[sentence + 1] - firsts[sentence])
    scores = np.empty((width, heads, keys.shape[1]), dtype=np.float32)
    for sentence in range(len(lengths)):
        length, first = lengths[sentence], firsts[sentence]
        living = firsts[sentence + 1] - first
        for place in range(length):
            for hypothesis in range(living):
                for head in range(heads):
                    product = np.float32(0)
                    for part in range(head_size):
                        product += queries[first + hypothesis, head, part] * keys[sentence, place, head, part]
                    scores[hypothesis, head, place] = product * scale
        for hypothesis in range(living):
            context[first + hypothesis] = 0
            for head in range(heads):
                _softmax(scores[hypothesis, head], length)
        for place in range(length):
            for hypothesis in range(living):
                for head in range(heads):
                    weight = scores[hypothesis, head, place]
                    for part in range(value_size):
                        context[first + hypothesis, head, part] += weight * values[sentence, place, head, part]
