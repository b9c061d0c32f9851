"""`limelight train --tag`: side constraints of a whole file, and of a column."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from limelight.config import load_config
from limelight.formats import read_pairs
from limelight.tokens import load_tokenizers
from tests.cli.conftest import Limelight, settings

LANGUAGES = ("--source", "en", "--target", "lumi")
TAGS = ("formal", "-", "informal", "domain:law")


def tsv(rows: list[tuple[str, str, str]], path: Path) -> tuple[Path, str]:
    path = path.with_suffix(".tsv")
    path.write_text("".join(f"{source}\t{target}\tnotes\t{tag}\n" for source, target, tag in rows), encoding="utf-8")
    return path, "4"


def csv(rows: list[tuple[str, str, str]], path: Path) -> tuple[Path, str]:
    path = path.with_suffix(".csv")
    lines = [f'"{source}",{tag} ,"{target}"\n' for source, target, tag in rows]
    path.write_text("source,how it is said,target\n" + "".join(lines), encoding="utf-8")
    return path, "how it is said"


def jsonl(rows: list[tuple[str, str, str]], path: Path) -> tuple[Path, str]:
    path = path.with_suffix(".jsonl")
    lines = [json.dumps({"source": source, "register": tag, "target": target}) for source, target, tag in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path, "register"


def rows_of(corpus: Path) -> list[tuple[str, str, str]]:
    pairs = read_pairs([corpus / "train.tsv"])
    return [(pair.source, pair.target, TAGS[number % len(TAGS)]) for number, pair in enumerate(pairs)]


@pytest.mark.parametrize("written", [tsv, csv, jsonl])
def test_a_column_says_the_tag_of_each_pair(
    limelight: Limelight, corpus: Path, tmp_path: Path, written: Callable[..., tuple[Path, str]]
) -> None:
    rows, run = rows_of(corpus), tmp_path / "run"
    path, column = written(rows, tmp_path / "pairs")
    begin = ["train", "--train", path, "--tag", f"{path}=column:{column}", "--valid", corpus / "valid.tsv", *LANGUAGES,
             "--recipe", "tiny", *settings(), "--out", run]  # fmt: skip
    ended = limelight(*begin, "--max-steps", 2)
    assert ended.code == 0, ended.err
    corpora = load_config(run / "config.yaml").data.train
    assert [(each.column, each.side_constraint) for each in corpora] == [
        (column, name) for name in ("", "domain:law", "formal", "informal")
    ]
    for number, each in enumerate(corpora):
        told = each.side_constraint or "-"
        mine = [row for row in rows if row[2] == told]
        assert f"{path} ({told}): {len(mine)} of {len(mine)} pairs kept" in ended.err
        assert (run / "data" / f"train-{number}" / "store.json").exists()
    assert ended.err.count("pairs kept") == len(TAGS)
    assert "has 4 columns" not in ended.err  # the fourth is used
    tokenizer = load_tokenizers(run / "tokenizer").source
    assert all(tokenizer.reserved_id(f"<{name}>") for name in ("formal", "informal", "domain:law"))
    assert "going on after update 2" in limelight(*begin, "--max-steps", 3).err
    assert "going on after update 3" in limelight("train", "--out", run, "--max-steps", 4).err


def test_a_file_has_one_tag(limelight: Limelight, corpus: Path, tmp_path: Path) -> None:
    path, run = corpus / "train.tsv", tmp_path / "run"
    begin = ["train", "--train", path, *LANGUAGES, "--recipe", "tiny", *settings(), "--hold-out", 5, "--out", run]
    ended = limelight(*begin, "--max-steps", 1, "--tag", f"{path}=domain:law")
    assert ended.code == 0, ended.err
    assert [each.side_constraint for each in load_config(run / "config.yaml").data.train] == ["domain:law"]
    twice = limelight(*begin, "--tag", f"{path}=domain:law", "--tag", f"{path}=formal")
    assert (twice.code, "has a tag already; give one --tag for a file" in twice.err) == (2, True), twice.err


@pytest.mark.parametrize("name", ["polite", "column:", "Column:x", "domain:", ""])
def test_another_name_is_refused_with_what_is_possible(limelight: Limelight, corpus: Path, name: str) -> None:
    path = corpus / "train.tsv"
    ended = limelight("train", "--train", path, *LANGUAGES, "--tag", f"{path}={name}", "--out", corpus / "never")
    assert ended.code == 2
    told = f"--tag {path}={name}: {name!r} is not a side constraint: formal, informal, or domain:NAME"
    assert told in ended.err
    assert "or column:NAME, a column of the file that says it" in ended.err
