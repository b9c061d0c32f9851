"""`limelight train`: begin, go on, stop, side constraints, and every mistake."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from limelight.cli.corpora import with_settings
from limelight.config import RunConfig, TrainingConfig, load_config
from limelight.recipes import RECIPES, find_recipe
from limelight.training.report import Report
from tests.cli.conftest import Limelight, settings


def test_a_run_says_what_it_does_and_goes_on(limelight: Limelight, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    text = ["--train", corpus / "train.tsv", "--valid", corpus / "valid.tsv"]
    begin = ["train", *text, "--source", "en", "--target", "lumi", "--recipe", "tiny", *settings(), "--out", run]
    ended = limelight(*begin, "--max-steps", 3)
    assert (ended.code, ended.out) == (0, "")
    assert "150 of 150 pairs kept" in ended.err
    first = (corpus / "train.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")
    assert f"train.tsv:1: en: {first[0]} -> lumi: {first[1]}\n" in ended.err
    assert f"done: training.max_steps=3 updates are done; the model is in {run / 'best'}" in ended.err
    assert load_config(run / "config.yaml").data.train[0].target == "lumi"

    assert "nothing left to do" in limelight("train", "--out", run).err
    ended = limelight("train", "--out", run, "--max-steps", 4)
    assert ended.code == 0
    assert "going on after update 3" in ended.err
    # with its text but without its recipe it is still the same run, and so it is with everything
    assert "going on after update 4" in limelight("train", *text, "--source", "en", "--target", "lumi", "--out", run,
                                                  "--max-steps", 5).err  # fmt: skip
    assert "going on after update 5" in limelight(*begin, "--max-steps", 6).err

    ended = limelight("train", "--out", run, "--set", "model.d_ff=24", "--max-steps", 9)
    assert (ended.code, ended.out) == (2, "")
    assert "there is a run with other settings: model.d_ff is 20 there, 24 here" in ended.err


@pytest.mark.parametrize(
    ("given", "fit", "bounds", "fitted"),
    [
        ([], True, (7, 5), False),
        (["training.max_steps=9"], True, (9, None), True),
        (["training.max_minutes=9"], False, (None, 9), False),
        (["training.max_minutes=9", "training.max_steps=9"], True, (9, 9), True),
        (["training.max_steps=9", "training.warmup=3"], True, (9, None), False),
        (["training.max_steps=null"], True, (None, 5), False),
    ],
)
def test_what_a_bound_implies(given: list[str], fit: bool, bounds: tuple[int | None, ...], fitted: bool) -> None:
    recipe = RunConfig(training=TrainingConfig(max_steps=7, max_minutes=5))
    training = with_settings(recipe, given, fit=fit).training
    assert (training.max_steps, training.max_minutes, training.fit_to_budget) == (*bounds, fitted)


@pytest.mark.parametrize(("steps", "recipe"), [(3, "quick"), (30_000, "small")])
def test_without_a_recipe_the_budget_chooses_one(
    limelight: Limelight, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: int, recipe: str
) -> None:
    monkeypatch.setattr("limelight.training.run.run_training", lambda _: "not trained")
    text = ["--train", corpus / "train.tsv", "--source", "en", "--target", "lumi"]
    ended = limelight("train", *text, *settings(), "--out", tmp_path / "run", "--max-steps", steps)
    assert f"beginning: {recipe}, " in ended.err
    assert load_config(tmp_path / "run" / "config.yaml").recipe == recipe


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_says_how_to_go_on(
    limelight: Limelight, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    update, run = Report.update, tmp_path / "my run"

    def interrupt(self, progress, result, rate) -> None:
        update(self, progress, result, rate)
        if progress.step == 2:
            os.kill(os.getpid(), number)

    monkeypatch.setattr(Report, "update", interrupt)
    command = ["train", "--train", corpus / "valid.tsv", "--recipe", "tiny", *settings(), "--out", run]
    ended = limelight(*command, "--set", "tokens.vocabulary_size=80", "--max-steps", 4)
    assert ended.code == code
    told = f"limelight: stopped by {signal.Signals(number).name}; `limelight train --out '{run}'` resumes the run"
    assert ended.err.splitlines()[-1] == told
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-00000002"]
    assert limelight("train", "--out", run).code == 0


def test_lines_that_cannot_be_read_stop_a_run_or_are_skipped(
    limelight: Limelight, corpus: Path, tmp_path: Path
) -> None:
    dirty, run = tmp_path / "dirty.tsv", tmp_path / "run"
    dirty.write_bytes(b"no tab\n" + (corpus / "train.tsv").read_bytes())
    begin = ["train", "--train", dirty, "--recipe", "tiny", *settings(), "--out", run, "--max-steps", 1]
    stopped = limelight(*begin, "--set", "data.on_bad_line=skip", "--on-bad-line", "stop")
    assert (stopped.code, f"limelight: {dirty}:1: there is no TAB in this line" in stopped.err) == (2, True)
    assert limelight(*begin, "--on-bad-line", "skip").code == 0
    assert load_config(run / "config.yaml").data.on_bad_line == "skip"


def test_fine_tuning_takes_the_model_from_its_parent(
    limelight: Limelight, corpus: Path, trained: Path, tmp_path: Path
) -> None:
    """Nothing but a folder and text is needed; the parent may be gone when the run is taken up."""
    parent = tmp_path / "parent"
    shutil.copytree(trained / "best", parent)
    text = ["--train", corpus / "train.tsv", "--valid", corpus / "valid.tsv"]
    begin = ["train", "--from", parent, *text, "--out", tmp_path / "run"]
    ended = limelight(*begin, "--max-steps", 1)
    assert ended.code == 0
    assert "update      0  validation: loss" in ended.err
    theirs, ours = load_config(parent / "config.yaml"), load_config(tmp_path / "run" / "config.yaml")
    assert (ours.recipe, ours.model, ours.tokens, ours.decoding) == (
        "finetune", theirs.model, theirs.tokens, theirs.decoding
    )  # fmt: skip
    assert [(corpus.source, corpus.target) for corpus in (*ours.data.train, *ours.data.valid)] == [("en", "lumi")] * 2
    shutil.rmtree(parent)
    assert "going on after update 1" in limelight(*begin, "--max-steps", 2).err
    ended = limelight(*begin, "--recipe", "finetune", "--max-steps", 3)
    assert "going on after update 2" in ended.err


def test_back_translated_text_gets_a_tag(limelight: Limelight, corpus: Path, tmp_path: Path) -> None:
    begin = ["train", "--train", corpus / "train.tsv", "--valid", corpus / "valid.tsv", "--recipe", "tiny", *settings()]
    languages = ["--source", "en", "--target", "de", "--max-steps", 3]
    given = [*begin, *languages, "--out", tmp_path / "run", "--back-translated", f"en-de={corpus / 'test.tsv'}"]
    ended = limelight(*given)
    assert ended.code == 0, ended.err
    assert "155 pairs, " in ended.err
    config = load_config(tmp_path / "run" / "config.yaml")
    assert [(each.tag, each.source, each.target) for each in config.data.train] == [
        ("", "en", "de"),
        ("bt", "en", "de"),
    ]
    assert "test.tsv (en -> de, back-translated)" in (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    assert "going on after update 3" in limelight(*given[:-4], "--max-steps", 4, *given[-4:]).err
    alone = limelight("train", "--back-translated", corpus / "test.tsv", *languages, "--out", tmp_path / "alone")
    assert alone.code == 0, alone.err
    assert [each.tag for each in load_config(tmp_path / "alone" / "config.yaml").data.train] == ["bt"]


def test_a_file_has_one_tag(limelight: Limelight, corpus: Path, tmp_path: Path) -> None:
    path, run = corpus / "train.tsv", tmp_path / "run"
    begin = ["train", "--train", path, "--source", "en", "--target", "lumi", "--recipe", "tiny", *settings()]
    ended = limelight(*begin, "--hold-out", 5, "--out", run, "--max-steps", 1, "--tag", f"{path}=domain:law")
    assert ended.code == 0, ended.err
    assert [each.side_constraint for each in load_config(run / "config.yaml").data.train] == ["domain:law"]


@pytest.mark.parametrize("given", ["training.schedule=constant", "training.decay_steps=9"])
def test_a_named_schedule_holds_with_every_recipe(given: str) -> None:
    assert any(find_recipe(name).training.fit_to_budget for name in RECIPES)
    assert not any(with_settings(find_recipe(name), [given], fit=True).training.fit_to_budget for name in RECIPES)


def test_a_start_without_an_update_does_not_choose_the_recipe_of_fine_tuning(
    limelight: Limelight, corpus: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limelight.training.run.run_training", lambda _: "not trained")
    text = ["--train", corpus / "train.tsv", "--source", "en", "--target", "lumi", "--out", tmp_path / "run"]
    assert limelight("train", *text, *settings(), "--max-steps", 3).code == 0
    assert limelight("train", *text, "--from", trained, "--max-steps", 3, "--device", "cpu").code == 0
    stored = load_config(tmp_path / "run/config.yaml")
    assert (stored.recipe, stored.data.replay) == ("finetune", 1.0)
