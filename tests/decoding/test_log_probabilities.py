"""A hypothesis knows how probable the model found each of its tokens."""

import random

import pytest

from limelight.decoding.request import Request, SearchSettings
from limelight.decoding.sampling import Sampling
from tests.decoding.decode import decode_batch
from tests.decoding.fakes import log_probabilities, random_model

SETTINGS = {
    "greedy": SearchSettings(),
    "beam": SearchSettings(beam_size=4, n_best=3, length_penalty=1.0),
    "drawn": SearchSettings(sampling=Sampling(0.7, top_k=5, top_p=0.9, seed=3), n_best=3),
}


@pytest.mark.parametrize("how", SETTINGS)
def test_each_token_has_its_own(seed: int, how: str) -> None:
    """Requests of different lengths join and leave; some are cut, others end."""
    draw = random.Random(seed)
    model = random_model(60, 7)
    model.logits[..., 0] -= 1
    requests = [Request([kind], draw.randint(0, 12), SETTINGS[how], prefix=(3, 2)[: kind % 3]) for kind in range(60)]
    ended = set()
    for request, found in zip(requests, decode_batch(model, requests), strict=True):
        assert how != "drawn" or found == sorted(found, key=lambda sample: -sample.score)
        for hypothesis in found:
            if how == "drawn":  # forced tokens do not count
                assert hypothesis.score == pytest.approx(sum(hypothesis.log_probabilities[len(request.prefix) :]))
            assert hypothesis.finished or len(hypothesis.ids) == request.limit
            ids = [*hypothesis.ids, 0][: len(hypothesis.ids) + hypothesis.finished]
            assert hypothesis.log_probabilities == pytest.approx(log_probabilities(model, request.source[0], ids))
            assert sum(hypothesis.log_probabilities) == pytest.approx(hypothesis.log_probability)
            ended.add(hypothesis.finished)
    assert ended == {True, False}
