"""`limelight learn`: a memory in, a model or a refusal out."""

from pathlib import Path

import pytest

from limelight.config import RunConfig
from limelight.training import learn as learning
from limelight.training.mix import BeforeAfter, Change, Scores
from tests.cli.conftest import Limelight


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[RunConfig, Path]]:
    """What the command asks for, which is not done."""
    calls = []

    def learn(config: RunConfig, output: Path, *, quiet: bool) -> BeforeAfter:
        calls.append((config, output))
        return BeforeAfter(0.5, Change(9, Scores(20, 40), Scores(21, 41)), None)

    monkeypatch.setattr(learning, "learn", learn)
    return calls


def test_a_memory_is_fine_tuning_of_the_named_model(
    limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path, asked: list[tuple[RunConfig, Path]]
) -> None:
    ended = limelight("learn", "--memory", corpus / "train.tsv", "--model", trained, "-o", tmp_path / "new")
    assert ended.code == 0, ended.err
    assert "BLEU 20.00 -> 21.00" in ended.err
    [(config, output)] = asked
    assert (config.recipe, config.begin_with, config.data.replay) == ("finetune", str(trained), 1.0)
    [memory] = config.data.train
    assert (memory.files, memory.source, memory.target) == ((str(corpus / "train.tsv"),), "en", "lumi")
    assert output == tmp_path / "new"


def test_a_memory_may_be_two_files(
    limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path, asked: list[tuple[RunConfig, Path]]
) -> None:
    sides = [tmp_path / "own.src", tmp_path / "own.tgt"]
    for side in sides:
        side.write_text("a dog\n", encoding="utf-8")
    given = ["--memory", *sides, "--memory", corpus / "train.tsv"]
    ended = limelight("learn", *given, "--model", trained, "-o", tmp_path / "new")
    assert ended.code == 0, ended.err
    [(config, _)] = asked
    assert [each.files for each in config.data.train] == [tuple(map(str, sides)), (str(corpus / "train.tsv"),)]


def test_the_direction_with_the_named_language_is_learned(
    limelight: Limelight, many: Path, corpus: Path, tmp_path: Path, asked: list[tuple[RunConfig, Path]]
) -> None:
    given = ["learn", "--memory", corpus / "train.tsv", "--model", many, "-o", tmp_path / "new"]
    ended = limelight(*given, "--to", "de", "--general", corpus / "valid.tsv", "--max-minutes", 5)
    assert ended.code == 0, ended.err
    [(config, _)] = asked
    assert [(each.source, each.target) for each in (*config.data.train, *config.data.general)] == [("en", "de")] * 2
    assert (config.training.max_minutes, config.training.fit_to_budget) == (5, True)
