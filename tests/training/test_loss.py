"""The loss against a loop in float64 over every real place."""

import math

import pytest

from limelight.config import TransformerConfig
from limelight.models.interface import Seq2Seq
from limelight.training.optimization.loss import batch_loss
from tests.models.helpers import exact_model, random_batch

CONFIG = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=11, heads=3, head_size=2, d_ff=13)


@pytest.fixture
def model(seed: int) -> Seq2Seq:
    return exact_model(CONFIG)


def looped(model: Seq2Seq, batch, smoothing: float) -> float:
    """-sum q log p, q = (1 - e) on the true token and e / V on every token (Szegedy et al. 2016, section 7)."""
    logits = model.project(model(batch)).tolist()
    total = 0.0
    for row, valid, out in zip(logits, batch.target_valid.tolist(), batch.target_out.tolist(), strict=True):
        for scores, real, true in zip(row, valid, out, strict=True):
            if not real:
                continue
            normalizer = math.log(math.fsum(math.exp(score) for score in scores))
            for piece, score in enumerate(scores):
                wanted = smoothing / len(scores) + (1 - smoothing) * (piece == true)
                total -= wanted * (score - normalizer)
    return total


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_the_loss_is_the_sum_a_loop_gives(smoothing: float, model: Seq2Seq) -> None:
    batch = random_batch(model)
    loss = batch_loss(model, batch, label_smoothing=smoothing)
    assert loss.item() == pytest.approx(looped(model, batch, smoothing), rel=1e-5)
