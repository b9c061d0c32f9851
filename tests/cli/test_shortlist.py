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
