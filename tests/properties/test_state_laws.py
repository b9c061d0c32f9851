"""Laws of the state that a decoder carries: sentences with hypotheses, which join, change places and leave.

One test each over every model, random and in float64. What must come out is always told by the plainest way there is:
from the source and all the pieces of each hypothesis at once.
"""

import random
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from limelight.batching.batch import pad_rows
from limelight.models.interface import Seq2Seq
from limelight.models.state import State
from tests.models.helpers import batch_of, every_model, exact_model, random_rows

MODELS = dict(every_model())
LENGTHS = (6, 1, 4, 9, 2)


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, seed: int) -> Seq2Seq:
    return exact_model(MODELS[request.param])


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


def assert_same(one: Tensor, other: Tensor) -> None:
    torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def random_sources(model: Seq2Seq, lengths: tuple[int, ...] = LENGTHS) -> list[list[int]]:
    return [[*row, model.end_id] for row in random_rows(lengths, model.source_padding + 1)]


def begun(model: Seq2Seq, sources: list[list[int]], width: int) -> State:
    return model.start(model.encode(*pad_rows(sources, model.source_padding)), width)


class Followed:
    """A state beside what each of its hypotheses has read, so that it is known what each step must give."""

    def __init__(self, model: Seq2Seq, sources: list[list[int]], width: int) -> None:
        self.model, self.width = model, width
        self.state = begun(model, sources, width)
        self.sources: list[list[int] | None] = list(sources)
        """None where a sentence is dead: what comes out there does not matter."""
        self.read: list[list[list[int]]] = [[[] for _ in range(width)] for _ in sources]

    def step(self) -> None:
        """Every hypothesis reads a piece; those that have just begun read the start."""
        for hypotheses in self.read:
            for pieces in hypotheses:
                pieces.append(int(torch.randint(1, self.model.target_padding, ())) if pieces else self.model.start_id)
        last = torch.tensor([[pieces[-1] for pieces in hypotheses] for hypotheses in self.read])
        features, self.state = self.model.step(last, self.state)
        # What was read without the start is a target; the features behind its last piece predict what comes next.
        alive = [
            (row, column, source[:-1], self.read[row][column][1:])
            for row, source in enumerate(self.sources)
            if source is not None
            for column in range(self.width)
        ]
        if alive:
            rows, columns, sources, targets = zip(*alive, strict=True)
            expected = self.model(batch_of(self.model, list(sources), list(targets)))
            last = [len(target) for target in targets]
            assert_same(features[list(rows), list(columns)], expected[torch.arange(len(last)), last])

    def reorder(self) -> None:
        parents = torch.randint(self.width, (len(self.read), self.width))
        self.state = self.state.reorder(parents)
        self.read = [
            [list(hypotheses[parent]) for parent in chosen]
            for hypotheses, chosen in zip(self.read, parents.tolist(), strict=True)
        ]

    def keep(self, rows: list[int]) -> None:
        self.state = self.state.keep(torch.tensor(rows))
        self.sources = [self.sources[row] for row in rows]
        self.read = [[list(pieces) for pieces in self.read[row]] for row in rows]

    def admit(self, sources: list[list[int]], places: list[int]) -> None:
        self.state = self.state.admit(begun(self.model, sources, self.width), torch.tensor(places))
        more = max(0, max(places) + 1 - len(self.sources))
        self.sources += [None] * more
        self.read += [[] for _ in range(more)]
        for source, place in zip(sources, places, strict=True):
            self.sources[place], self.read[place] = source, [[] for _ in range(self.width)]


@pytest.mark.parametrize("width", [1, 3])
def test_hypotheses_of_a_sentence_go_ways_of_their_own(model: Seq2Seq, width: int, seed: int) -> None:
    followed = Followed(model, random_sources(model), width)
    for _ in range(5):
        followed.step()


def test_reorder_moves_hypotheses_of_a_sentence(model: Seq2Seq, seed: int) -> None:
    followed = Followed(model, random_sources(model, (6, 1, 4)), 3)
    for _ in range(5):
        followed.step()
        followed.reorder()
    followed.step()


@pytest.mark.parametrize("width", [1, 2])
def test_keep_takes_sentences_with_their_hypotheses(model: Seq2Seq, width: int, seed: int) -> None:
    followed = Followed(model, random_sources(model), width)
    followed.keep([4, 0, 3, 1])
    followed.step()
    followed.step()
    followed.keep([2, 0, 2, 1])  # a sentence may stand there twice, and then goes two ways
    followed.step()
    followed.keep([1])
    followed.step()


@pytest.mark.parametrize("width", [1, 2])
def test_sentences_join_in_free_places_and_behind_the_last(model: Seq2Seq, width: int, seed: int) -> None:
    followed = Followed(model, random_sources(model, (4, 1)), width)
    followed.step()
    followed.admit(random_sources(model, (7,)), [2])  # longer than all that are there
    followed.step()
    followed.admit(random_sources(model, (2, 5)), [3, 0])
    followed.step()
    followed.admit(random_sources(model, (3, 3, 3, 3)), [1, 0, 2, 3])  # nobody is left of those before
    followed.step()
    followed.step()


def test_a_random_life_changes_nothing(model: Seq2Seq, seed: int) -> None:
    """Steps, and between them whatever a state can do, in an order that the seed decides."""
    random.seed(seed)
    width = random.choice((1, 2, 3))
    followed = Followed(model, random_sources(model, (3, 5)), width)
    for _ in range(10):
        followed.step()
        deed = random.choice(("reorder", "keep", "admit", "die", "nothing"))
        rows = len(followed.sources)
        if deed == "reorder":
            followed.reorder()
        elif deed == "keep":
            followed.keep(random.sample(range(rows), random.randint(1, rows)))
        elif deed == "die":
            followed.sources[random.randrange(rows)] = None
        elif deed == "admit":
            count = random.randint(1, 3)
            free = random.sample(range(rows), random.randint(0, min(rows, count)))
            places = free + list(range(rows, rows + count - len(free)))
            followed.admit(random_sources(model, tuple(random.randint(1, 8) for _ in places)), places)


def test_a_state_may_be_continued_twice(model: Seq2Seq, seed: int) -> None:
    """What one continuation writes, the other does not see."""
    state = begun(model, random_sources(model, (5, 2)), 2)
    start = torch.full((2, 2), model.start_id)
    _, state = model.step(start, state)
    ids = torch.randint(1, model.target_padding, (3, 2, 2))
    one, after_one = model.step(ids[0], state)
    other, after_other = model.step(ids[1], state)
    again, after_again = model.step(ids[0], state)
    assert_same(again, one)
    assert not torch.allclose(one, other)
    third = [model.step(ids[2], after)[0] for after in (after_one, after_other, after_again)]
    assert_same(third[2], third[0])
    assert not torch.allclose(third[1], third[0])
