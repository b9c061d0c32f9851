"""`--no-pivot`, and what commands say of a translation through another language."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Limelight
from tests.cli.corpora import connecting_run

WAY = ("--from", "de", "--to", "fr")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of de-en and en-fr."""
    return connecting_run(tmp_path_factory.mktemp("through"))


def test_the_path_is_in_json_and_told_on_standard_error(limelight: Limelight, run: Path) -> None:
    ended = limelight("translate", "--model", run, *WAY, "--json", "--text", "abc")
    assert ended.code == 0
    assert "translates de-fr through English; --no-pivot refuses that" in ended.err
    found = json.loads(ended.out)
    assert (found["path"], found["source_lang"], found["target_lang"]) == (["de", "en", "fr"], "de", "fr")
    ended = limelight("translate", "--model", run, "--from", "de", "--to", "en", "--json", "--text", "abc")
    assert (json.loads(ended.out)["path"], "through" in ended.err) == ([], False)


def test_no_pivot_refuses(limelight: Limelight, run: Path) -> None:
    ended = limelight("translate", "--model", run, *WAY, "--no-pivot", "--text", "abc")
    assert (ended.code, ended.out) == (2, "")
    assert "does not translate from de to fr; its directions are: de-en, en-fr" in ended.err
