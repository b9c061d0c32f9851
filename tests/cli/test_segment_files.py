"""A translation memory: trained on, validated on, evaluated on, as it is."""

import json
import re
from collections.abc import Sequence
from html import escape
from pathlib import Path

from tests.cli.conftest import Limelight, settings
from tests.formats.files import tmx, unit

Pairs = Sequence[tuple[str, str]]


def as_tmx(pairs: Pairs) -> str:
    return tmx("".join(unit(("en-GB", source), ("fr", "autre"), ("MI", target)) for source, target in pairs))


def pairs_in(file: Path, count: int) -> Pairs:
    lines = file.read_text(encoding="utf-8").splitlines()[:count]
    sides = [line.split("\t") for line in lines]
    return [(escape(source, quote=False), escape(target, quote=False)) for source, target in sides]


def test_a_memory_from_training_to_evaluation(limelight: Limelight, corpus: Path, tmp_path: Path) -> None:
    counts = {"train": 60, "valid": 5, "test": 5}
    files = {name: tmp_path / f"{name}.tmx" for name in counts}
    for name, count in counts.items():
        files[name].write_text(as_tmx(pairs_in(corpus / f"{name}.tsv", count)), encoding="utf-8")
    text = ["--train", files["train"], "--valid", files["valid"], "--source", "en", "--target", "mi"]
    ended = limelight("train", *text, "--recipe", "tiny", *settings(), "--max-steps", 4, "--out", tmp_path / "run")
    assert ended.code == 0, ended.err
    assert "60 of 60 pairs kept" in ended.err
    first, second = pairs_in(corpus / "train.tsv", 1)[0]
    assert re.search(rf"train\.tmx:\d+: en: {re.escape(first)} -> mi: {re.escape(second)}\n", ended.err)
    ended = limelight("evaluate", "--model", tmp_path / "run", "--test", files["test"], "--beam", 1, "--json")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out)["sentences"] == 5


def test_a_file_of_other_languages_is_a_mistake_that_lists_them(
    limelight: Limelight, corpus: Path, tmp_path: Path
) -> None:
    file = tmp_path / "a.tmx"
    file.write_text(as_tmx(pairs_in(corpus / "train.tsv", 5)), encoding="utf-8")
    for languages, fault in (
        (
            ["--source", "en", "--target", "de"],
            "no segment in both en and de; its languages are: MI, en-GB, fr.",
        ),
        ([], "the file has more than two languages: MI, en-GB, fr; say which to read with --source and --target"),
    ):
        ended = limelight("train", "--train", file, *languages, "--recipe", "tiny", "--out", tmp_path / "run")
        assert (ended.code, ended.out) == (2, "")
        assert fault in ended.err
    assert not (tmp_path / "run").exists()
