"""Runs on plain text: what they learn, and what a validation measures."""

import math
from pathlib import Path

import pytest
import torch

from limelight.config import BatchingConfig, DataConfig, RunConfig
from limelight.models.families import build_model
from limelight.models.interface import Seq2Seq
from limelight.preparation.plain_text import prepare_text
from limelight.training.tasks.language import LanguageModeling
from tests.training.helpers import go, log_of
from tests.training.texts import ATTENTIVE, text_run


def task_of(config: RunConfig, folder: Path) -> tuple[LanguageModeling, Seq2Seq]:
    prepared = prepare_text(config, folder, lambda _: None)
    model = build_model(config.model, prepared.tokenizers)
    assert isinstance(model, Seq2Seq)
    return LanguageModeling(config, prepared, model), model


def test_the_loss_is_that_of_each_piece_after_those_before_it(tmp_path: Path, seed: int) -> None:
    """Step by step, in blocks."""
    config = text_run(tmp_path / "text")
    task, model = task_of(config, tmp_path / "run")
    model.double().eval()
    ids = torch.from_numpy(task.text.ids.astype("int64"))
    predicted, block = len(ids) - 1, config.batching.block
    total = count = 0
    with torch.no_grad():
        for first in range(0, predicted, block):
            source, valid = torch.zeros(1, 0, dtype=torch.int64), torch.zeros(1, 0, dtype=torch.bool)
            state = model.start(model.encode(source, valid))
            for place in range(first, min(first + block, predicted)):
                features, state = model.step(ids[place].view(1, 1), state)
                total -= model.project(features)[0, 0].log_softmax(-1)[ids[place + 1]].item()
                count += 1
    seen = task.validate(model, "fp32")
    assert seen.loss == pytest.approx(total / count, rel=1e-6)
    text = Path(config.data.text[0]).read_bytes()
    held_out = len(text) - int(len(text.decode()) * 0.9)
    bits = seen.loss / math.log(2) * predicted / held_out
    assert seen.figures["bits_per_byte"] == pytest.approx(bits, rel=0.02)


def test_it_learns(tmp_path: Path) -> None:
    """A text of one word over and over is known by heart after a while."""
    text = tmp_path / "text.txt"
    text.write_text("abcde " * 300, encoding="utf-8")
    settings = {"max_steps": 150, "accumulate": 1, "validate_every": 150, "learning_rate": 0.03, "average": 1}
    config = text_run(tmp_path / "unused", ATTENTIVE.model_copy(update={"dropout": 0.0}), **settings)
    changed = {"data": DataConfig(text=(str(text),)), "batching": BatchingConfig(tokens=88, block=11)}
    go(config.model_copy(update=changed), tmp_path / "run")
    (seen,) = [line for line in log_of(tmp_path / "run") if line["event"] == "validation"]
    assert seen["loss"] < 0.5  # of the first piece of a block nothing is known: log(6) / 11
    assert seen["bits_per_byte"] == pytest.approx(seen["loss"] / math.log(2), rel=0.02)
