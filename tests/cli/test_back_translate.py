"""`limelight back-translate`: synthetic sources for text that people wrote, drawn or searched, and trained on."""

from pathlib import Path

import pytest

from limelight.formats import read_pairs
from limelight.pipelines.load import load_translator
from tests.cli.conftest import Limelight
from tests.cli.corpora import words, write_lines


@pytest.fixture
def mono(tmp_path: Path, seed: int) -> Path:
    """Words of the language de, each once."""
    return write_lines(tmp_path / "mono.de", [word.upper() for word in dict.fromkeys(words(200, seed))])


def pairs_of(path: Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs([path])]


def test_the_target_is_what_people_wrote_and_the_source_what_the_model_says(
    limelight: Limelight, many: Path, mono: Path, tmp_path: Path
) -> None:
    given = ["back-translate", "--model", many, "--from", "de", "--to", "en", "--text", mono]
    ended = limelight(*given, "-o", tmp_path / "new.tsv")
    assert ended.code == 0, ended.err
    lines = mono.read_text().split()
    translations = load_translator(many).translate(lines, target_lang="en", lines=True, guards=False)
    good = [(each.text, line) for each, line in zip(translations, lines, strict=True) if each.text and each.finished]
    assert pairs_of(tmp_path / "new.tsv") == good != []
    assert f"train --train FILE... --back-translated en-de={tmp_path / 'new.tsv'}" in ended.out
