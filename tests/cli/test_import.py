"""`limelight import`: the command line around the conversion, and what can be done with the result."""

import json
from pathlib import Path

import pytest

from limelight.interop import export_huggingface
from limelight.storage.model import load_model
from tests.cli.conftest import Limelight
from tests.interop.helpers import make_stored, make_tokenizers, transformer


@pytest.fixture(scope="module")
def marian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("marian")
    stored = make_stored(folder / "model", transformer(), make_tokenizers(joint=True))
    export_huggingface(stored, folder / "there")
    return folder / "there"


def test_an_imported_model_is_a_model(limelight: Limelight, marian: Path, corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    ended = limelight("import", marian, "-o", run)
    assert ended == (0, "", f"wrote {run}; translate with `limelight translate --model {run}`\n")
    (tmp_path / "text").write_text("The dog runs.\n\nTwo birds.\n")
    ended = limelight("translate", "--model", run, "--beam", "2", tmp_path / "text")
    assert (ended.code, ended.out.count("\n")) == (0, 3)
    ended = limelight("evaluate", "--model", run, "--test", corpus / "test.tsv", "--beam", "1", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["bleu"] >= 0
    ended = limelight("attention", "--model", run, "The dog runs.", "--target", "Der Hund.")
    assert ended.code == 0
    assert "Hund." in ended.out


def test_an_imported_model_is_not_trained_over(
    limelight: Limelight, marian: Path, corpus: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    limelight("import", marian, "-o", run)
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for words in ([], ["--train", corpus / "train.tsv"]):
        ended = limelight("train", "--out", run, "--max-steps", "1", *words)
        assert ended.code == 2
    assert {path: path.read_bytes() for path in before} == before


def test_what_the_command_line_refuses(limelight: Limelight, marian: Path, tmp_path: Path) -> None:
    for words, fault in (
        ([marian], "missing option"),
        (["-o", tmp_path / "out"], "missing argument 'FOLDER'"),
        ([tmp_path / "none", "-o", tmp_path / "out"], "not the folder of a Marian model"),
        ([marian, "-o", marian], "exists already"),
    ):
        ended = limelight("import", *words)
        assert (ended.code, ended.out) == (2, "")
        assert fault in ended.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("joint", [True, False])
def test_an_imported_model_begins_a_run(limelight: Limelight, corpus: Path, tmp_path: Path, *, joint: bool) -> None:
    """Its vocabulary can be extended if both sides have one tokenizer. Those of OPUS-MT have two: refused before any
    work."""
    model = transformer() if joint else transformer(tie="none")
    stored = make_stored(tmp_path / "model", model, make_tokenizers(joint=joint, byte_fallback=joint))
    export_huggingface(stored, tmp_path / "marian")
    limelight("import", tmp_path / "marian", "-o", tmp_path / "parent")
    given = ["train", "--from", tmp_path / "parent", "--train", corpus / "train.tsv", "--valid", corpus / "valid.tsv"]
    given += ["--source", "en", "--target", "lumi", "--max-steps", 1, "--set", "data.replay=0"]
    ended = limelight(*given, "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    ended = limelight(*given, "--extend-vocabulary", "--out", tmp_path / "larger")
    if joint:
        assert ended.code == 0, ended.err
        sizes = [load_model(tmp_path / name).tokenizers.target.size for name in ("run", "larger")]
        assert sizes[1] > sizes[0]
    else:
        assert ended.code == 2
        assert f"{tmp_path / 'parent'}: each side has a tokenizer of its own, and only a joint one can be" in ended.err
        assert "leave --extend-vocabulary out" in ended.err
        assert not (tmp_path / "larger").exists()
