"""`limelight shortlist`, and `--shortlist` of `limelight translate`."""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Limelight


@pytest.fixture
def own(trained: Path, tmp_path: Path) -> Path:
    """A copy of the run, to be written to."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


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


def test_what_the_command_line_refuses(limelight: Limelight, own: Path, tmp_path: Path) -> None:
    text = tmp_path / "input.txt"
    text.write_text("a\n")
    for words, fault in (
        (["shortlist"], "missing model: give --model RUN"),
        (["shortlist", "--model", own, "--model", own], "2 models: each has a shortlist of its own; give --model once"),
        (["shortlist", "--model", own, "--train", "only.en"], "needs a file with the other"),
        (["shortlist", "--model", own, "--train", tmp_path / "none.tsv"], "none.tsv"),
        (["translate", "--model", own, "--model", own, "--shortlist", text], "2 models and a shortlist: an ensemble"),
    ):
        ended = limelight(*words)
        assert (ended.code, ended.out) == (2, "")
        assert fault in ended.err


def test_a_link_out_of_the_folder_is_refused(limelight: Limelight, own: Path, tmp_path: Path) -> None:
    text = tmp_path / "input.txt"
    text.write_text("a\n")
    (tmp_path / "elsewhere").write_bytes(b"")
    (own / "best" / "shortlist.safetensors").symlink_to(tmp_path / "elsewhere")
    ended = limelight("translate", "--model", own, "--shortlist", text)
    assert ended.code == 2
    assert "shortlist.safetensors: a link out of" in ended.err
