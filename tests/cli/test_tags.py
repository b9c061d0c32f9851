"""`limelight train --tag`: side constraints of a whole file."""

from pathlib import Path

import pytest

from limelight.config import load_config
from tests.cli.conftest import Limelight, settings

LANGUAGES = ("--source", "en", "--target", "lumi")


def test_a_file_has_one_tag(limelight: Limelight, corpus: Path, tmp_path: Path) -> None:
    path, run = corpus / "train.tsv", tmp_path / "run"
    begin = ["train", "--train", path, *LANGUAGES, "--recipe", "tiny", *settings(), "--hold-out", 5, "--out", run]
    ended = limelight(*begin, "--max-steps", 1, "--tag", f"{path}=domain:law")
    assert ended.code == 0, ended.err
    assert [each.side_constraint for each in load_config(run / "config.yaml").data.train] == ["domain:law"]
    twice = limelight(*begin, "--tag", f"{path}=domain:law", "--tag", f"{path}=formal")
    assert (twice.code, "write FILE=NAME once for a file of --train" in twice.err) == (2, True), twice.err


@pytest.mark.parametrize("name", ["polite", "domain:", ""])
def test_another_name_is_refused_with_what_is_possible(limelight: Limelight, corpus: Path, name: str) -> None:
    path = corpus / "train.tsv"
    ended = limelight("train", "--train", path, *LANGUAGES, "--tag", f"{path}={name}", "--out", corpus / "never")
    assert ended.code == 2
    told = f"--tag {path}={name}: {name!r} is not a side constraint: formal, informal, or domain:NAME"
    assert told in ended.err
