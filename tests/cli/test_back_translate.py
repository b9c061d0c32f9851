"""`limelight back-translate`: synthetic sources for text that people wrote, drawn or searched, and trained on."""

import json
from pathlib import Path

import pytest

from limelight.config import load_config
from limelight.formats import read_pairs
from limelight.pipelines.load import load_translator
from tests.cli.conftest import Limelight
from tests.cli.corpora import words, write_lines, write_pairs


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


def test_a_model_of_several_directions_has_to_be_told(
    limelight: Limelight, many: Path, mono: Path, tmp_path: Path
) -> None:
    ended = limelight("back-translate", "--model", many, "--text", mono, "-o", tmp_path / "new.tsv")
    assert ended.code == 2
    assert "in several directions: en-de, de-en; say which one: give --to LANG" in ended.err
    ended = limelight("back-translate", "--model", many, "-o", tmp_path / "new.tsv")
    assert "missing text: give --text FILE..." in ended.err


def test_a_run_learns_from_it_with_the_tag(limelight: Limelight, many: Path, mono: Path, tmp_path: Path) -> None:
    given = ["back-translate", "--model", many, "--to", "en", "--text", mono, "-o", tmp_path / "new.tsv"]
    assert limelight(*given).code == 0
    write_pairs(tmp_path / "human.tsv", words(200, 8))
    train = ["train", "--train", f"en-de={tmp_path / 'human.tsv'}"]
    synthetic = ["--back-translated", f"en-de={tmp_path / 'new.tsv'}"]
    sizes = "model.encoder_layers=1 model.decoder_layers=1 model.d_model=16 model.heads=2 model.d_ff=20"
    more = f"{sizes} tokens.kind=characters tokens.sampling=0 training.device=cpu training.log_every=1"
    settings = [word for setting in more.split() for word in ("--set", setting)]
    ended = limelight(*train, *synthetic, "--recipe", "tiny", *settings, "--max-steps", 20, "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert "of them back-translated (tag <bt>)" in ended.err
    assert [corpus.tag for corpus in load_config(tmp_path / "run" / "config.yaml").data.train] == ["", "bt"]
    assert load_translator(tmp_path / "run").tokenizers.source.reserved_id("<bt>")
    losses = [
        entry["loss"]
        for entry in map(json.loads, (tmp_path / "run" / "log.jsonl").read_text().splitlines())
        if entry["event"] == "training"
    ]
    assert losses[-1] < losses[0]
    untagged = tmp_path / "untagged"
    assert limelight(*train, *settings, "--recipe", "tiny", "--max-steps", 1, "--out", untagged).code == 0
    again = ["train", "--from", untagged, *synthetic, "--max-steps", 1]
    ended = limelight(*again, "--out", tmp_path / "child")
    assert ended.code == 2
    assert "no reserved token <bt>; --extend-vocabulary adds it" in ended.err
    assert "new.tsv with --train instead of --back-translated" in ended.err
