"""`limelight card` and `shortlist`, and the model that comes with the package."""

import io
import shutil
import sys
from pathlib import Path

import pytest

from limelight.cli.app import run
from limelight.storage import layout as box
from limelight.storage.layout import find_model
from tests.cli.conftest import Limelight


@pytest.fixture
def bundled(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with one model, of the default's name."""
    shutil.copytree(trained / "best", tmp_path / "box" / box.DEFAULT)
    monkeypatch.setattr("limelight.storage.layout.BOX", tmp_path / "box")
    return tmp_path / "box" / box.DEFAULT


def test_the_card_of_a_run(limelight: Limelight, trained: Path) -> None:
    ended = limelight("card", "--model", trained)
    assert ended == (0, (trained / "best" / "README.md").read_text(encoding="utf-8").rstrip() + "\n", "")


def test_the_bundled_model_is_taken_where_none_is_named(
    limelight: Limelight, bundled: Path, trained: Path, corpus: Path
) -> None:
    text = corpus.parent / "two.txt"
    text.write_text("a dog\na cat\n", encoding="utf-8")
    ended = limelight("translate", text)
    assert (ended.code, ended.out) == (0, limelight("translate", "--model", trained, text).out)
    assert ended.err.count(f"no --model is given: {box.DEFAULT}, which comes with limelight") == 1
    assert limelight("card").out.startswith("# en -> lumi")
    assert limelight("evaluate", "--test", corpus / "test.tsv").code == 0
    assert "missing model" in limelight("generate", "x").err


def test_a_path_comes_before_a_name(
    bundled: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_model(box.DEFAULT) == bundled
    shutil.copytree(trained / "best", tmp_path / box.DEFAULT)
    assert find_model(box.DEFAULT) == Path(box.DEFAULT)


def test_an_unknown_name_lists_the_bundled_ones(limelight: Limelight, bundled: Path) -> None:
    assert f"or {box.DEFAULT}, which comes with limelight" in limelight("translate", "--model", "nowhere").err


@pytest.fixture
def own(trained: Path, tmp_path: Path) -> Path:
    """A copy of the run, to be written to."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def test_a_card_is_shown_in_any_encoding(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "best" / "README.md").write_text("# a → ä\n", encoding="utf-8")
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="latin-1"))
    assert (run(["card", "--model", str(own)]), printed.getvalue()) == (0, b"# a ? \xe4\n")


def test_text_for_a_shortlist_is_in_the_direction_of_the_model(
    limelight: Limelight, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str] = []
    monkeypatch.setattr(
        "limelight.preparation.shortlist.make_shortlist",
        lambda model, corpora, say: given.extend(str(corpus.direction) for corpus in corpora),
    )
    assert limelight("shortlist", "--model", trained, "--train", "memory.tmx").code == 0
    assert given == ["en-lumi"]


def test_a_shortlist_is_learned_and_used(limelight: Limelight, own: Path, corpus: Path, tmp_path: Path) -> None:
    text = tmp_path / "input.txt"
    text.write_text("\n".join(line.partition("\t")[0] for line in (corpus / "test.tsv").read_text().splitlines()))
    ended = limelight("translate", "--model", own, "--shortlist", text)
    assert (ended.code, ended.out) == (2, "")
    assert f"{own / 'best' / 'shortlist.safetensors'}: there is no shortlist yet" in ended.err
    for words in ([], ["--train", corpus / "train.tsv"]):
        ended = limelight("shortlist", "--model", own, *words)
        assert (ended.code, ended.out) == (0, "")
        assert "learned from 150 pairs" in ended.err
        assert f"wrote {own / 'best' / 'shortlist.safetensors'}; `limelight translate --shortlist` uses it" in ended.err
        for precision in ("fp32", "int8"):
            ended = limelight("translate", "--model", own, "--shortlist", "--precision", precision, text)
            assert ended.code == 0
            assert len(ended.out.splitlines()) == len(text.read_text().splitlines())
