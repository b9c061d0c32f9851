"""`limelight fill`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from limelight.pipelines.load import load_mask_filler
from tests.cli.conftest import Limelight
from tests.cli.readers import train_reader


@pytest.fixture(scope="module")
def filling(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked model of the English side of the corpus."""
    place = tmp_path_factory.mktemp("fill")
    lines = (corpus / "train.tsv").read_text(encoding="utf-8").splitlines()
    (place / "train.txt").write_text("".join(line.split("\t")[0] + "\n" for line in lines), encoding="utf-8")
    return train_reader("bert-tiny", ["--text", place / "train.txt"], place / "run")


def test_each_mask_and_the_text_with_the_best(limelight: Limelight, filling: Path) -> None:
    ended = limelight("fill", "--model", filling, "The [MASK] dog [MASK].", "--top", 3)
    assert (ended.code, ended.err) == (0, "")
    found = load_mask_filler(filling).fill("The [MASK] dog [MASK].", top=3)
    first, second, text = ended.out.splitlines()
    for number, (line, guesses) in enumerate(zip((first, second), found.masks, strict=True), start=1):
        shown = "  ".join(f"{guess.text} {guess.probability:.4f}" for guess in guesses)
        assert line == f"[MASK] {number}: {shown}"
        assert len(guesses) == 3
    assert text == found.text
    assert limelight("fill", "--model", filling, "The [MASK] dog [MASK].").out.splitlines()[0].count("0.") == 5


def test_a_closed_standard_input_is_reported(
    limelight: Limelight, filling: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No command that reads it takes both a text and a file."""
    monkeypatch.setattr(sys, "stdin", None)
    for command in ("fill", "generate", "classify"):
        ended = limelight(command, "--model", filling)
        assert (ended.code, ended.err.count("give what is to be read as an argument")) == (2, 1)


def test_lines_come_from_standard_input(limelight: Limelight, filling: Path, typed: Callable[[bytes], None]) -> None:
    typed(b"The [MASK] dog.\nTwo [MASK] birds.\n")
    ended = limelight("fill", "--model", filling, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert [json.loads(line)["source"] for line in ended.out.splitlines()] == ["The [MASK] dog.", "Two [MASK] birds."]
    typed(b"The [MASK] dog.\nTwo birds.\n")
    ended = limelight("fill", "--model", filling)
    assert (ended.code, len(ended.out.splitlines())) == (2, 2)
    assert ended.err.startswith("limelight: line 2: there is no [MASK] in this text")
