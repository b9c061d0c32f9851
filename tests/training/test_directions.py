"""The directions of a run that begins with a model of several: it keeps them and their language tags."""

import math
from pathlib import Path
from typing import Any

import pytest

from limelight.config import Corpus, DataConfig, Direction, RunConfig, directions_of, load_config
from limelight.config.recipes import finetune
from limelight.evaluation.evaluate import evaluate
from limelight.pipelines.load import load_translator
from limelight.text.pair import Pair
from limelight.training.parent import named_as_in, resolve_directions, untrained_directions
from limelight.training.run import train
from tests.cli.corpora import reversing_run, words, write_pairs
from tests.training.helpers import log_of, with_training

EN_DE, DE_EN = Direction("en", "de"), Direction("de", "en")


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It translates en-de and de-en."""
    return reversing_run(tmp_path_factory.mktemp("parent"), both=True)


def child_of(parent: Path, folder: Path, **data: Any) -> RunConfig:
    """One update on text from English to German."""
    corpora = {
        name: (
            Corpus(files=(str(write_pairs(folder / f"{name}.tsv", words(90, seed=seed))),), source="en", target="de"),
        )
        for name, seed in (("train", 91), ("valid", 92))
    }
    config = finetune(load_config(parent / "best" / "config.yaml"))
    config = config.model_copy(update={"begin_with": str(parent), "data": DataConfig(**{**corpora, **data})})
    return with_training(config, max_steps=1, device="cpu", precision="fp32")


def test_the_first_validation_is_that_of_the_parent(
    parent: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the language tag was dropped, as the new text is of one direction: BLEU 36.3 became 0.4."""
    config = child_of(parent, tmp_path)
    train(config, tmp_path / "run")
    first = log_of(tmp_path / "run")[0]
    lines = Path(config.data.valid[0].files[0]).read_text(encoding="utf-8").splitlines()
    pairs = [Pair(*line.split("\t"), "valid.tsv", number) for number, line in enumerate(lines, start=1)]
    model = load_translator(parent, precision="fp32")
    found = evaluate(model, pairs, direction=EN_DE, beam_size=1, guards=False)
    assert (first["event"], first["step"]) == ("validation", 0)
    assert first["bleu"] == pytest.approx(found.bleu.score, abs=1e-6)
    assert first["chrf"] == pytest.approx(found.chrf.score, abs=1e-6)
    assert first["loss"] == pytest.approx(math.log(found.perplexity), rel=1e-4)
    assert first["chrf"] > 50  # the parent can do it
    said = capsys.readouterr().err
    assert f"the model keeps the other directions of {parent}" in said
    assert "de-en (--train de-en=FILE keeps one)" in said.replace("\n", " ")


def test_the_new_model_has_all_directions_of_the_parent(parent: Path, tmp_path: Path) -> None:
    config = child_of(parent, tmp_path)
    train(config, tmp_path / "run", quiet=True)
    found = load_translator(tmp_path / "run")
    assert found.directions == (EN_DE, DE_EN)
    assert found.translate("ABC", source_lang="de", target_lang="en", lines=True).text
    stored = load_config(tmp_path / "run/best/config.yaml")
    assert stored.data.inherited == (EN_DE, DE_EN)
    assert untrained_directions(stored) == (DE_EN,)
    assert "| directions kept | de-en: of the model it began with" in (tmp_path / "run/README.md").read_text("utf-8")
    again = child_of(tmp_path / "run", tmp_path, train=config.data.train)
    assert resolve_directions(again, tmp_path / "new").data.inherited == (EN_DE, DE_EN)
    # It is resumed with the same settings, also when its parent is gone.
    gone = config.model_copy(update={"begin_with": str(parent)})
    assert train(with_training(gone, max_steps=2), tmp_path / "run", quiet=True).step == 2


def test_text_in_a_variety_gets_the_tag_of_the_language(tmp_path: Path) -> None:
    data = DataConfig(train=(Corpus(files=("a.tsv",), source="en", target="de"),), both_directions=True)
    parent = RunConfig(data=data)
    pairs, memory = write_pairs(tmp_path / "b.tsv", words(9, seed=1)), tmp_path / "b.tmx"
    unit = '<tu><tuv xml:lang="en-US"><seg>dog</seg></tuv><tuv xml:lang="de"><seg>Hund</seg></tuv></tu>'
    memory.write_text(f'<tmx version="1.4"><header/><body>{unit}</body></tmx>')
    new = (
        Corpus(files=(str(pairs),), source="en-US", target="de-AT"),
        Corpus(files=(str(memory),), source="en-US", target="de"),
        Corpus(files=(str(pairs),), target="de"),
        Corpus(files=(str(pairs),)),
    )
    named = named_as_in(parent, new)
    assert (named[0].source, named[0].target) == ("en", "de")
    assert named[1] == new[1]  # here it says which segments are read
    assert (named[2].source, named[2].target) == ("en", "de")  # the only direction with this target
    assert named[3] == new[3]  # several fit; a run refuses it


def test_text_without_names_is_in_the_only_direction_that_is_named(tmp_path: Path) -> None:
    """Before it got a tag of its own, <2target>, that nothing else uses."""
    named = write_pairs(tmp_path / "a.tsv", words(90, seed=9))
    unnamed = write_pairs(tmp_path / "b.tsv", words(90, seed=10))
    corpora = (Corpus(files=(str(unnamed),)), Corpus(files=(str(named),), source="en", target="de"))
    for data in (DataConfig(train=corpora), DataConfig(train=corpora[:1], valid=corpora[1:])):
        resolved = resolve_directions(RunConfig(data=data), tmp_path / "run")
        assert directions_of(resolved.data) == (EN_DE,)
