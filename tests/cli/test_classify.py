"""`limelight classify`, and `limelight evaluate` for a classifier."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from limelight.pipelines.load import load_classifier
from tests.cli.conftest import Limelight
from tests.cli.readers import train_reader


@pytest.fixture(scope="module")
def place(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run of a classifier that tells both languages of the corpus apart, and test.tsv."""
    folder = tmp_path_factory.mktemp("classify")
    for name in ("train", "valid", "test"):
        lines = [line.split("\t") for line in (corpus / f"{name}.tsv").read_text(encoding="utf-8").splitlines()]
        rows = [f"{text}\t{label}\n" for pair in lines for text, label in zip(pair, ("en", "lumi"), strict=True)]
        (folder / f"{name}.tsv").write_text("".join(rows), encoding="utf-8")
    train_reader("classifier", ["--train", folder / "train.tsv", "--valid", folder / "valid.tsv"], folder / "run")
    return folder


def test_a_line_in_a_line_out(limelight: Limelight, place: Path, tmp_path: Path) -> None:
    lines = ["The old dog sings.", "", "Zwei"]
    (tmp_path / "in.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ended = limelight("classify", "--model", place / "run", tmp_path / "in.txt")
    assert (ended.code, ended.err) == (0, "")
    answers = load_classifier(place / "run").classify(lines)
    assert ended.out.splitlines() == [f"{each.label}\t{each.probability:.4f}" for each in answers]


def test_json_has_every_probability(
    limelight: Limelight, place: Path, typed: Callable[[bytes], None], tmp_path: Path
) -> None:
    typed(b"The old dog sings.\n")
    kept = tmp_path / "out.jsonl"
    ended = limelight("classify", "--model", place / "run", "--json", "-o", kept, "--batch-tokens", 7)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    found = json.loads(kept.read_text(encoding="utf-8"))
    assert list(found) == ["text", "label", "probability", "probabilities"]
    assert list(found["probabilities"]) == ["en", "lumi"]
    assert found["probability"] == found["probabilities"][found["label"]]


def test_it_is_evaluated_on_labels(limelight: Limelight, place: Path, tmp_path: Path) -> None:
    kept, test = tmp_path / "kept.txt", place / "test.tsv"
    ended = limelight("evaluate", "--model", place / "run", "--test", test, "--json", "-o", kept)
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    truth = [line.split("\t")[1] for line in test.read_text(encoding="utf-8").splitlines()]
    given = kept.read_text(encoding="utf-8").splitlines()
    right = sum(one == other for one, other in zip(truth, given, strict=True))
    assert found["accuracy"] == pytest.approx(100 * right / len(truth), abs=1e-4)
    assert found["provenance"]["model"] == [str(place / "run")]
    table = limelight("evaluate", "--model", place / "run", "--test", test).out
    assert table.splitlines()[0].split()[0] == "accuracy"
    assert "always the most frequent label: accuracy " in table
