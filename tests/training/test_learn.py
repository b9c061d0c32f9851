"""`learn`: a model of a memory is written whole if it is better, and otherwise nothing is."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from limelight.config import Corpus, DataConfig, RunConfig, dump_config
from limelight.errors import RunError, UserError
from limelight.preparation.replay import GENERAL
from limelight.signals import Stopped
from limelight.training import learn as learning
from limelight.training.checkpoints.lock import LOCK
from limelight.training.learn import UNFINISHED, learn
from limelight.training.mix import BEFORE_AFTER, BeforeAfter, Change, Scores, read_before_after

BETTER = Change(100, Scores(20.0, 40.0), Scores(24.0, 44.0))
SAME = Change(300, Scores(30.0, 50.0), Scores(29.6, 50.0))


def asked(memory: str = "m.tmx", parent: str = "parent") -> RunConfig:
    corpus = Corpus(files=(memory,), source="en", target="de")
    return RunConfig(begin_with=parent, data=DataConfig(train=(corpus,), replay=1.0))


def trained(monkeypatch: pytest.MonkeyPatch, found: BeforeAfter | None) -> list[RunConfig]:
    """Let the training of a run write a model with these scores; returns the configurations it was called with."""
    calls = []

    def train(config: RunConfig, work: Path, *, quiet: bool) -> None:
        calls.append(config)
        texts = "general/test.en-de.tsv", "held-out/test.tsv", "data/x"
        for name in ("best/model.safetensors", "best/tokenizer/spm.model", *texts):
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            (work / name).write_text(name)
        (work / "config.yaml").write_text(dump_config(config))
        if found:
            changes = {"new": _dumped(found.new),
                       "general": _dumped(found.general)}  # fmt: skip
            (work / BEFORE_AFTER).write_text(json.dumps({"format": 1, "share": found.share, **changes}))

    monkeypatch.setattr(learning, "train", train)
    monkeypatch.setattr(learning, "_require_measurable", lambda *_: None)
    return calls


def _dumped(change: Change | None) -> dict[str, object] | None:
    return change and {"pairs": change.pairs, "before": list(change.before), "after": list(change.after)}


def left(work: Path) -> str:
    return f"the work so far is in {work}: the same command continues it; to begin again, remove it"


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("after", [Scores(24.0, 44.0), Scores(19.6, 39.0), Scores(18.0, 41.0)])
def test_a_better_model_is_written_with_its_general_text_its_held_out_text_and_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: Scores
) -> None:
    found = BeforeAfter(0.75, replace(BETTER, after=after), SAME)
    trained(monkeypatch, found)
    assert learn(asked(), tmp_path / "new") == found
    assert names(tmp_path) == [
        f"new/{BEFORE_AFTER}", f"new/{GENERAL}/test.en-de.tsv", "new/held-out/test.tsv", "new/model.safetensors",
        "new/tokenizer/spm.model",
    ]  # fmt: skip
    assert read_before_after(tmp_path / "new") == found


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (BeforeAfter(0.5, Change(100, Scores(20, 40), Scores(19.4, 40)), SAME), r"20\.00 -> 19\.40"),
        (BeforeAfter(0.0, BETTER, SAME), "held-out pairs better"),
        (BeforeAfter(0.5, None, SAME), "could not be compared"),
        (None, "could not be compared"),
    ],
)
def test_a_model_that_is_not_better_is_refused_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: BeforeAfter | None, message: str
) -> None:
    trained(monkeypatch, found)
    with pytest.raises(RunError, match=message):
        learn(asked(), tmp_path / "new")
    assert names(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", [False, True])
def test_a_memory_that_cannot_be_learned_from_leaves_nothing(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But what an interrupted call has begun stays."""

    def train(_config: RunConfig, work: Path, *, quiet: bool) -> None:
        (work / "held-out").mkdir(parents=True)
        raise UserError("the sides are swapped")

    trained(monkeypatch, None)
    monkeypatch.setattr(learning, "train", train)
    if there:
        (tmp_path / "new.unfinished").mkdir()
    with pytest.raises(UserError, match="swapped") as caught:
        learn(asked(), tmp_path / "new")
    assert (tmp_path / "new.unfinished").exists() == there
    assert getattr(caught.value, "__notes__", []) == [left(tmp_path / "new.unfinished")] * there


def test_what_another_process_is_preparing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def train(_config: RunConfig, work: Path, *, quiet: bool) -> None:
        work.mkdir()
        (work / LOCK).touch()
        raise UserError("another process is training there")

    trained(monkeypatch, None)
    monkeypatch.setattr(learning, "train", train)
    with pytest.raises(UserError, match="another process"):
        learn(asked(), tmp_path / "new")
    assert names(tmp_path) == [f"new{UNFINISHED}/{LOCK}"]


def test_what_was_stopped_is_resumed_by_the_same_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / f"new{UNFINISHED}"

    def stop(config: RunConfig, work: Path, *, quiet: bool) -> None:
        work.mkdir()
        raise Stopped(2)

    monkeypatch.setattr(learning, "train", stop)
    monkeypatch.setattr(learning, "_require_measurable", lambda *_: None)
    with pytest.raises(Stopped) as caught:
        learn(asked(), tmp_path / "new")
    assert caught.value.__notes__ == [left(work)]
    assert not (tmp_path / "new").exists()
    assert work.exists()
    trained(monkeypatch, BeforeAfter(0.75, BETTER, SAME))
    learn(asked(), tmp_path / "new")
    assert not work.exists()
