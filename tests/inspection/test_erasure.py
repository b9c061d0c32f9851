"""Erasures against a plain loop over sources and steps."""

import numpy as np
import pytest
import torch

from limelight.inspection.erasure import MIN_DROP, TokenizedPair, erasures, needed_words
from tests.models.helpers import batch_of, every_model, exact_model, random_rows

MODELS = [(name, config) for name, config in every_model() if config.family in ("transformer", "recurrent")]


@pytest.mark.parametrize(("name", "config"), MODELS[::3], ids=[name for name, _ in MODELS[::3]])
def test_each_row_is_the_loss_without_one_word(seed, name, config):
    model = exact_model(config)
    (source, target) = random_rows((6, 4), 28)
    words = [[0], [0], [1], [1, 2], [], [3]]
    found = erasures(model, TokenizedPair(source, target, words, (), (5, 0)))
    assert found.shape == (5, 4)

    def log_probabilities(ids: list[int]) -> np.ndarray:
        features = model.forward(batch_of(model, [ids], [target]))
        logits = model.project(features)[0, : len(target)]
        return torch.log_softmax(logits, dim=-1)[range(len(target)), target].detach().numpy()

    whole = log_probabilities(source)
    for word in range(5):
        rest = [token for token, of in zip(source, words, strict=True) if word not in of]
        np.testing.assert_allclose(found[word], whole - log_probabilities(rest), atol=1e-5)
    assert (found[4] == 0).all()  # a word without tokens


def test_the_word_that_is_needed_most_has_the_largest_drop(seed):
    model = exact_model(MODELS[0][1])
    (source, target) = random_rows((6, 5), 28)
    rows = TokenizedPair(source, target, [[], [0], [0], [1], [2], [3]], (), (4, 0))
    drops = erasures(model, rows)
    found = needed_words(model, rows)
    assert len(found) == 6
    assert found[-1] == []
    tokens = [[1, 2], [3], [4], [5]]
    for column, named in zip(drops.T, found[:-1], strict=True):
        assert named == (tokens[int(column.argmax())] if column.max() >= MIN_DROP else [])
