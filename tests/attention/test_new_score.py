"""A score of one's own: one class and one row in the registry, for recurrent models and for multi-head attention."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from limelight.attention.scores import Score
from limelight.config import ModelConfig, config_from
from limelight.config.models import SCORES
from limelight.errors import UserError
from limelight.inference.prepare import prepare
from limelight.inspection.probe import probe
from limelight.training.optimization.loss import batch_loss
from tests.decoding.decode import beam_search
from tests.models.helpers import DECODER_ONLY, RECURRENT, TRANSFORMER, make_model, random_batch


class Cosine(Score):
    """The cosine of the angle between query and key, times a learned factor (Graves et al. 2014, section 3.3.1)."""

    def __init__(self, query_size: int, key_size: int, hidden: int) -> None:
        super().__init__(query_size, key_size, hidden)
        self.sharpness = nn.Parameter(torch.tensor(5.0))

    def prepare(self, keys: Tensor) -> Tensor:
        return functional.normalize(keys, dim=-1)

    def compare(self, queries: Tensor, prepared: Tensor) -> Tensor:
        return self.sharpness * functional.normalize(queries, dim=-1) @ prepared.transpose(-2, -1)


MODELS = {
    "bahdanau": {"family": "recurrent", **RECURRENT},
    "luong": {"family": "recurrent", "wiring": "luong", **RECURRENT},
    "transformer": {"family": "transformer", **TRANSFORMER},
    "rotary": {"family": "transformer", "positions": "rotary", "value_size": 3, **TRANSFORMER},
    "decoder-only": {"family": "decoder_only", **DECODER_ONLY},
}


def configured(name: str) -> ModelConfig:
    return config_from({"model": {**MODELS[name], "score": "cosine", "dropout": 0.0}}).model


@pytest.fixture
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCORES.parts, "cosine", f"{__name__}:Cosine")


@pytest.mark.usefixtures("_registered")
@pytest.mark.parametrize("name", MODELS)
def test_a_new_score_trains_and_decodes(name: str, seed: int) -> None:
    model = make_model(configured(name))
    scores = [part for part in model.modules() if isinstance(part, Score)]
    assert scores
    assert all(type(score) is Cosine for score in scores)
    batch, optimizer = random_batch(model), torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(20):
        loss = batch_loss(model, batch, label_smoothing=0.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    assert all(score.sharpness.item() != 5 for score in scores)

    model.eval()
    with probe(model, weights=True) as seen:
        torch.testing.assert_close(model(batch), model(batch), rtol=1e-5, atol=1e-5)
    assert seen.layers("cross") or seen.layers("decoder_self")
    with torch.inference_mode():
        expected, found = (
            beam_search(one, batch.source, batch.source_valid, beam_size=3, max_lengths=torch.tensor([6, 6, 6]))
            for one in (model, prepare(model, "fp32"))
        )
    assert [[one.ids for one in each] for each in found] == [[one.ids for one in each] for each in expected]


def test_without_its_row_the_score_is_unknown() -> None:
    with pytest.raises(UserError, match=r"model.score: must be one of dot, scaled_dot, .*additive, .* not .cosine."):
        configured("transformer")
