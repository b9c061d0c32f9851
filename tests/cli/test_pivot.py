"""`--no-pivot`, and what commands say of a translation through another language."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import Limelight
from tests.cli.corpora import connecting_run, write_lines

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


def test_no_pivot_refuses_and_says_what_to_do(limelight: Limelight, run: Path) -> None:
    ended = limelight("translate", "--model", run, *WAY, "--no-pivot", "--text", "abc")
    assert (ended.code, ended.out) == (2, "")
    assert "does not translate from de to fr; its directions are: de-en, en-fr; without --no-pivot" in ended.err


@pytest.mark.parametrize("command", [("attention", "abc"), ("align", "abc", "cba")])
def test_what_needs_one_direction_names_both(
    limelight: Limelight, run: Path, tmp_path: Path, command: Sequence[str]
) -> None:
    name, *texts = command
    if name == "align":
        texts = [str(write_lines(tmp_path / f"text{number}", [text])) for number, text in enumerate(texts)]
    ended = limelight(name, "--model", run, *WAY, *texts)
    assert (ended.code, ended.out) == (2, "")
    assert "what needs one direction takes de-en or en-fr" in ended.err


def test_evaluation_names_both(limelight: Limelight, run: Path, tmp_path: Path) -> None:
    pairs = write_lines(tmp_path / "test.tsv", ["abc\tCBA"])
    for command in ("evaluate", "calibrate"):
        ended = limelight(command, "--model", run, "--test" if command == "evaluate" else "--valid", f"de-fr={pairs}")
        assert ended.code == 2
        assert "what needs one direction takes de-en or en-fr" in ended.err


def test_documents_go_through_too(limelight: Limelight, run: Path, tmp_path: Path) -> None:
    document = write_lines(tmp_path / "page.html", ["<p>abc <b>dae</b></p>"])
    into = tmp_path / "new.html"
    ended = limelight("translate", "--model", run, *WAY, document, "-o", into)
    assert ended.code == 0, ended.err
    assert into.read_text(encoding="utf-8").count("<b>") == 1
    ended = limelight("translate", "--model", run, *WAY, "--no-pivot", document, "-o", tmp_path / "no.html")
    assert ended.code == 2
    assert not (tmp_path / "no.html").exists()
