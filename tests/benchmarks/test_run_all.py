"""`make bench`: what it asks for, that a step that fails stops no other, and what is shown of each."""

import importlib
import inspect
import json
from pathlib import Path

import pytest
import typer

from benchmarks import run_all
from benchmarks.run_all import Step


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for part in run_all.NEEDED:
        for side in ("en", "de"):
            (folder / f"{part}.{side}.gz").touch()
    return folder


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Step]:
    """Three: one that writes a result, one that fails, and one that only prepares."""
    (tmp_path / "writes.py").write_text(
        f'open({str(tmp_path / "good.json")!r}, \'w\').write(\'{{"command": "c", "table": "| a |"}}\')'
    )
    (tmp_path / "fails.py").write_text("raise SystemExit('no peer here')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found = {
        "bad": Step("what fails", ["fails"], 1, "bad"),
        "good": Step("what works", ["writes"], 1, "good"),
        "before": Step("what prepares", ["this"], 1),
    }
    monkeypatch.setattr(run_all, "all_steps", lambda data, runs: found)
    return found


def test_a_step_that_fails_leaves_its_reason_and_the_next_one_its_table(
    data: Path, steps: dict[str, Step], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.json").write_text('{"command": "c", "table": "| old |"}')
    with pytest.raises(typer.Exit):
        run_all.main(data=data, runs=tmp_path / "runs", only=["bad", "good"], results=tmp_path)
    page = (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert "## What fails\n\nfailed: no peer here; see " in page
    assert "old" not in page
    assert "## What works\n\n`c`\n\n| a |\n" in page
    assert "prepares" not in page
    assert "| a |" in capsys.readouterr().out
    run_all.main(data=data, runs=tmp_path / "runs", only=["before"], results=tmp_path)  # `python -m this`
    assert "| old |" in (tmp_path / "bench.md").read_text(encoding="utf-8")
    assert "Zen" in (tmp_path / "runs" / "before.log").read_text(encoding="utf-8")


def test_a_step_that_does_not_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "waits.py").write_text("import time\ntime.sleep(60)", encoding="utf-8")
    assert run_all.work(Step("", ["waits"], 0.005), tmp_path / "log").startswith("stopped after 0 minutes")


def test_what_is_missing_is_said_at_once(data: Path, tmp_path: Path) -> None:
    (data / "val.de.gz").unlink()
    with pytest.raises(typer.BadParameter, match=r"data lacks val\.de\.gz: name the folder"):
        run_all.main(data=data, runs=tmp_path, only=None, results=tmp_path)


def test_an_unknown_step_is_said_with_those_there_are(data: Path, tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="speed: the steps are kernels, training-small"):
        run_all.main(data=data, runs=tmp_path, only=["speed", "memory"], results=tmp_path)


def test_the_steps_run_what_is_there(data: Path, tmp_path: Path) -> None:
    """Each module can be imported and has the options it is given."""
    for step in run_all.all_steps(data, tmp_path).values():
        module, *words = step.words
        if module != "limelight":
            parameters = inspect.signature(importlib.import_module(module).main).parameters
            assert {word.removeprefix("--") for word in words if word.startswith("--")} <= set(parameters)


@pytest.mark.parametrize("name", ["kernels", "training-small"])
def test_stored_results_are_shown(name: str, data: Path, tmp_path: Path) -> None:
    step = run_all.all_steps(data, tmp_path)[name]
    shown = run_all.section(step, run_all.RESULTS, "")
    rows = [line for line in shown.splitlines() if line.startswith("| ")]
    assert len(rows) > 3
    assert len({line.count(" | ") for line in rows}) == 1


def test_the_curve_ends_with_the_scores_of_the_tests() -> None:
    stored = json.loads((run_all.RESULTS / "multi30k-small.json").read_text(encoding="utf-8"))
    shown = run_all.curve(stored)
    assert f"test_2016_flickr {stored['test_2016_flickr']['bleu']:.2f}" in shown
    assert shown.count("\n| ") == 1 + len(stored["curve"])


def test_peers_are_those_that_are_tested_with() -> None:
    """One environment for both: what is pinned for the peers is what the tests are run with."""
    root = Path(run_all.__file__).parent
    tested = {
        line for name in ("requirements.txt", "requirements-dev.txt")
        for line in (root.parent / name).read_text(encoding="utf-8").splitlines()
    }  # fmt: skip
    pins = [
        line for line in (root / "requirements-peers.txt").read_text("utf-8").splitlines() if not line.startswith("#")
    ]
    assert set(pins) <= tested
    assert {pin.partition("==")[0] for pin in pins} >= {"ctranslate2", "torch", "transformers", "sentencepiece"}
