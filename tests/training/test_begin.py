"""A run that begins with another model's weights and vocabulary."""

import shutil
from pathlib import Path

import pytest
import torch

from limelight.config import RunConfig, TransformerConfig
from limelight.interop import export_limelight
from limelight.storage.model import load_model
from limelight.storage.weights import named_weights
from limelight.training.run import train
from tests.training.helpers import go, last_weights, log_of, tiny_run, trace_of, with_training
from tests.training.readers import label_run, write_labels


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunConfig, Path]:
    folder = tmp_path_factory.mktemp("begun")
    config = tiny_run(
        folder / "text", TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=8, heads=2, d_ff=12)
    )
    go(config, folder / "run")
    return config, folder / "run"


def beginning_with(config: RunConfig, run: Path, **model: object) -> RunConfig:
    return config.model_copy(update={"begin_with": str(run), "model": config.model.model_copy(update=model)})


def test_the_first_update_begins_with_the_weights_of_the_model(begun: tuple[RunConfig, Path], tmp_path: Path) -> None:
    """At a rate of next to nothing it is still that model."""
    config, run = begun
    go(beginning_with(config, run), tmp_path / "next", learning_rate=1e-12, max_steps=1, average=1)
    theirs, ours = load_model(run), load_model(tmp_path / "next")
    for name, weight in named_weights(ours.model).items():
        torch.testing.assert_close(weight, named_weights(theirs.model)[name], atol=1e-9, rtol=0)
    assert ours.tokenizers.source.pieces(range(90)) == theirs.tokenizers.source.pieces(range(90))


def test_a_training_that_makes_it_worse_never_replaces_it(
    begun: tuple[RunConfig, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At a rate far too high every later validation is worse: the model stays the one the run began with."""
    config, run = begun
    absurd = with_training(beginning_with(config, run), learning_rate=3.0, warmup=0, best_by="loss", average=2)
    train(absurd, tmp_path / "next")
    validations = [(line["step"], line["loss"]) for line in log_of(tmp_path / "next") if line["event"] == "validation"]
    assert [step for step, _ in validations] == [0, 4, 8, 12]
    assert all(loss > validations[0][1] for _, loss in validations[1:])
    assert not any(line["chosen"] for line in log_of(tmp_path / "next") if line["event"] == "final")
    theirs, ours = load_model(run), load_model(tmp_path / "next")
    assert [name for name, weight in named_weights(ours.model).items()
            if not torch.equal(weight, named_weights(theirs.model)[name])] == []  # fmt: skip
    assert ours.notes["made_from"] == f"{run}, before the first update"
    assert f"weights | {run}, before the first update" in (tmp_path / "next" / "README.md").read_text()
    assert "update      0  validation: loss" in capsys.readouterr().err


def test_it_begins_so_once_and_then_goes_on(begun: tuple[RunConfig, Path], tmp_path: Path) -> None:
    config, run = begun
    config = beginning_with(config, run)
    go(config, tmp_path / "whole")
    go(config, tmp_path / "parts", max_steps=5)
    go(config, tmp_path / "parts")
    assert trace_of(tmp_path / "parts") == trace_of(tmp_path / "whole")
    assert last_weights(tmp_path / "parts") == last_weights(tmp_path / "whole")


@pytest.mark.parametrize("form", ["bfloat16", "int8"])
def test_a_smaller_form_is_expanded(form: str, begun: tuple[RunConfig, Path], tmp_path: Path) -> None:
    config, run = begun
    export_limelight(load_model(run), tmp_path / form, quantization=form)
    go(beginning_with(config, tmp_path / form), tmp_path / "next", max_steps=1, learning_rate=1e-12)
    theirs, ours = load_model(tmp_path / form), load_model(tmp_path / "next")
    for name, weight in named_weights(ours.model).items():
        torch.testing.assert_close(weight, named_weights(theirs.model)[name], atol=1e-9, rtol=0)
    assert ours.config.weights == "fp32"


def test_other_labels_get_a_last_layer_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As many labels in the same order would fit by name and shape, and mean something else."""
    config = label_run(tmp_path / "text")
    go(config, tmp_path / "run")
    again = config.model_copy(update={"begin_with": str(tmp_path / "run")})
    train(with_training(again, max_steps=1), tmp_path / "again")
    assert "the labels differ from" not in capsys.readouterr().err
    for side, count, first in (("train", 67, 0), ("valid", 11, 500)):
        path = Path(write_labels(tmp_path / "text" / f"{side}.tsv", count, first))
        path.write_text(path.read_text().replace("night", "cold").replace("day", "warm"))
    train(with_training(again, max_steps=1, learning_rate=1e-12), tmp_path / "other")
    told = capsys.readouterr().err
    assert f"the labels differ from the labels of {tmp_path / 'run'}: the last layer begins with random weights" in told
    assert "; new are output.bias, output.weight" in told
    lent, found = (load_model(tmp_path / name).model.state_dict() for name in ("run", "other"))
    assert (lent["output.weight"] - found["output.weight"]).abs().max() > 0.01
    torch.testing.assert_close(found["encoder.embedding.weight"], lent["encoder.embedding.weight"], atol=1e-6, rtol=0)


def test_the_card_says_where_model_and_vocabulary_come_from(begun: tuple[RunConfig, Path], tmp_path: Path) -> None:
    """Down to the page of an imported model, whose license must not get lost; also when the parents are gone."""
    config, run = begun
    parent = tmp_path / "opus-mt"
    shutil.copytree(run / "best", parent)
    (parent / "README.md").write_text("# opus-mt: imported from opus-mt\n\nlicense: CC-BY 4.0\n", encoding="utf-8")
    go(beginning_with(config, parent), tmp_path / "first", max_steps=4)
    go(beginning_with(config, tmp_path / "first"), tmp_path / "second", max_steps=4)
    shutil.rmtree(parent)
    shutil.rmtree(tmp_path / "first")
    go(beginning_with(config, tmp_path / "first"), tmp_path / "second", max_steps=12, average=1)
    card = (tmp_path / "second" / "README.md").read_text(encoding="utf-8")
    assert card == (tmp_path / "second" / "best" / "README.md").read_text(encoding="utf-8")
    own, first, imported = card.split("\n---\n")
    assert f"| vocabulary | bpe, 91 ids, taken from {tmp_path / 'first'} |" in own
    assert f"| began with | {tmp_path / 'first'} (en -> de: a model of the family transformer) |" in own
    assert "(opus-mt: imported from opus-mt) |" in first
    assert "license: CC-BY 4.0" in imported
