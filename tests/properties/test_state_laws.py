"""Laws of the state that a decoder carries: sentences with hypotheses, which join, change places and leave.

One test each over every model, random and in float64. What must come out is always told by the plainest way there is:
from the source and all the tokens of each hypothesis at once.
"""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from limelight.models.interface import Active, Seq2Seq
from tests.models.followed import Followed, assert_same, begun, random_sources
from tests.models.helpers import every_model, exact_model

MODELS = dict(every_model())
LENGTHS = (6, 1, 4, 9, 2)


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, seed: int) -> Seq2Seq:
    return exact_model(MODELS[request.param])


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 3])
def test_hypotheses_of_a_sentence_go_ways_of_their_own(model: Seq2Seq, width: int, seed: int) -> None:
    followed = Followed(model, random_sources(model, LENGTHS), width)
    for _ in range(5):
        followed.step()


@pytest.mark.slow
def test_reorder_moves_hypotheses_of_a_sentence(model: Seq2Seq, seed: int) -> None:
    followed = Followed(model, random_sources(model, (6, 1, 4)), 3)
    for _ in range(5):
        followed.step()
        followed.reorder()
    followed.step()


@pytest.mark.slow
def test_hypotheses_that_are_pruned_change_no_other(model: Seq2Seq, seed: int) -> None:
    followed = Followed(model, random_sources(model, LENGTHS), 4)
    for _ in range(4):
        followed.step()
        followed.thin()
        followed.step()
        followed.reorder()


@pytest.mark.parametrize("width", [1, 3])
def test_a_step_is_that_of_hypotheses_which_all_live(model: Seq2Seq, width: int, seed: int) -> None:
    sources = random_sources(model, LENGTHS)
    states = [begun(model, sources, width) for _ in range(2)]
    ids = torch.full((len(sources), width), model.start_id)
    features, _ = model.step(ids, states[0])
    some, _ = model.step_some(ids, states[1], Active(np.full(len(sources), width)))
    assert_same(some, features.flatten(0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1, 2])
def test_keep_takes_sentences_with_their_hypotheses(model: Seq2Seq, width: int, seed: int) -> None:
    followed = Followed(model, random_sources(model, LENGTHS), width)
    followed.keep([4, 0, 3, 1])
    followed.step()
    followed.step()
    followed.keep([2, 0, 2, 1])  # a sentence may stand there twice, and then goes two ways
    followed.step()
    followed.keep([1])
    followed.step()


@pytest.mark.slow
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
    Followed.at_random(model, seed).live(10)
