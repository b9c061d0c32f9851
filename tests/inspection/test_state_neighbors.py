"""Neighbors of decoder states, against a loop over all pairs of positions."""

import numpy as np
import pytest
import torch

from limelight.inspection.state_neighbors import neighbors
from tests.models.helpers import batch_of, make_model, random_rows, recurrent, transformer


@pytest.mark.parametrize("config", [transformer(), recurrent()], ids=["transformer", "recurrent"])
def test_the_nearest_are_those_of_a_loop(seed, monkeypatch, config):
    monkeypatch.setattr("limelight.inspection.state_neighbors.PAIRS", 3)
    model = make_model(config).eval()
    sample = [tuple(random_rows((5, length), 28)) for length in (1, 7, 4, 6, 3, 2, 5)]
    pair = tuple(random_rows((6, 4), 28))

    def states(source, target):
        with torch.no_grad():
            features = model.forward(batch_of(model, [source], [target]))[0].double().numpy()
        return [row / np.linalg.norm(row) for row in features]

    found = neighbors(model, pair, sample, count=4)
    assert len(found) == 5
    for state, near in zip(states(*pair), found, strict=True):
        every = [
            (float(state @ other), number, place)
            for number, each in enumerate(sample)
            for place, other in enumerate(states(*each))
        ]
        expected = sorted(every, reverse=True)[:4]
        assert [each[1:] for each in near] == [each[1:] for each in expected]
        np.testing.assert_allclose([each.similarity for each in near], [each[0] for each in expected], atol=1e-5)


def test_a_pair_of_the_sample_is_its_own_neighbor(seed):
    model = make_model(transformer()).eval()
    sample = [tuple(random_rows((5, 4), 28)) for _ in range(6)]
    for place, near in enumerate(neighbors(model, sample[3], sample, count=1)):
        assert near[0][1:] == (3, place)
        assert near[0].similarity == pytest.approx(1, abs=1e-5)
