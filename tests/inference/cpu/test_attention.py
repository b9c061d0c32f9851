"""The compiled loops against the plainest ones, and against the products that do the same."""

import math
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
import torch

from limelight.attention import attend
from limelight.inference.cpu.attention import attend_memory, attend_past

BATCH, WIDTH, HEADS, SIZE, ROOM, SOURCE = 5, 3, 2, 7, 13, 11
AGES = (0, 4, 12, 1, 7)
LENGTHS = (1, 11, 6, 2, 10)
LIVING = (3, 1, 2, 0, 3)
FIRSTS = np.array([0, 3, 4, 6, 6, 9])
VALUE_SIZES = (5, SIZE, 17)
FAR = 1e6
"""Where nobody may look lies this: who looked there all the same would be far off."""


@pytest.fixture
def numbers(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(params=VALUE_SIZES)
def value_size(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture
def past(numbers: np.random.Generator, value_size: int) -> "Past":
    return Past(numbers, value_size)


def normal(numbers: np.random.Generator, *shape: int) -> np.ndarray:
    return numbers.normal(size=shape).astype(np.float32)


def looked_up(query: np.ndarray, keys: list[np.ndarray], values: list[np.ndarray]) -> np.ndarray:
    """softmax(query keys / sqrt(size)) values, a number after the other, in double precision."""
    scores = [math.fsum(float(q) * float(k) for q, k in zip(query, key, strict=True)) for key in keys]
    powers = [math.exp((score - max(scores)) / math.sqrt(len(query))) for score in scores]
    weights = [power / math.fsum(powers) for power in powers]
    return np.array(
        [
            math.fsum(w * float(part) for w, part in zip(weights, parts, strict=True))
            for parts in zip(*values, strict=True)
        ]
    )


class Past:
    """Random arguments of `attend_past`: rows of different age, whose hypotheses come from one another."""

    def __init__(self, numbers: np.random.Generator, value_size: int) -> None:
        # Of the new position: (rows, heads, size) each
        self.new = [normal(numbers, FIRSTS[-1], HEADS, size) for size in (SIZE, SIZE, value_size)]
        self.joint = np.concatenate([part.reshape(FIRSTS[-1], -1) for part in self.new], axis=1)
        self.keys, self.values = (
            np.full((BATCH, WIDTH, ROOM, HEADS, size), FAR, np.float32) for size in (SIZE, value_size)
        )
        self.ancestors = np.full((BATCH, WIDTH, ROOM), 10**9)
        self.ages = np.array(AGES)
        for row, age in enumerate(AGES):
            self.keys[row, :, :age] = normal(numbers, WIDTH, age, HEADS, SIZE)
            self.values[row, :, :age] = normal(numbers, WIDTH, age, HEADS, value_size)
            self.ancestors[row, :, :age] = numbers.integers(WIDTH, size=(WIDTH, age))
        self.context = np.full((FIRSTS[-1], HEADS, value_size), np.nan, np.float32)

    def attend(self) -> None:
        attend_past(self.joint, FIRSTS, self.keys, self.values, self.ancestors, self.ages, self.context)

    def own(self, sentence: int, hypothesis: int, head: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Keys and values of what a hypothesis has read, the new position last."""
        places = list(enumerate(self.ancestors[sentence, hypothesis, : AGES[sentence]]))
        past = [tuple(part[sentence, who, place, head] for part in (self.keys, self.values)) for place, who in places]
        row = FIRSTS[sentence] + hypothesis
        keys, values = zip(*past, tuple(part[row, head] for part in self.new[1:]), strict=True)
        return list(keys), list(values)


def every_row() -> Iterator[tuple[int, int, int]]:
    """A row, the sentence it belongs to, and which of its hypotheses it is."""
    for sentence, (first, active) in enumerate(zip(FIRSTS, LIVING, strict=False)):
        yield from ((int(first) + hypothesis, sentence, hypothesis) for hypothesis in range(active))


def test_each_hypothesis_looks_at_its_own_past_and_itself(past: Past) -> None:
    past.attend()
    for (row, sentence, hypothesis), head in product(every_row(), range(HEADS)):
        expected = looked_up(past.new[0][row, head], *past.own(sentence, hypothesis, head))
        np.testing.assert_allclose(past.context[row, head], expected, rtol=1e-5, atol=1e-5)


def test_it_writes_the_new_position_into_its_place_and_nothing_else(past: Past) -> None:
    before = [array.copy() for array in (past.joint, past.keys, past.values, past.ancestors, past.ages)]
    for row, sentence, hypothesis in every_row():
        place = sentence, hypothesis, AGES[sentence]
        before[1][place], before[2][place], before[3][place] = past.new[1][row], past.new[2][row], hypothesis
    past.attend()
    for array, expected in zip((past.joint, past.keys, past.values, past.ancestors, past.ages), before, strict=True):
        np.testing.assert_array_equal(array, expected)


def _attend_memory(queries, firsts, keys, values, lengths, context) -> None:
    """With keys and values of all heads side by side."""
    memory = np.concatenate([part.reshape(*part.shape[:2], -1) for part in (keys, values)], axis=2)
    rows, heads = queries.shape[:2]
    attend_memory(queries.reshape(rows, -1), firsts, memory, lengths, heads, context.reshape(rows, -1))


def test_each_hypothesis_looks_at_its_real_source(numbers: np.random.Generator, value_size: int) -> None:
    queries, context = normal(numbers, FIRSTS[-1], HEADS, SIZE), np.full((FIRSTS[-1], HEADS, value_size), np.nan, "f")
    keys, values = (normal(numbers, BATCH, SOURCE, HEADS, size) for size in (SIZE, value_size))
    for row, length in enumerate(LENGTHS):
        keys[row, length:] = values[row, length:] = FAR
    given = queries.copy(), keys.copy(), values.copy()
    _attend_memory(queries, FIRSTS, keys, values, np.array(LENGTHS), context)
    for array, expected in zip((queries, keys, values), given, strict=True):
        np.testing.assert_array_equal(array, expected)
    for (row, sentence, _), head in product(every_row(), range(HEADS)):
        real = (list(part[sentence, : LENGTHS[sentence], head]) for part in (keys, values))
        np.testing.assert_allclose(context[row, head], looked_up(queries[row, head], *real), rtol=1e-5, atol=1e-5)

    sentences = [sentence for _, sentence, _ in every_row()]
    valid = torch.arange(SOURCE) < torch.tensor(LENGTHS)[sentences, None]
    memory = (torch.from_numpy(part[sentences]).transpose(1, 2) for part in (keys, values))
    products, _ = attend(torch.from_numpy(queries)[:, :, None], *memory, may_attend=valid[:, None, None])
    np.testing.assert_allclose(context, products[:, :, 0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size", [1e3, -1e3])
def test_large_scores_do_not_overflow(numbers: np.random.Generator, size: float) -> None:
    """All of the weight lies on the key that stands out."""
    queries = np.full((1, 1, SIZE), size, np.float32)
    keys, values = numbers.uniform(-0.1, 0.1, size=(2, 1, SOURCE, 1, SIZE)).astype(np.float32)
    keys[0, 4] = np.sign(size)
    context = np.empty((1, 1, SIZE), np.float32)
    _attend_memory(queries, np.array([0, 1]), keys, values, np.array([SOURCE]), context)
    np.testing.assert_allclose(context[0, 0], values[0, 4, 0], rtol=1e-6)


def test_not_a_bit_of_a_row_depends_on_the_others(past: Past) -> None:
    """Of a beam of three and of the hypothesis alone, in its sentence's first place."""
    past.attend()
    [row, sentence, hypothesis] = list(every_row())[-1]
    age, room = AGES[sentence], AGES[sentence] + 1
    alone = Past(np.random.default_rng(0), past.values.shape[-1])
    keys, values = (np.full((1, 1, room, *part.shape[3:]), FAR, np.float32) for part in (past.keys, past.values))
    for place, who in enumerate(past.ancestors[sentence, hypothesis, :age]):
        keys[0, 0, place], values[0, 0, place] = past.keys[sentence, who, place], past.values[sentence, who, place]
    ancestors, context = np.zeros((1, 1, room), dtype=np.int64), alone.context[:1]
    attend_past(past.joint[row : row + 1], np.array([0, 1]), keys, values, ancestors, np.array([age]), context)
    np.testing.assert_array_equal(context[0], past.context[row])
