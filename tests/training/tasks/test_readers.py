"""Runs of encoders and on text go on bit for bit; what encoders learn, and what becomes of them."""

from pathlib import Path

import pytest
import torch

from limelight.config import RunConfig
from limelight.pipelines.load import load_classifier, load_mask_filler
from limelight.storage.model import load_model
from limelight.training.examine import examine_run
from tests.training.helpers import go, last_weights, log_of, trace_of
from tests.training.readers import READING, label_run, masked_run
from tests.training.texts import text_run

RUNS = {"masked": masked_run, "labels": label_run, "text": text_run}
Whole = tuple[RunConfig, Path]


@pytest.fixture(scope="module", params=RUNS)
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A run that was never interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    config = RUNS[request.param](folder / "text")
    go(config, folder / "run")
    return config, folder / "run"


@pytest.mark.parametrize("stops", [[2, 2, 11], pytest.param([1, 3, 4], marks=pytest.mark.slow)])
def test_stopping_at_a_bound_and_going_on(stops: list[int], whole: Whole, tmp_path: Path) -> None:
    config, run = whole
    for stop in stops:
        go(config, tmp_path / "run", max_steps=stop)
    go(config, tmp_path / "run")
    assert {line["epoch"] for line in log_of(run)} > {0}
    assert trace_of(tmp_path / "run") == trace_of(run)
    assert last_weights(tmp_path / "run") == last_weights(run)


def test_a_masked_model_learns_which_word_follows_which(tmp_path: Path) -> None:
    model = READING.model_copy(update={"dropout": 0.0, "d_model": 32, "d_ff": 64, "layers": 2})
    config = masked_run(tmp_path / "text", model, learning_rate=1e-2, max_steps=150, warmup=10, validate_every=150,
                        accumulate=1, average=1)  # fmt: skip
    lines = ["sun rises and moon sets", "moon rises and sun sets"] * 60
    (tmp_path / "text" / "text.txt").write_text("\n".join(lines), encoding="utf-8")
    batching = config.batching.model_copy(update={"tokens": 700})
    go(config.model_copy(update={"batching": batching}), tmp_path / "run")
    filler = load_mask_filler(tmp_path / "run")
    for text, word in (("sun [MASK] and moon sets", "rises"), ("moon rises and sun [MASK]", "sets"),
                       ("[MASK] rises and moon sets", "sun"), ("[MASK] rises and sun sets", "moon")):  # fmt: skip
        assert filler.fill(text).masks[0][0].text == word, text


def test_a_classifier_learns_its_labels(tmp_path: Path) -> None:
    model = READING.model_copy(update={"dropout": 0.0, "d_model": 32, "d_ff": 64})
    config = label_run(tmp_path / "text", model, learning_rate=1e-2, max_steps=60, warmup=10, validate_every=60)
    go(config, tmp_path / "run")
    (seen,) = [line for line in log_of(tmp_path / "run") if line["event"] == "validation"]
    assert seen["accuracy"] == seen["macro_f1"] == 100
    classifier = load_classifier(tmp_path / "run")
    assert [each.label for each in classifier.classify(["moon sun 1", "moon star owl 2"])] == ["day", "night"]
    assert examine_run(tmp_path / "run")[-1].startswith("the run has no sentence pairs for validation")


def test_a_classifier_begins_with_the_encoder_of_a_masked_model(tmp_path: Path) -> None:
    masked = masked_run(tmp_path / "plain")
    go(masked, tmp_path / "masked")
    config = label_run(tmp_path / "text")
    config = config.model_copy(update={"begin_with": str(tmp_path / "masked"), "tokens": masked.tokens})
    go(config, tmp_path / "run", max_steps=1, learning_rate=1e-12)
    lent, found = (load_model(tmp_path / name).model.state_dict() for name in ("masked", "run"))
    shared = [name for name in lent if name.startswith("encoder.")]
    assert len(shared) == len(lent) - 1
    for name in shared:
        torch.testing.assert_close(found[name], lent[name], atol=1e-6, rtol=0)
