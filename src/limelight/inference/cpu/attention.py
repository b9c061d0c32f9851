"""Attention of single positions in compiled loops: score, softmax, sum.

In a search each hypothesis has one query per step. Matrix products are optimized for many queries; they would need
copied or masked keys of beams, and sources padded to one length. Here the past of each hypothesis is read in place, up
to the end of its sentence. The sums are made by `vectors.py`, in a fixed order.
"""

import math

import numpy as np

from limelight.inference.cpu.jit import Integers, Numbers, compiled, compiled_noinline
from limelight.inference.cpu.lanes import noinline
from limelight.inference.cpu.vectors import copy, dot, exponentiate, weighted_sum

Sizes = tuple[int, int, int, int, int, int, int]
"""Number of heads; size of a key and of a value per head; stride of keys and of values between positions; offset of the
first key and of the first value."""


@compiled_noinline
def attend_to(
    queries: Numbers, at: int, keys: Numbers, values: Numbers, positions: Integers, sizes: Sizes, context: Numbers,
    where: int,
) -> None:  # fmt: skip
    """The context of one query for all heads: score, softmax, sum.

    Args:
        queries: any shape; the query begins at flat index `at`, one head after another.
        keys, values: any shape, with the layout given by `sizes`.
        positions: indices that are attended to, at least one.
        context: any shape; the result is written from flat index `where` on.
    """
    noinline()
    heads, head_size, value_size, key_stride, value_stride, key_start, value_start = sizes
    scale, count = np.float32(1 / math.sqrt(head_size)), len(positions)
    scores = np.empty(count, dtype=np.float32)
    for head in range(heads):
        inside = head * head_size
        for number in range(count):
            key = key_start + positions[number] * key_stride + inside
            scores[number] = dot(queries, at + inside, keys, key, head_size) * scale
        total, inside = exponentiate(scores, count), head * value_size
        start, target = value_start + inside, where + inside
        weighted_sum(scores, total, values, positions, count, value_stride, start, value_size, context, target)


@compiled
def rotate(joint: Numbers, turns: Numbers, heads: int) -> None:
    """Rotate the queries and keys of all heads in place (Su et al. 2021, equation 34).

    Args:
        joint: (rows, inner): queries, keys and values of all heads, concatenated.
        turns: (rows, head_size), see `turns_of`; further rows of `joint` are not changed.
        heads: number of heads of the queries, and of the keys.
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


@compiled_noinline
def attend_past(
    joint: Numbers,
    firsts: Integers,
    keys: Numbers,
    values: Numbers,
    ancestors: Integers,
    ages: Integers,
    context: Numbers,
) -> None:
    """Masked self-attention: write the new keys and values; each hypothesis attends to its own past and itself.

    Args:
        joint: (rows, inner): queries, keys and values of all heads for each hypothesis, concatenated.
        firsts: (batch + 1,): index of the first row of each sentence; the rows are its first hypotheses.
        keys: (batch, width, room, heads, head_size): keys of previous positions; written to.
        values: (batch, width, room, heads, value_size): likewise.
        ancestors: (batch, width, room): index of each hypothesis' ancestor at each position; written to.
        ages: (batch,): number of previous positions.
        context: (rows, heads, value_size): written to.
    """
    noinline()
    batch, width, room, heads, head_size = keys.shape
    value_size, inner = values.shape[4], heads * head_size
    outer, stride = heads * value_size, joint.shape[1]
    sizes = heads, head_size, value_size, inner, outer, 0, 0
    positions = np.empty(room, dtype=np.int64)
    for sentence in range(batch):
        age, first = ages[sentence], firsts[sentence]
        for hypothesis in range(firsts[sentence + 1] - first):
            new, slot = (first + hypothesis) * stride, (sentence * width + hypothesis) * room + age
            copy(joint, new + inner, keys, slot * inner, inner)
            copy(joint, new + 2 * inner, values, slot * outer, outer)
            ancestors[sentence, hypothesis, age] = hypothesis
        for hypothesis in range(firsts[sentence + 1] - first):
            for position in range(age + 1):
                ancestor = ancestors[sentence, hypothesis, position]
                positions[position] = (sentence * width + ancestor) * room + position
            row = first + hypothesis
            attend_to(joint, row * stride, keys, values, positions[: age + 1], sizes, context, row * outer)


@compiled
def follow_parents(ancestors: Integers, parents: Integers, ages: Integers) -> None:
    """Reorder the ancestors in place: hypothesis j of a sentence continues parents[j].

    Args:
        ancestors: (batch, width, room), as in `attend_past`.
        parents: (batch, width).
        ages: (batch,): number of positions; the rest is not changed.
    """
    batch, width, _ = ancestors.shape
    before = np.empty(width, dtype=np.int64)
    for sentence in range(batch):
        for position in range(ages[sentence]):
            for hypothesis in range(width):
                before[hypothesis] = ancestors[sentence, hypothesis, position]
            for hypothesis in range(width):
                ancestors[sentence, hypothesis, position] = before[parents[sentence, hypothesis]]


@compiled_noinline
def attend_memory(
    queries: Numbers, firsts: Integers, memory: Numbers, lengths: Integers, heads: int, context: Numbers
) -> None:
    """Cross-attention: each hypothesis attends to its source.

    Args:
        queries: (rows, heads * head_size).
        firsts: (batch + 1,): index of the first row of each sentence.
        memory: (batch, source, heads * head_size + heads * value_size): keys, then values.
        lengths: (batch,): number of valid source positions.
        context: (rows, heads * value_size): written to.
    """
    noinline()
    inner, outer, source = queries.shape[1], context.shape[1], memory.shape[1]
    sizes = heads, inner // heads, outer // heads, inner + outer, inner + outer, 0, inner
    positions = np.empty(source, dtype=np.int64)
    for sentence in range(len(lengths)):
        length = lengths[sentence]
        for position in range(length):
            positions[position] = sentence * source + position
        for row in range(firsts[sentence], firsts[sentence + 1]):
            attend_to(queries, row * inner, memory, memory, positions[:length], sizes, context, row * outer)
