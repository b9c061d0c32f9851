"""Attention of one new position, as plain loops that numba compiles: score, softmax, sum.

In a search each hypothesis has one query a step. Matrix products are made for many queries; they need the keys of beams
copied or masked, and all sources padded to one length. A loop reads each hypothesis' own past where it was written, and
stops where a sentence ends (`python -m benchmarks.kernels`). Positions are the outermost loop, so that what is read is
contiguous for all heads, and hypotheses that share their past find it in the cache.
"""

import math

import numpy as np
from torch import Tensor

from limelight.attention.attend import attend
from limelight.inference.cpu.exponential import exponential
from limelight.inference.cpu.jit import Integers, Numbers, compiled
from limelight.inference.cpu.simd import maximum
from limelight.shapes import Float


@compiled
def _exponentials(scores: Numbers, totals: Numbers) -> None:
    """exp(s - max s) of each head over all positions, in place, and their totals; (positions, heads) and (heads,)."""
    positions, heads = scores.shape
    for head in range(heads):
        totals[head] = scores[0, head]
    for position in range(1, positions):
        for head in range(heads):
            totals[head] = maximum(totals[head], scores[position, head])
    for position in range(positions):
        for head in range(heads):
            scores[position, head] -= totals[head]
    flat = scores.reshape(-1)
    for each in range(len(flat)):
        flat[each] = exponential(flat[each])
    totals[:] = 0
    for position in range(positions):
        for head in range(heads):
            totals[head] += scores[position, head]


@compiled
def rotate(joint: Numbers, turns: Numbers, heads: int) -> None:
    """Rotate the queries and keys of all heads in place (Su et al. 2021, equation 34).

    Args:
        joint: (rows, inner): queries, keys and values of all heads, side by side.
        turns: (rows, head_size), of `RotaryTable.at`; rows of `joint` behind these stay as they are.
        heads: of the queries, and of the keys.
    """
    pairs = turns.shape[1] // 2
    for row in range(len(turns)):
        for head in range(2 * heads):
            first = head * 2 * pairs
            for pair in range(pairs):
                even, odd = joint[row, first + 2 * pair], joint[row, first + 2 * pair + 1]
                cos, sin = turns[row, pair], turns[row, pairs + pair]
                joint[row, first + 2 * pair] = even * cos - odd * sin
                joint[row, first + 2 * pair + 1] = even * sin + odd * cos


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
    """Masked self-attention: write the new keys and values; each hypothesis attends to its own past and to itself.

    Args:
        joint: (rows, inner): queries, keys and values of all heads, side by side, of each hypothesis.
        firsts: (batch + 1,): where the rows of each sentence begin; they are those of its first hypotheses.
        keys: (batch, width, room, heads, head_size): those of the positions before; written to.
        values: (batch, width, room, heads, value_size): likewise.
        ancestors: (batch, width, room): which hypothesis of its sentence each one was, at each position; written to.
        ages: (batch,): how many positions there are already.
        context: (rows, heads, value_size): written to.
    """
    batch, width, room, heads, head_size = keys.shape
    value_size = values.shape[4]
    inner = heads * head_size
    scale = np.float32(1 / math.sqrt(head_size))
    queries = np.empty((width, heads, head_size), dtype=np.float32)
    scores, totals = np.empty((width, room, heads), dtype=np.float32), np.empty((width, heads), dtype=np.float32)
    for sentence in range(batch):
        age, first = ages[sentence], firsts[sentence]
        active = firsts[sentence + 1] - first
        for hypothesis in range(active):
            new = joint[first + hypothesis]
            queries[hypothesis] = new[:inner].reshape(heads, head_size)
            keys[sentence, hypothesis, age] = new[inner : 2 * inner].reshape(heads, head_size)
            values[sentence, hypothesis, age] = new[2 * inner :].reshape(heads, value_size)
            ancestors[sentence, hypothesis, age] = hypothesis
        for position in range(age + 1):
            for hypothesis in range(active):
                found = keys[sentence, ancestors[sentence, hypothesis, position], position]
                for head in range(heads):
                    product = np.float32(0)
                    for part in range(head_size):
                        product += queries[hypothesis, head, part] * found[head, part]
                    scores[hypothesis, position, head] = product * scale
        for hypothesis in range(active):
            context[first + hypothesis] = 0
            _exponentials(scores[hypothesis, : age + 1], totals[hypothesis])
        for position in range(age + 1):
            for hypothesis in range(active):
                found = values[sentence, ancestors[sentence, hypothesis, position], position]
                for head in range(heads):
                    weight = scores[hypothesis, position, head] / totals[hypothesis, head]
                    for part in range(value_size):
                        context[first + hypothesis, head, part] += weight * found[head, part]


@compiled
def follow_parents(ancestors: Integers, parents: Integers, ages: Integers) -> None:
    """Hypothesis j of a sentence goes on from what its hypothesis parents[j] was: move its ancestors, in place.

    Args:
        ancestors: (batch, width, room), as in `attend_past`.
        parents: (batch, width).
        ages: (batch,): how many positions there are; the rest is left as it is.
    """
    batch, width, _ = ancestors.shape
    before = np.empty(width, dtype=np.int64)
    for sentence in range(batch):
        for position in range(ages[sentence]):
            before[:] = ancestors[sentence, :, position]
            for hypothesis in range(width):
                ancestors[sentence, hypothesis, position] = before[parents[sentence, hypothesis]]


@compiled
def attend_source(
    queries: Numbers, firsts: Integers, keys: Numbers, values: Numbers, lengths: Integers, context: Numbers
) -> None:
    """Cross-attention: each hypothesis attends to its source.

    Args:
        queries: (rows, heads, head_size).
        firsts: (batch + 1,): where the rows of each sentence begin.
        keys: (batch, source, heads, head_size): those of the source.
        values: (batch, source, heads, value_size): likewise.
        lengths: (batch,): how many of them are real.
        context: (rows, heads, value_size): written to.
    """
    _, heads, head_size = queries.shape
    value_size = values.shape[3]
    scale = np.float32(1 / math.sqrt(head_size))
    width = 0
    for sentence in range(len(lengths)):
        width = max(width, firsts[sentence + 1] - firsts[sentence])
    scores = np.empty((width, keys.shape[1], heads), dtype=np.float32)
    totals = np.empty((width, heads), dtype=np.float32)
    for sentence in range(len(lengths)):
        length, first = lengths[sentence], firsts[sentence]
        active = firsts[sentence + 1] - first
        for position in range(length):
            for hypothesis in range(active):
                for head in range(heads):
                    product = np.float32(0)
                    for part in range(head_size):
                        product += queries[first + hypothesis, head, part] * keys[sentence, position, head, part]
                    scores[hypothesis, position, head] = product * scale
        for hypothesis in range(active):
            context[first + hypothesis] = 0
            _exponentials(scores[hypothesis, :length], totals[hypothesis])
        for position in range(length):
            for hypothesis in range(active):
                for head in range(heads):
                    weight = scores[hypothesis, position, head] / totals[hypothesis, head]
                    for part in range(value_size):
                        context[first + hypothesis, head, part] += weight * values[sentence, position, head, part]


@compiled
def attend_within(joint: Numbers, firsts: Integers, longest: int, context: Numbers) -> None:
    """Self-attention: the positions of each sentence attend to one another.

    Args:
        joint: (rows, inner): queries, keys and values of all heads, side by side; sentences end to end.
        firsts: (sentences + 1,): where the rows of each sentence begin, and where the last ones end.
        longest: longer sentences are left out.
        context: (rows, heads, value_size): written to.
    """
    rows, heads, value_size = context.shape
    inner = (joint.shape[1] - heads * value_size) // 2
    queries = np.ascontiguousarray(joint[:, :inner]).reshape(rows, heads, inner // heads)
    keys = np.ascontiguousarray(joint[:, inner : 2 * inner]).reshape(rows, heads, inner // heads)
    values = np.ascontiguousarray(joint[:, 2 * inner :]).reshape(rows, heads, value_size)
    for sentence in range(len(firsts) - 1):
        begin, end = firsts[sentence], firsts[sentence + 1]
        length = end - begin
        if length <= longest:
            of_one, all_of_it = np.array([0, length]), np.array([length])
            own_keys = keys[begin:end].reshape(1, length, keys.shape[1], keys.shape[2])
            own_values = values[begin:end].reshape(1, length, values.shape[1], values.shape[2])
            attend_source(queries[begin:end], of_one, own_keys, own_values, all_of_it, context[begin:end])


SHORT = 64
"""Up to so many positions compiled loops are faster than the fused kernel."""


def attend_ragged(
    joint: Float[Tensor, "rows inner"], firsts: Integers, heads: int, head_size: int, turns: Numbers | None = None
) -> Float[Tensor, "rows value_size"]:
    """The context of every position.

    Args:
        joint: queries, keys and values of all heads at each position, side by side; the rest of a row are its values.
        firsts: (sentences + 1,): where the positions of each sentence begin, and where the last ones end.
        turns: with rotary positions, what turns each row (`RotaryTable`): its queries and keys are turned in place.
    """
    if turns is not None:
        rotate(joint.numpy(), turns, heads)
    inner = heads * head_size
    sizes = inner, inner, joint.shape[1] - 2 * inner
    context = joint.new_empty(len(joint), heads, sizes[2] // heads)
    attend_within(joint.numpy(), firsts, SHORT, context.numpy())
    for begin, end in zip(firsts[:-1].tolist(), firsts[1:].tolist(), strict=True):
        if end - begin > SHORT:
            # (length, heads * size) -> (1, heads, length, size)
            parts = joint[begin:end].split(sizes, dim=1)
            one = (part.unflatten(1, (heads, -1)).transpose(0, 1)[None].contiguous() for part in parts)
            context[begin:end] = attend(*one)[0][0].transpose(0, 1)
    return context.flatten(1)
