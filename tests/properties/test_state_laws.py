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
from tests.models.helpers import every_model, exact_model, transformer

MODELS = dict(every_model())
LENGTHS = (6, 1, 4, 9, 2)


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest, seed: int) -> Seq2Seq:
    return exact_model(MODELS[request.param])


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.mark.parametrize("width", [1, 3])
def test_a_step_is_that_of_hypotheses_which_all_live(model: Seq2Seq, width: int, seed: int) -> None:
    sources = random_sources(model, LENGTHS)
    states = [begun(model, sources, width) for _ in range(2)]
    ids = torch.full((len(sources), width), model.start_id)
    features, _ = model.step(ids, states[0])
    some, _ = model.step_some(ids, states[1], Active(np.full(len(sources), width)))
    assert_same(some, features.flatten(0, 1))


def test_a_random_life_changes_nothing(model: Seq2Seq, seed: int) -> None:
    """Steps, and between them whatever a state can do, in an order that the seed decides."""
    Followed.at_random(model, seed).live(10)


def test_a_released_slot_does_not_grow_beyond_the_learned_positions(seed: int) -> None:
    model = exact_model(transformer(positions="learned", max_positions=7))
    followed = Followed(model, random_sources(model, (3,)), 1)
    for _ in range(4):
        followed.step()
    followed.admit(random_sources(model, (2,)), [1])
    followed.release([0])
    for _ in range(6):
        followed.step()
