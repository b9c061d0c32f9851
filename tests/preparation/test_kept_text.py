"""A run is resumed in another directory, and after its text was moved, to the same weights."""

from pathlib import Path

import pytest

from limelight.config import Corpus, RunConfig
from limelight.errors import RunError, UserError
from limelight.preparation.extend import extend_parent
from limelight.preparation.kept import keep_pairs, keeps, kept_pairs, validation_sentences
from limelight.preparation.pairs import read_valid
from limelight.preparation.replay import GENERAL, make_replay
from limelight.storage.layout import START
from limelight.text.pair import Pair
from tests.training.helpers import go, last_weights, tiny_run, trace_of, with_training
from tests.training.readers import label_run, masked_run
from tests.training.texts import text_run

RUNS = {"translation": tiny_run, "labels": label_run, "masked": masked_run, "text": text_run}


def relative(config: RunConfig, folder: Path) -> RunConfig:
    """The same run with its files named from `folder`."""
    text = config.model_dump_json().replace(f"{folder}/", "")
    return RunConfig.model_validate_json(text)


@pytest.mark.parametrize(("kind", "moved"), [*((kind, "text is gone") for kind in RUNS), ("translation", "other text")])
def test_a_run_is_resumed_elsewhere_bit_for_bit(
    kind: str, moved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, away = tmp_path / "home", tmp_path / "away"
    config = with_training(relative(RUNS[kind](home), home), max_steps=6)
    monkeypatch.chdir(home)
    go(config, tmp_path / "whole")
    go(config, tmp_path / "run", max_steps=3)
    away.mkdir()
    for path in home.iterdir():
        if moved == "text is gone":
            path.unlink()
        else:
            (away / path.name).write_text("\n".join(path.read_text(encoding="utf-8").splitlines()[:-1]) + "\n")
    monkeypatch.chdir(away)
    go(config, tmp_path / "run")
    assert last_weights(tmp_path / "run") == last_weights(tmp_path / "whole")
    validations = [[each for each in trace_of(tmp_path / name) if ("event", "validation") in each]
                   for name in ("run", "whole")]  # fmt: skip
    assert validations[0] == validations[1] != []


def test_the_model_a_run_began_with_may_be_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    config = relative(tiny_run(home, max_steps=2), home)
    monkeypatch.chdir(home)
    go(config, Path("parent"))
    child = config.model_copy(update={"begin_with": "parent"})
    go(child, tmp_path / "whole", max_steps=4)
    go(child, tmp_path / "run", max_steps=2)
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    go(child, tmp_path / "run", max_steps=4)
    assert last_weights(tmp_path / "run") == last_weights(tmp_path / "whole")


def test_what_a_start_with_other_settings_has_left_is_not_taken_for_the_text(tmp_path: Path) -> None:
    """Nothing is kept before the run has its configuration."""
    config = tiny_run(tmp_path / "text")
    read_valid(config, tmp_path / "run", lambda _: None)
    assert keeps(tmp_path / "run", "valid-0")
    Path(config.data.valid[0].files[0]).unlink()
    with pytest.raises(UserError, match=r"valid\.tsv: there is no such file"):
        read_valid(config, tmp_path / "run", lambda _: None)
    with pytest.raises(UserError, match=r"valid\.tsv: there is no such file"):
        go(config, tmp_path / "run")


def test_pairs_come_back_with_their_places(tmp_path: Path) -> None:
    pairs = [Pair("a \u2028 b", "ä", "x.tsv", 1), Pair('"', "\\", "x.tsv", 7)]
    keep_pairs(tmp_path, "valid-3", pairs, "f")
    assert kept_pairs(tmp_path, "valid-3") == pairs


def test_short_sentences_are_offered_in_scripts_without_spaces_too(tmp_path: Path) -> None:
    pairs = [Pair("A dog runs home.", "一只狗跑回家。"), Pair("Yes.", "是。"), Pair("word " * 15, "家" * 15)]
    keep_pairs(tmp_path, "valid-0", pairs, "f")
    corpora = [Corpus(files=("v.tsv",), source="en", target="zh")]
    assert validation_sentences(tmp_path, corpora) == {"en": ["A dog runs home."], "zh": ["一只狗跑回家。"]}


@pytest.mark.parametrize("damage", ["", "[]", '{"version": 9}', '{"version": 1, "pairs": [["a"]]}'])
def test_damaged_pairs_are_named(damage: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "valid-0.json").write_text(damage)
    with pytest.raises(
        RunError, match=r"data/valid-0\.json: not validation pairs of a run .*; delete it; it is created"
    ):
        kept_pairs(tmp_path, "valid-0")


def test_what_a_start_with_other_settings_has_made_is_not_used(tmp_path: Path) -> None:
    """Its start model would be the parent of a run without --extend-vocabulary."""
    config = tiny_run(tmp_path / "text")
    for name in (START, GENERAL):
        (tmp_path / "run" / name).mkdir(parents=True)
    make_replay(config, tmp_path / "run", pytest.fail)
    extend_parent(config, tmp_path / "run", pytest.fail)
    assert not any((tmp_path / "run").iterdir())
