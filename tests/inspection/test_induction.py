"""Induction scores, of a model whose weights are written by hand."""

import numpy as np
import pytest
import torch

from limelight.attention.scores import Dot, PositionalScore
from limelight.batching.batch import make_blocks
from limelight.errors import UserError
from limelight.inspection.induction import induction_scores
from tests.models.helpers import attention_of, decoder_only, make_model, recurrent_language_model

VOCABULARY = 65


class Previous(PositionalScore):
    """Attends to the position before."""

    def compare_at(self, queries, prepared, query_positions, key_positions):
        return 100.0 * (key_positions == query_positions - 1).float()


def planted():
    """Layer 0 writes the previous token beside each token; layer 1 looks for the current token among these."""
    width = VOCABULARY - 1
    sizes = {"d_model": 2 * width, "heads": 1, "head_size": width, "d_ff": 2, "norm": "pre", "positions": "none"}
    model = make_model(decoder_only(layers=2, **sizes, dropout=0.0), target_size=VOCABULARY).eval()
    here, before = torch.eye(width, 2 * width), torch.eye(2 * width)[width:]
    with torch.no_grad():
        for parameter in model.decoder.layers.parameters():
            parameter.zero_()
        for layer in model.decoder.layers:
            layer.attention_sublayer.norm.weight.fill_(1.0)
        model.decoder.embedding.weight[:width] = here
        first, second = (layer.attention for layer in model.decoder.layers)
        first.score, second.score = Previous(), Dot()
        first.value_proj.weight.copy_(here)
        first.out_proj.weight.copy_(before.T)
        second.query_proj.weight.copy_(here)
        second.key_proj.weight.copy_(before)
    return model


def test_a_planted_induction_head_is_found():
    model = planted()
    scores = induction_scores(model, length=8, rows=8)
    assert scores.shape == (2, 1)
    assert scores[1, 0] > 0.7, "random tokens may occur twice"
    assert scores[0, 0] < 0.05, "it looks at the position before"
    model.decoder.layers[0].attention.score = Dot()
    assert induction_scores(model, length=8, rows=8)[1, 0] < 0.3, "nothing is written beside the tokens"


def test_scores_are_means_of_single_weights(seed):
    torch.manual_seed(seed)
    model = make_model(decoder_only()).double().eval()
    scores = induction_scores(model, length=5, rows=3, seed=seed)
    drawn = np.random.default_rng(seed).integers(4, 28, size=(3, 5))
    total = np.zeros(scores.shape)
    for row in drawn:
        ids = np.array([[model.end_id, *row, *row, model.end_id]])
        weights = attention_of(model, make_blocks(ids))
        for layer, values in enumerate(weights.layers("decoder_self")):
            for place in range(5):
                total[layer] += values[0, :, 6 + place, 2 + place].detach().numpy()
    np.testing.assert_allclose(scores, total / 15, atol=1e-6)


def test_what_cannot_be_measured_is_refused():
    with pytest.raises(UserError, match="no attention"):
        induction_scores(make_model(recurrent_language_model()))
    with pytest.raises(UserError, match="length=25: this model takes at most 18"):
        induction_scores(make_model(decoder_only(positions="learned", max_positions=37)))
