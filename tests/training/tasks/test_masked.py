"""What a validation on unseen text measures where tokens are guessed."""

from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from limelight.config import EncoderOnlyConfig, RunConfig
from limelight.errors import UserError
from limelight.models.families import build_model
from limelight.models.transformer.halves import MaskedModel
from limelight.preparation.plain_text import prepare_text
from limelight.training.tasks.language import Masked
from limelight.training.tasks.task import mean_loss
from tests.training.readers import READING, masked_run

CPU = torch.device("cpu")


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
    seen = task.validate(model.train(), precision="fp32", device=CPU)
    assert seen.loss == pytest.approx(total / pieces, rel=1e-5)
    assert seen.loss == mean_loss(model, task.valid_batches, autocast=nullcontext(), device=CPU)
    assert seen.figures == {}


def test_each_look_sees_the_same_masks_and_changes_nothing(tmp_path: Path, seed: int) -> None:
    task, model = task_of(masked_run(tmp_path / "text"), tmp_path / "run")
    again, _ = task_of(masked_run(tmp_path / "text", seed=7), tmp_path / "run")
    model.train()
    state = torch.get_rng_state()
    one, other, third = (each.validate(model, precision="fp32", device=CPU) for each in (task, task, again))
    assert one == other == third
    assert model.training
    assert torch.equal(torch.get_rng_state(), state)


def test_the_example_is_a_line_with_its_masks_and_what_the_model_says(tmp_path: Path, seed: int) -> None:
    task, model = task_of(masked_run(tmp_path / "text"), tmp_path / "run")
    example = dict(task.validate(model, precision="fp32", device=CPU).example)
    assert list(example) == ["masked", "text", "model"]
    lines = (tmp_path / "text" / "text.txt").read_text().splitlines()
    assert any(example["text"] in line for line in lines)
    assert example["masked"] != example["text"]


def test_training_hides_other_pieces_in_each_epoch(tmp_path: Path) -> None:
    from itertools import islice

    from limelight.batching.stream import Position

    task, _ = task_of(masked_run(tmp_path / "text"), tmp_path / "run")
    assert task.amount == f"{len(task.stream):,} lines of text"
    batches = [batch for batch, _ in islice(task.stream.batches(Position()), 5)]
    assert all(batch.target_in.shape[1] == 0 for batch in batches)
    assert any((batch.source != batch.target_out).any() for batch in batches)
    assert all((batch.source == batch.target_out)[~batch.target_valid].all() for batch in batches)


def test_without_unseen_text_nothing_is_validated(tmp_path: Path) -> None:
    config = masked_run(tmp_path / "text")
    config = config.model_copy(update={"data": config.data.model_copy(update={"held_out": 0.0})})
    assert not task_of(config, tmp_path / "run")[0].validates


def test_rows_longer_than_the_model_learns_places_for_are_refused(tmp_path: Path) -> None:
    model = EncoderOnlyConfig(**{**READING.model_dump(), "positions": "learned", "max_positions": 30})
    with pytest.raises(UserError, match=r"batching\.max_length=256 is more than the 30 positions the model learns"):
        task_of(masked_run(tmp_path / "text", model), tmp_path / "run")
