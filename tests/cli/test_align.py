"""`limelight align`, and the heads that a run chooses at its end."""

import json
import shutil
from pathlib import Path

import pytest

from limelight.pipelines.load import load_translator
from limelight.storage.layout import ALIGNMENT
from tests.cli.conftest import Limelight
from tests.formats.files import tmx, unit


def test_a_run_chooses_its_heads_and_aligns_each_line(limelight: Limelight, trained: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("The old dog .\tLumi videto .\n\tkano\nThe cat\tKano velo lam\n", encoding="utf-8")
    ended = limelight("align", "--model", trained, pairs)
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert len(lines) == 3
    assert lines[1] == ""
    links = [tuple(map(int, link.split("-"))) for link in lines[0].split()]
    assert [target for _, target in sorted(links, key=lambda link: link[1])] == [0, 1, 2]
    assert all(0 <= source < 4 for source, _ in links)
    ended = limelight("align", "--model", trained, pairs, "--tokenize", "--json")
    assert json.loads(ended.out.splitlines()[0])["source"] == ["The", "old", "dog", "."]


def test_the_sides_are_those_of_the_model(limelight: Limelight, one: Path, tmp_path: Path) -> None:
    """Also of a memory whose first language is the target, and of files with other codes of the languages."""
    files = [tmp_path / name for name in ("m.tmx", "t.eng", "t.deu")]
    texts = tmx(unit(("de", "C B A"), ("en", "a b c"))), "a b c\n", "C B A\n"
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    for given in (files[:1], files[1:]):
        ended = limelight("align", "--model", one, *given, "--json")
        assert ended.code == 0, ended.err
        assert json.loads(ended.out)["source"] == ["a", "b", "c"]


@pytest.mark.slow
def test_calibrate_chooses_heads(
    limelight: Limelight, trained: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limelight.evaluation.confidence.GOOD", 7.0)  # chrF of a model of 8 updates
    own = Path(shutil.copytree(trained, tmp_path / "run"))
    ended = limelight("calibrate", "--model", own, "--valid", corpus / "train.tsv")
    assert ended.code == 0, ended.err
    assert "heads that align words: layer 0 head " in ended.out
    assert (own / "best" / ALIGNMENT).is_file()
    assert load_translator(own).alignment_heads
