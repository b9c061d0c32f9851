"""What a run measures of its model at its end, and that a failure of it is not one of the run."""

import json
from pathlib import Path

import pytest

from limelight.config import RunConfig
from limelight.pipelines.explain import Question, explain
from limelight.pipelines.load import MAX_INT8_COST, load_translator
from limelight.storage.layout import INT8_COST
from limelight.storage.tables import Int8Cost, read_table, save_table
from limelight.training import complete
from limelight.training.run import train
from tests.training.helpers import tiny_run, with_training, write_pairs


def run_with(folder: Path, valid: str) -> RunConfig:
    config = tiny_run(folder, max_steps=2, validate_every=50, bleu_sentences=0)
    corpus = config.data.valid[0].model_copy(update={"files": (valid,)})
    data = {"valid": (corpus,), "on_doubt": "warn"}  # the text is not German, as its corpus says
    return config.model_copy(update={"data": config.data.model_copy(update=data)})


def test_a_run_measures_int8_at_its_end_and_a_failed_fit_is_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("singular")

    monkeypatch.setattr(complete, "fit_examples", fail)
    config = run_with(tmp_path / "text", write_pairs(tmp_path / "valid.tsv", 130, first=500))
    assert train(config, tmp_path / "run").finished
    assert "on other text (ValueError: singular)" in capsys.readouterr().err
    assert not (tmp_path / "run/best/confidence.json").exists()
    kept = json.loads((tmp_path / "run/best/first-look.json").read_text(encoding="utf-8"))
    assert kept == explain(load_translator(tmp_path / "run"), Question(kept["sides"]["source"]["text"], "en", "de"))

    (tmp_path / "run/best/roles.json").write_text("of the weights before")
    (tmp_path / "run/best/first-look.json").write_text("likewise")
    train(with_training(config, max_steps=12), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run/best/roles.json").exists()
    assert json.loads((tmp_path / "run/best/first-look.json").read_text(encoding="utf-8")) != kept

    costs = tmp_path / "run/best" / INT8_COST
    if not costs.exists():
        return  # a machine without int8
    assert read_table(costs, Int8Cost).bleu == pytest.approx(0, abs=0.005)
    for cost, precision in ((MAX_INT8_COST, "int8"), (MAX_INT8_COST + 0.01, "fp32")):
        save_table(costs, Int8Cost(bleu=cost), {})
        assert load_translator(tmp_path / "run", precision="auto")._precision == precision
