"""`limelight distill` and `back-translate`: new text in the words of a model, whole after an interruption, reported."""

import json
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest

from limelight.cli.app import run
from limelight.documents.parts import parts_of
from limelight.formats import read_pairs
from limelight.pipelines.load import load_translator
from tests.cli.conftest import Limelight
from tests.cli.corpora import words, write_lines, write_pairs
from tests.torture.commands import Command, Moment


def pairs_of(path: Path) -> list[tuple[str, str]]:
    return [(pair.source, pair.target) for pair in read_pairs([path])]


def expected(run: Path, texts: Iterable[str], target: str | None = None) -> list[tuple[str, str]]:
    """Each text once, with its translation, those that are left out aside."""
    unique = list(dict.fromkeys(filter(None, texts)))
    found = load_translator(run).translate(unique, target_lang=target, lines=True, guards=False)
    return [(text, each.text) for text, each in zip(unique, found, strict=True) if each.text and each.finished]


def test_the_corpus_holds_what_the_model_translates_in_the_order_of_the_text(
    limelight: Limelight, one: Path, tmp_path: Path, seed: int
) -> None:
    lines = [*words(60, seed), "", "abc", "abc"]
    write_lines(tmp_path / "a.en", lines)
    ended = limelight("distill", "--model", one, "--text", tmp_path / "a.en", "-o", tmp_path / "new.tsv.gz")
    assert ended.code == 0, ended.err
    kept = expected(one, lines)
    assert len(kept) > 30
    assert pairs_of(tmp_path / "new.tsv.gz") == kept
    assert f"new.tsv.gz: {len(kept)} pairs from 63 inputs\n  left out 1: the input is blank\n" in ended.out
    assert "train with it: limelight train --train en-de=" in ended.out
    assert f"{tmp_path / 'new.tsv.gz'}: beginning: 63 lines\n" in ended.err
    report = json.loads((tmp_path / "new.tsv.gz.json").read_text())
    assert report["pairs"] == len(kept)
    assert len(report["made_of"]["models"]["1"]["model.safetensors"]) == 64
    again = limelight("distill", "--model", one, "--text", tmp_path / "a.en", "-o", tmp_path / "new.tsv.gz", "--quiet")
    assert (again.code, again.out, again.err) == (0, ended.out, "")


def test_each_corpus_is_translated_in_its_direction(
    limelight: Limelight, many: Path, tmp_path: Path, seed: int
) -> None:
    sources = list(dict.fromkeys(words(60, seed)))
    there, back = sources[:20], [word[::-1].upper() for word in sources[20:]]
    write_pairs(tmp_path / "a.tsv", there)
    (tmp_path / "b.tsv").write_text("".join(f"{word}\t{word[::-1].lower()}\n" for word in back))
    corpora = ["--train", f"en-de={tmp_path / 'a.tsv'}", f"de-en={tmp_path / 'b.tsv'}"]
    ended = limelight("distill", "--model", many, *corpora, "-o", tmp_path / "new.TSV")
    assert ended.code == 0, ended.err
    assert pairs_of(tmp_path / "new.en-de.TSV") == expected(many, there, "de") != []
    assert pairs_of(tmp_path / "new.de-en.TSV") == expected(many, back, "en") != []
    assert f"--train de-en={tmp_path / 'new.de-en.TSV'}" in ended.out
    assert not (tmp_path / "new.TSV").exists()


@pytest.fixture(scope="module")
def whole(one: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpus of an uninterrupted command, beside its text (a.en): 1,000 lines and 200 more are two commits."""
    folder = tmp_path_factory.mktemp("whole")
    write_lines(folder / "a.en", words(1200, 7, most=6))
    output = folder / "whole.tsv.gz"
    text = ["--text", str(folder / "a.en"), "-o", str(output)]
    assert run(["distill", "--model", str(one), *text, "--beam", "1", "--device", "cpu", "--quiet"]) == 0
    return output


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_interrupted_it_goes_on_to_the_same_bytes(
    number: signal.Signals, limelight: Limelight, one: Path, whole: Path, tmp_path: Path
) -> None:
    text = str(whole.parent / "a.en")
    begin = ["distill", "--model", str(one), "--text", text, "--beam", "1", "--device", "cpu"]
    words_of_it = [*begin, "-o", str(tmp_path / "new.tsv.gz")]
    command = Command(words_of_it, tmp_path / "err", Moment("limelight.documents.parts.Parts.append", 2, lasts=30))
    command.reach()
    command.send(number)
    ended = command.end()
    folder = parts_of(tmp_path / "new.tsv.gz")
    assert json.loads((folder / "000000.json").read_text())["tally"]["inputs"] == 1000
    if number == signal.SIGINT:
        assert ended.code == 130
        assert f"stopped by SIGINT; the work so far is in {folder}; the same command continues it" in command.errors
    other = limelight(*words_of_it, "--length-penalty", "1")
    assert other.code == 2
    assert "made with other settings: search.length_penalty is 0.6 there, 1.0 here" in other.err
    rest = limelight(*words_of_it)
    assert rest.code == 0
    assert "new.tsv.gz: resuming after line 1,000 of 1,200 lines" in rest.err
    assert (tmp_path / "new.tsv.gz").read_bytes() == whole.read_bytes()
    assert not folder.exists()
    assert len(pairs_of(tmp_path / "new.tsv.gz")) > 250


@pytest.fixture
def mono(tmp_path: Path, seed: int) -> Path:
    """Words of the language de, each once."""
    return write_lines(tmp_path / "mono.de", [word.upper() for word in dict.fromkeys(words(200, seed))])


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
