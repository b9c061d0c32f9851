"""`limelight evaluate`."""

import json
import math
import random
import shutil
from pathlib import Path

import pytest

from limelight.cli.evaluate import read_test
from limelight.config import Corpus
from tests.cli.conftest import Limelight


def test_json_says_how_good_and_where_it_comes_from(
    limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept.txt"
    test = corpus / "test.tsv"
    ended = limelight("evaluate", "--model", trained, "--test", test, "--json", "--beam", 1, "-o", kept)
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert 0 <= found["bleu"] <= 100
    assert found["bleu_signature"].startswith("nrefs:1|case:mixed|")
    assert found["chrf_signature"].startswith("nrefs:1|")
    where = found["provenance"]
    assert (where["model"], where["seed"], where["test_files"]) == ([str(trained)], [1], [str(test)])
    assert (where["beam_size"], where["pairs"], found["sentences"]) == (1, 5, 5)
    sources = [line.split("\t")[0] for line in test.read_text(encoding="utf-8").splitlines()]
    (tmp_path / "in.txt").write_text("\n".join(sources), encoding="utf-8")
    assert (
        kept.read_text(encoding="utf-8")
        == limelight("translate", "--model", trained, "--beam", 1, "--lines", tmp_path / "in.txt").out
    )
    test = tmp_path / "two.jsonl"
    test.write_text(json.dumps({"source": "a dog\na cat", "target": "kano"}), encoding="utf-8")
    assert limelight("evaluate", "--model", trained, "--test", test, "--beam", 1, "-o", kept).code == 0
    assert kept.read_text(encoding="utf-8").count("\n") == 1


# ---- text


def test_a_language_model_reads_the_text(limelight: Limelight, writing: Path) -> None:
    test = writing.parent / "test.txt"
    ended = limelight("evaluate", "--model", writing, "--test", test, "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert found["loss"] < 3.3  # less than that of guessing among the letters
    assert found["perplexity"] == pytest.approx(math.exp(found["loss"]), rel=1e-4)
    assert found["characters"] == found["bytes"] == test.stat().st_size
    assert found["bits_per_byte"] == pytest.approx(found["loss_per_character"] / math.log(2), rel=1e-4)
    assert found["context"] == 16
    where = found["provenance"]
    assert (where["model"], where["seed"], where["test_files"]) == ([str(writing)], [1], [str(test)])
    shown = limelight("evaluate", "--model", writing, "--test", test)
    assert (shown.code, shown.err) == (0, "")
    assert f"bits per byte   {found['bits_per_byte']:.4f}" in shown.out
    twice = limelight("evaluate", "--model", writing, "--test", test, test, "--json")
    assert json.loads(twice.out)["documents"] == 2


def test_a_test_set_the_wrong_way_round_is_refused(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    for name in ("test.lum", "test.en"):
        (tmp_path / name).write_text("a dog\n", encoding="utf-8")
    ended = limelight("evaluate", "--model", trained, "--test", tmp_path / "test.lum", tmp_path / "test.en")
    assert ended.code == 2
    assert "the model translates from en to lumi: give the two files in the other order" in ended.err
    assert limelight("evaluate", "--model", trained, "--test", tmp_path / "test.en", tmp_path / "test.lum").code == 0


def test_a_test_set_from_the_training_text_is_warned_of(
    limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path
) -> None:
    first, second, *_ = (corpus / "train.tsv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "test.tsv").write_text(f"{first.upper()}\n{second}\nunseen\tunseen\n", encoding="utf-8")
    ended = limelight("evaluate", "--model", trained, "--test", tmp_path / "test.tsv")
    assert ended.code == 0
    assert "warning: the sources of 2 of 3 test pairs are in the training text too" in ended.err
    assert f"for example {tmp_path / 'test.tsv'}:1 (" in ended.err
    assert limelight("evaluate", "--model", trained / "best", "--test", tmp_path / "test.tsv").err == ""
    run = shutil.copytree(trained, tmp_path / "run")
    shutil.copytree(run / "data/train-0", run / "data/train-0-words").joinpath("source.offsets").unlink()
    assert "are in the training text too" in limelight("evaluate", "--model", run, "--test", tmp_path / "test.tsv").err


def test_labels_are_not_compared_as_translations(tmp_path: Path) -> None:
    """Where a task is hard, labels fit other texts as well."""
    draw, test = random.Random(1), tmp_path / "labels.tsv"
    words = [f"word{number}" for number in range(300)]
    rows = [f"{' '.join(draw.choices(words, k=12))}\tclass{draw.randrange(5)}\n" for _ in range(600)]
    test.write_text("".join(rows), encoding="utf-8")
    texts = [Corpus(files=(str(test),))]
    with pytest.warns(UserWarning, match="the sides do not belong together"):
        read_test(texts)
    assert len(read_test(texts, translated=False)) == 600  # a warning would be an error


@pytest.mark.filterwarnings("default")
def test_blank_lines_and_strange_text_are_told(
    limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path
) -> None:
    lines = (corpus / "test.tsv").read_text(encoding="utf-8").splitlines()
    test = tmp_path / "test.tsv"
    test.write_text("\n".join(["en\tlumi", "", *lines, "", ""]), encoding="utf-8")
    ended = limelight("evaluate", "--model", trained, "--test", test, "--json", "--beam", 1)
    assert (ended.code, json.loads(ended.out)["sentences"]) == (0, len(lines) + 1)
    header, blank = ended.err.splitlines()
    assert header.startswith(f"limelight: warning: {test}:1: looks like a header (en | lumi)")
    assert blank == f"limelight: warning: {test}: left out 2 blank lines"
