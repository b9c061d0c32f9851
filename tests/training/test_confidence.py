"""The confidence that a run fits at its end, and that a failure of it is not one of the run."""

import json
from pathlib import Path

import numpy as np
import pytest

from limelight.config import RunConfig
from limelight.evaluation import confidence as fitted
from limelight.pipelines.load import load_translator
from limelight.training import confidence
from limelight.training.run import train
from tests.training.helpers import NUMBERS, go, tiny_run, write_pairs

SIGNS = "一二三四五六七八九十零"


def run_with(folder: Path, valid: str) -> RunConfig:
    config = tiny_run(folder, max_steps=2, validate_every=50, bleu_sentences=0)
    corpus = config.data.valid[0].model_copy(update={"files": (valid,)})
    data = {"valid": (corpus,), "on_doubt": "warn"}  # the text is not German, as its corpus says
    return config.model_copy(update={"data": config.data.model_copy(update=data)})


def test_a_run_whose_translations_have_no_words_ends_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After two updates into Chinese (before: a traceback at the end of the run)."""
    monkeypatch.setattr(fitted, "MIN_OF_KIND", 0)
    path = tmp_path / "valid.tsv"
    draw = np.random.default_rng(2)
    lines = []
    for _ in range(130):
        row = draw.integers(0, 11, size=int(draw.integers(2, 9))).tolist()
        lines.append(f"{' '.join(NUMBERS[each] for each in row)}\t{''.join(SIGNS[each] for each in row)}\n")
    path.write_text("".join(lines), encoding="utf-8")
    go(run_with(tmp_path / "text", str(path)), tmp_path / "run")
    stored = json.loads((tmp_path / "run/best/confidence.json").read_text(encoding="utf-8"))
    assert list(stored["sentence"]) == [""]
    assert stored["word"] == {}
    found = load_translator(tmp_path / "run").translate("one two", lines=True)
    assert found.confidence is not None


def test_a_failed_fit_is_a_line_and_not_a_failed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("singular")

    monkeypatch.setattr(confidence, "fit_examples", fail)
    config = run_with(tmp_path / "text", write_pairs(tmp_path / "valid.tsv", 130, first=500))
    assert train(config, tmp_path / "run").finished
    assert "the confidence of the model could not be fitted (ValueError: singular)" in capsys.readouterr().err
    assert not (tmp_path / "run/best/confidence.json").exists()


def test_a_damaged_file_does_not_stop_a_model_from_loading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitted, "MIN_OF_KIND", 0)
    config = run_with(tmp_path / "text", write_pairs(tmp_path / "valid.tsv", 130, first=500))
    go(config, tmp_path / "run")
    path = tmp_path / "run/best/confidence.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    values["sentence"][""]["weights"][4] = 1.1e9
    path.write_text(json.dumps(values), encoding="utf-8")
    with pytest.warns(UserWarning, match=r"confidence.json.*weights.4: .*less than.*translations have no confidence"):
        translator = load_translator(tmp_path / "run")
    assert translator.confidence is None
    assert translator.translate("one two", lines=True).confidence is None
