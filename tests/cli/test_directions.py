"""A model of two directions through the command line: asked for by --from and --to, and scored one by one."""

import json
from pathlib import Path

import pytest

import limelight
from limelight.cli.app import run
from limelight.config import Corpus
from limelight.storage.layout import DETECTOR
from limelight.training.run import train
from tests.training.helpers import tiny_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one update that knows en-de and de-en."""
    place = tmp_path_factory.mktemp("many")
    config = tiny_run(place / "text", max_steps=1)
    data = config.data.model_copy(update={"both_directions": True})
    train(config.model_copy(update={"data": data}), place / "run", quiet=True)
    return place / "run"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("a b\n", encoding="utf-8")
    return path


def test_a_direction_has_to_be_clear(folder: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for kept in folder.glob(f"**/{DETECTOR}"):  # which would choose among the directions
        kept.unlink()
    assert run(["translate", "--model", str(folder), str(text)]) == 2
    assert "in several directions: en-de, de-en; say which one: give --to LANG" in capsys.readouterr().err
    assert run(["translate", "--model", str(folder), "--to", "fr", str(text)]) == 2
    assert "does not translate to fr; its directions are: en-de, de-en" in capsys.readouterr().err
    assert run(["translate", "--model", str(folder), "--from", "de", "--to", "de", str(text)]) == 2
    assert "does not translate from de to de" in capsys.readouterr().err


def test_the_command_line_and_python_agree(folder: Path, text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    translator = limelight.load(folder)
    outputs = {}
    for language in ("de", "en"):
        assert run(["translate", "--model", str(folder), "--to", language, "--json", str(text)]) == 0
        outputs[language] = json.loads(capsys.readouterr().out)
        expected = translator.translate("a b", target_lang=language)
        assert outputs[language]["text"] == expected.text
        assert outputs[language]["log_probability"] == pytest.approx(expected.log_probability, abs=1e-5)
    assert outputs["de"]["log_probability"] != pytest.approx(outputs["en"]["log_probability"], abs=1e-6)
    seen = translator.attention("a b", target="c", source_lang="de")
    assert seen.source_pieces[0] == "<2en>"


def test_each_direction_is_scored_and_their_mean(
    folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pairs = "".join(f"a b {n}\tc d {n}\n" for n in range(5))
    (tmp_path / "t.tsv").write_text(pairs, encoding="utf-8")
    test = str(tmp_path / "t.tsv")
    assert run(["evaluate", "--model", str(folder), "--test", f"en-de={test}", f"de-en={test}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert set(found) == {"mean", "directions"}
    assert list(found["directions"]) == ["en-de", "de-en"]
    losses = [each["perplexity"] for each in found["directions"].values()]
    assert losses[0] != losses[1]
    assert found["mean"]["perplexity"] == pytest.approx(sum(losses) / 2, rel=1e-4)
    assert run(["evaluate", "--model", str(folder), "--test", f"en-de={test}", f"de-en={test}"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in table[:4]] == ["direction", "en-de", "de-en", "mean"]
    assert run(["evaluate", "--model", str(folder), "--test", test, "--to", "de", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["perplexity"] == losses[0]
    assert run(["evaluate", "--model", str(folder), "--test", test]) == 2


def test_languages_stand_before_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from limelight.cli.corpora import corpora

    found = corpora(["en-de=a.tsv", "en-pt_BR=b.en", "b.pt", "zh-en=c.jsonl.gz"], "", "", "--train")
    assert found == (
        Corpus(files=("a.tsv",), source="en", target="de"),
        Corpus(files=("b.en", "b.pt"), source="en", target="pt_BR"),
        Corpus(files=("c.jsonl.gz",), source="zh", target="en"),
    )
    monkeypatch.chdir(tmp_path)
    Path("en-de=x.tsv").write_text("a\tb\n", encoding="utf-8")  # a file that has such a name comes first
    assert corpora(["en-de=x.tsv"], "", "", "--train")[0].files == ("en-de=x.tsv",)
