"""What a validation on unseen text measures where tokens are guessed."""

from pathlib import Path

import pytest
import torch

from limelight.config import RunConfig
from limelight.models.families import build_model
from limelight.models.transformer.halves import MaskedModel
from limelight.preparation.plain_text import prepare_text
from limelight.training.tasks.language import Masked
from limelight.training.tasks.task import mean_loss
from tests.training.readers import masked_run


def task_of(config: RunConfig, folder: Path) -> tuple[Masked, MaskedModel]:
    prepared = prepare_text(config, folder, lambda _: None)
    model = build_model(config.model, prepared.tokenizers)
    assert isinstance(model, MaskedModel)
    return Masked(config, prepared, model), model


def test_the_loss_is_that_of_guessed_pieces_alone(tmp_path: Path, seed: int) -> None:
    task, model = task_of(masked_run(tmp_path / "text"), tmp_path / "run")
    total, pieces = 0.0, 0
    model.eval()
    with torch.inference_mode():
        for batch in task.valid_batches:
            shares = model.project(model(batch)).log_softmax(dim=-1)
            for row in range(len(batch.source)):
                for place in range(batch.source.shape[1]):
                    if batch.target_valid[row, place]:
                        total -= float(shares[row, place, batch.target_out[row, place]])
                        pieces += 1
    seen = task.validate(model.train(), "fp32")
    assert seen.loss == pytest.approx(total / pieces, rel=1e-5)
    assert seen.loss == mean_loss(model, task.valid_batches, "fp32")
    assert seen.figures == {}


def test_each_look_sees_the_same_masks_and_changes_nothing(tmp_path: Path, seed: int) -> None:
    task, model = task_of(masked_run(tmp_path / "text"), tmp_path / "run")
    again, _ = task_of(masked_run(tmp_path / "text", seed=7), tmp_path / "run")
    model.train()
    state = torch.get_rng_state()
    one, other, third = (each.validate(model, "fp32") for each in (task, task, again))
    assert one == other == third
    assert model.training
    assert torch.equal(torch.get_rng_state(), state)
