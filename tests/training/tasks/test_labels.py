"""What a validation on unseen text measures where labels are chosen."""

from pathlib import Path

import pytest
import torch

from limelight.config import BatchingConfig, EncoderOnlyConfig, RunConfig
from limelight.errors import UserError
from limelight.evaluation.labels import score_labels
from limelight.models.families import build_model
from limelight.models.transformer import halves
from limelight.pipelines.encoders import Classifier
from limelight.preparation.pairs import Prepared, prepare
from limelight.training.preflight import check_run
from limelight.training.tasks.language import Labels
from tests.training.readers import READING, label_run


def task_of(config: RunConfig, folder: Path) -> tuple[Labels, halves.Classifier, Prepared]:
    prepared = prepare(config, folder, lambda _: None)
    model = build_model(config.model, prepared.tokenizers, prepared.labels)
    assert isinstance(model, halves.Classifier)
    return Labels(config, prepared, model), model, prepared


def test_figures_are_those_of_what_the_model_answers(tmp_path: Path, seed: int) -> None:
    task, model, prepared = task_of(label_run(tmp_path / "text"), tmp_path / "run")
    assert len(task.valid_batches) > 1
    answers = Classifier(model, prepared.tokenizers.source).classify([pair.source for pair in prepared.valid[0]])
    truth = [prepared.labels.index(pair.target) for pair in prepared.valid[0]]
    scores = score_labels(prepared.labels, truth, [prepared.labels.index(each.label) for each in answers])
    loss = -sum(
        torch.tensor(each.probabilities[pair.target]).log().item()
        for each, pair in zip(answers, prepared.valid[0], strict=True)
    )
    seen = task.validate(model.train(), "fp32")
    assert seen.loss == pytest.approx(loss / len(answers), rel=1e-4)
    assert seen.figures == {"accuracy": scores.accuracy, "macro_f1": scores.macro_f1}
    assert seen.score("macro_f1") == scores.macro_f1


def test_texts_longer_than_the_model_learns_places_for_are_refused(tmp_path: Path) -> None:
    model = EncoderOnlyConfig(**{**READING.model_dump(), "positions": "learned", "max_positions": 9})
    config = label_run(tmp_path / "text", model)
    with pytest.raises(UserError, match=r"batching\.max_length=256 is more than the 9 positions the model learns"):
        check_run(config, tmp_path / "run")
    (tmp_path / "text" / "valid.tsv").write_text("sun 1\tday\nsun sun sun owl owl owl 2\tday\n", encoding="utf-8")
    short = config.model_copy(update={"batching": BatchingConfig(tokens=90, max_length=9)})
    with pytest.raises(UserError, match=r"valid\.tsv:2: this text for validation has \d+ tokens with its end"):
        task_of(short, tmp_path / "run")
