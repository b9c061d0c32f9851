"""The confidence that a run fits at its end, and that a failure of it is not one of the run."""

from pathlib import Path

import pytest

from limelight.config import RunConfig
from limelight.training import confidence
from limelight.training.run import train
from tests.training.helpers import tiny_run, write_pairs


def run_with(folder: Path, valid: str) -> RunConfig:
    config = tiny_run(folder, max_steps=2, validate_every=50, bleu_sentences=0)
    corpus = config.data.valid[0].model_copy(update={"files": (valid,)})
    data = {"valid": (corpus,), "on_doubt": "warn"}  # the text is not German, as its corpus says
    return config.model_copy(update={"data": config.data.model_copy(update=data)})


def test_a_failed_fit_is_a_line_and_not_a_failed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("singular")

    monkeypatch.setattr(confidence, "fit_examples", fail)
    config = run_with(tmp_path / "text", write_pairs(tmp_path / "valid.tsv", 130, first=500))
    assert train(config, tmp_path / "run").finished
    assert "on other text (ValueError: singular)" in capsys.readouterr().err
    assert not (tmp_path / "run/best/confidence.json").exists()
