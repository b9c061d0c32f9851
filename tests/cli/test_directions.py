"""A model of several directions through the command line: asked for by --from and --to, scored, connected."""

import json
import shutil
from pathlib import Path

import pytest

from limelight.cli.corpora import _direction, corpora
from limelight.config import Corpus
from limelight.storage.layout import DETECTOR
from tests.cli.conftest import Limelight
from tests.cli.corpora import connecting_run, words, write_pairs


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("a b\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("code", ["zh", "yue", "pt-BR", "sr-Latn", "zh-Hant-HK", "es-419", "hye_Armn"])
def test_codes_have_scripts_and_regions(code: str) -> None:
    assert _direction(f"{code}-en=a.tsv") == (code, "en", "a.tsv")
    assert _direction(f"en-{code}=a.tsv") == ("en", code, "a.tsv")


def test_a_direction_has_to_be_clear(limelight: Limelight, many: Path, text: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(many / "best", tmp_path / "model")
    (folder / DETECTOR).unlink(missing_ok=True)  # which would choose among the directions
    for asked, message in (
        ("", "in several directions: en-de, de-en; say which one: give --to LANG"),
        ("--to fr", "does not translate to fr; its directions are: en-de, de-en"),
        ("--from de --to de", "does not translate from de to de"),
    ):
        ended = limelight("translate", "--model", folder, *asked.split(), text)
        assert (ended.code, message in ended.err) == (2, True), ended.err


def test_each_direction_is_scored_and_their_mean(limelight: Limelight, many: Path, tmp_path: Path) -> None:
    test = write_pairs(tmp_path / "t.tsv", words(5, seed=3))
    each = [f"en-de={test}", f"de-en={test}"]
    ended = limelight("evaluate", "--model", many, "--test", *each, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    assert set(found) == {"mean", "directions"}
    assert list(found["directions"]) == ["en-de", "de-en"]
    losses = [scores["perplexity"] for scores in found["directions"].values()]
    assert losses[0] != losses[1]
    assert found["mean"]["perplexity"] == pytest.approx(sum(losses) / 2, rel=1e-4)
    table = limelight("evaluate", "--model", many, "--test", *each).out.splitlines()
    assert [line.split()[0] for line in table[:4]] == ["direction", "en-de", "de-en", "mean"]
    one = limelight("evaluate", "--model", many, "--test", test, "--to", "de", "--json")
    assert json.loads(one.out)["perplexity"] == losses[0]
    assert limelight("evaluate", "--model", many, "--test", test).code == 2


def test_a_memory_is_used_in_the_direction_of_the_text(limelight: Limelight, many: Path, tmp_path: Path) -> None:
    variants = "".join(f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in (("en", "a b"), ("de", "c")))
    (tmp_path / "m.tmx").write_text(f'<tmx version="1.4"><body><tu>{variants}</tu></body></tmx>', encoding="utf-8")
    ended = limelight("translate", "--model", many, "--to", "en", "--memory", tmp_path / "m.tmx", "--text", "c")
    assert ended.out == "a b\n", ended.err
    before = sorted(tmp_path.iterdir())
    ended = limelight("translate", "--model", many, "--to", "fr", "--memory", tmp_path / "m.tmx", "--text", "c")
    assert (ended.code, sorted(tmp_path.iterdir())) == (2, before)
    assert "does not translate to fr; its directions are: en-de, de-en" in ended.err


def test_languages_stand_before_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = corpora(["en-de=a.tsv", "en-pt_BR=b.en", "b.pt", "pt-BR-en=c.jsonl.gz"], "", "", "--train")
    assert found == (
        Corpus(files=("a.tsv",), source="en", target="de"),
        Corpus(files=("b.en", "b.pt"), source="en", target="pt_BR"),
        Corpus(files=("c.jsonl.gz",), source="pt-BR", target="en"),
    )
    monkeypatch.chdir(tmp_path)
    Path("en-de=x.tsv").write_text("a\tb\n", encoding="utf-8")  # a file that has such a name comes first
    assert corpora(["en-de=x.tsv"], "", "", "--train")[0].files == ("en-de=x.tsv",)


WAY = ("--from", "de", "--to", "fr")


@pytest.fixture(scope="module")
def connecting(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of de-en and en-fr."""
    return connecting_run(tmp_path_factory.mktemp("through"), steps=1)


def test_the_path_is_in_json(limelight: Limelight, connecting: Path) -> None:
    ended = limelight("translate", "--model", connecting, *WAY, "--json", "--text", "abc")
    assert ended.code == 0
    found = json.loads(ended.out)
    assert (found["path"], found["source_lang"], found["target_lang"]) == (["de", "en", "fr"], "de", "fr")
    ended = limelight("translate", "--model", connecting, "--from", "de", "--to", "en", "--json", "--text", "abc")
    assert json.loads(ended.out)["path"] == []


def test_no_pivot_refuses(limelight: Limelight, connecting: Path) -> None:
    ended = limelight("translate", "--model", connecting, *WAY, "--no-pivot", "--text", "abc")
    assert (ended.code, ended.out) == (2, "")
    assert "does not translate from de to fr; its directions are: de-en, en-fr" in ended.err
