"""`limelight doctor`: faults are found in damaged text and runs, and none in clean ones."""

import shutil
from pathlib import Path

import pytest

from limelight.training.examine import ADVICE, findings_of_losses
from tests.cli.conftest import Limelight
from tests.cli.test_clean import FAULTY, GOOD, write


def test_clean_text_has_no_faults(limelight: Limelight, tmp_path: Path) -> None:
    text = write(tmp_path / "text.tsv", GOOD[:15])
    ended = limelight("doctor", text, "--source", "en", "--target", "de")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[0] == f"{text}: 15 pairs, en to de"
    assert lines[1].startswith("usable: 15 of 15 pairs (100 %); too few for a model of its own")
    assert len(lines) == 2


def test_each_fault_is_named_with_an_example_and_the_command(limelight: Limelight, tmp_path: Path) -> None:
    text = write(tmp_path / "text.tsv", [*GOOD, *FAULTY.values()])
    ended = limelight("doctor", text, "--source", "en", "--target", "de")
    for number, reason in enumerate(FAULTY, start=31):
        assert f"1 pair: {reason}" in ended.out
        assert f"{text}:{number}: " in ended.out
    assert f"limelight clean {text} --source en --target de -o clean.tsv" in ended.out
    assert "usable: 30 of 37 pairs" in ended.out


def test_test_pairs_in_the_training_text_are_counted(limelight: Limelight, tmp_path: Path) -> None:
    text, test = write(tmp_path / "a.tsv", GOOD), write(tmp_path / "t.tsv", [GOOD[3], ("New.", "Neu."), GOOD[9]])
    ended = limelight("doctor", text, "--test", test)
    assert (
        "2 of 3 test pairs have a source of the training text: scores on them say nothing about new text" in ended.out
    )
    assert f"{test}:1: {GOOD[3][0]}"[:70] in ended.out


def test_a_run_is_examined(limelight: Limelight, trained: Path) -> None:
    ended = limelight("doctor", trained)
    assert ended.code == 0, ended.err
    assert "validation loss" in ended.out
    assert "with another one" in ended.out


@pytest.mark.slow
def test_a_run_that_learned_shuffled_pairs_ignores_its_source(
    limelight: Limelight, corpus: Path, tmp_path: Path
) -> None:
    """After eight updates a model has learned nothing of its source either."""
    from tests.cli.conftest import settings

    rows = [line.split("\t") for line in (corpus / "train.tsv").read_text(encoding="utf-8").splitlines()]
    pairs = [(row[0], rows[(number * 31 + 7) % len(rows)][1]) for number, row in enumerate(rows)]
    files = ["--train", str(write(tmp_path / "bad.tsv", pairs)), "--valid", str(corpus / "valid.tsv")]
    languages = ["--source", "en", "--target", "lumi", "--set", "data.on_doubt=warn"]
    command = ["train", *files, *languages, "--recipe", "tiny", *settings(), "--max-steps", "40", "--quiet"]
    assert limelight(*command, "--out", tmp_path / "run").code == 0
    ended = limelight("doctor", tmp_path / "run")
    assert "the model ignores the source" in ended.out or "almost nothing was learned" in ended.out


def test_a_folder_without_a_log_is_named(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(trained, tmp_path / "run"))
    (own / "log.jsonl").unlink()
    ended = limelight("doctor", own)
    assert ended.code == 2
    assert "the run has no log" in ended.err


def entries(event: str, losses: list[float]) -> list[dict[str, object]]:
    return [{"event": event, "step": 10 * number, "loss": loss} for number, loss in enumerate(losses)]


@pytest.mark.parametrize(
    ("trained_losses", "valid", "fault"),
    [
        ([4.0, 3.0, 2.0, 1.5, 1.0, 0.5], [3.0, 2.0, 2.1, 2.6], ["overfitted"]),
        ([4.0, 3.5, 3.2, 3.0, 2.9, 2.8], [3.5, 3.2, 3.0, 2.9], ["improving"]),
        ([4.0, 3.5, 3.2, 3.0, 2.9, 2.8], [3.5, 3.0, 2.9, 2.92], []),
    ],
)
def test_losses_say_what_to_do(trained_losses: list[float], valid: list[float], fault: list[str]) -> None:
    said = list(findings_of_losses([*entries("training", trained_losses), *entries("validation", valid)]))
    assert said[1:] == [ADVICE[name] for name in fault]


def test_loops_are_compiled_ahead_once(limelight: Limelight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    ran: list[int] = []
    monkeypatch.setattr("limelight.decoding.every_loop.compile_every_loop", lambda: ran.append(1))
    said = [limelight("doctor", "--compile").out for _ in range(2)]
    assert [each.split(":")[0] for each in said] == ["compiled", "compiled before"]
    assert ran == [1]
