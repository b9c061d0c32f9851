"""`limelight compare` and `limelight score`."""

import json
import math
from pathlib import Path

import pytest

from tests.cli.conftest import Limelight


def test_a_model_is_compared_with_a_file_of_its_translations(
    limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path
) -> None:
    test, kept, page = corpus / "test.tsv", tmp_path / "kept.txt", tmp_path / "page.html"
    limelight("evaluate", "--model", trained, "--test", test, "--beam", 1, "-o", kept)
    ended = limelight("compare", kept, trained, "--test", test, "--beam", 1, "--json", "-o", page)
    assert ended.code == 0, ended.err
    assert "<h1>Comparison</h1>" in page.read_text("utf-8")
    found = json.loads(ended.out)
    assert found["sentences"] == []
    assert all(each["scores"][0] == each["scores"][1] for each in found["differences"])


def test_given_translations_are_scored(limelight: Limelight, trained: Path, corpus: Path) -> None:
    test = corpus / "test.tsv"
    ended = limelight("score", test, "--model", trained)
    assert ended.code == 0, ended.err
    rows = [line.split("\t") for line in ended.out.splitlines()]
    assert len(rows) == 5
    mean = sum(float(log) for log, _ in rows) / sum(int(tokens) for _, tokens in rows)
    perplexity = json.loads(limelight("evaluate", "--model", trained, "--test", test, "--json").out)["perplexity"]
    assert math.exp(-mean) == pytest.approx(perplexity, rel=1e-4)
    assert f"perplexity {perplexity:.3f}"[:-1] in ended.err
    first = json.loads(limelight("score", test, "--model", trained, "--json").out.splitlines()[0])
    assert first["log_probability"] == pytest.approx(float(rows[0][0]), abs=1e-5)


def test_further_metrics_are_computed_where_asked_for(limelight: Limelight, trained: Path, corpus: Path) -> None:
    words = ["evaluate", "--model", trained, "--test", corpus / "test.tsv", "--json"]
    found = json.loads(limelight(*words, "--metric", "chrf++", "--metric", "ter").out)
    assert found["chrf++_signature"].startswith("nrefs:1|case:mixed")
    assert found["ter"] >= 0
