"""Files, languages and numbers on the command line."""

from pathlib import Path

import pytest

from limelight.cli.arguments import repeat_options
from limelight.cli.corpora import corpora
from limelight.config import sides_of
from limelight.errors import UserError
from limelight.formats import read_pairs
from limelight.text.pair import BadLine

SEVERAL = ("--train", "--valid", "--test")


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("train --train a b --out r", "train --train=a --train=b --out r"),
        ("train --train a --valid b c --train d", "train --train=a --valid=b --valid=c --train=d"),
        ("evaluate --json --test a b", "evaluate --json --test=a --test=b"),
        ("train --train -", "train --train=-"),
        ("attention --target -- --test", "attention --target -- --test"),
        ("train --train a -- --train b", "train --train=a -- --train b"),
        ("translate --length-penalty -1 in", "translate --length-penalty -1 in"),
        ("train --set a.b=-1 --train=x=y", "train --set a.b=-1 --train=x=y"),
    ],
)
def test_options_that_take_several_words_are_repeated(given: str, read: str) -> None:
    assert repeat_options(given.split(), SEVERAL) == read.split()


@pytest.mark.parametrize(
    "given", ["--train", "--train --out r", "--out r --train=", "--valid -- a", "--train --valid a"]
)
def test_an_option_without_its_files_is_refused(given: str) -> None:
    option = "--valid" if "--valid --" in given else "--train"
    with pytest.raises(
        UserError,
        match=rf"{option}: name a file after it: one that holds both sides \(\.tsv, .*\), two files line by line",
    ):
        repeat_options(given.split(), SEVERAL)


def named(*files: str, source: str = "", target: str = "") -> list[tuple[tuple[str, ...], str, str]]:
    return [(each.files, each.source, each.target) for each in corpora(list(files), source, target, "--train")]


@pytest.mark.parametrize(
    ("files", "source", "target"),
    [("train.en train.de", "de", "en"), ("train.en.gz train.de.gz", "de", ""), ("train.en train.de", "", "EN")],
)
def test_two_files_in_the_other_order_than_the_languages_are_refused(files: str, source: str, target: str) -> None:
    first, second = files.split()
    with pytest.raises(UserError, match=rf"the first is in en, the second in de; .* Give --train {second} {first}, or"):
        named(first, second, source=source, target=target)


def test_languages_are_guessed_from_names_unless_they_are_given() -> None:
    assert named("train.en", "train.de.zst") == [(("train.en", "train.de.zst"), "en", "de")]
    assert named("train.en", "train.de", target="nds") == [(("train.en", "train.de"), "en", "nds")]
    assert named("train.1", "train.english") == [(("train.1", "train.english"), "source", "target")]
    assert corpora([], "", "", "--train") == ()


@pytest.mark.parametrize("files", [["a.en"], ["a.en", "b.tsv"], ["a.tsv", "b.txt"], ["a.en", "a.de", "b.en"]])
def test_half_a_pair_of_files_is_refused(files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in files:
        Path(file).write_text("a dog\tein Hund\n" if file.endswith(".tsv") else "a dog\n")
    with pytest.raises(UserError, match=r"--valid [ab]\.\w+: a file with one language needs a file with the other"):
        corpora(files, "", "", "--valid")


TABLES = {
    "a.tsv": "1\teins\tone\n2\tzwei\ttwo\n",
    "h.tsv": "id\tGerman\tEnglish\n1\teins\tone\n2\tzwei\ttwo\n",
    "scored.tsv": "one\t1\teins\ntwo\t0\tzwei\n",
    "a.csv": "id,deutsch,englisch,note\n1,eins,one,x\n2,zwei,two,y\n",
    "a.jsonl": '{"de_text": "eins", "en_text": "one"}\n{"en_text": "two", "de_text": "zwei"}\n',
}


@pytest.mark.parametrize(
    "given",
    [
        "a.tsv:3,2",
        "h.tsv:English,German",
        "scored.tsv:1,3",
        "a.csv:englisch,deutsch",
        "a.csv:3,2",
        "a.jsonl:en_text,de_text",
    ],
)
def test_columns_of_a_table_are_chosen_by_number_or_name_in_either_order(given: str, tmp_path: Path) -> None:
    for name, content in TABLES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    [corpus] = corpora([f"en-de={tmp_path}/{given}"], "", "", "--train")
    pairs = [("one", "eins"), ("two", "zwei")]
    assert [(pair.source, pair.target) for pair in read_pairs(corpus.files, *sides_of(corpus))] == pairs
    file, columns = given.split(":")
    [corpus] = corpora([f"{tmp_path}/{file}:{','.join(columns.split(',')[::-1])}"], "de", "en", "--train")
    assert [(pair.target, pair.source) for pair in read_pairs(corpus.files, *sides_of(corpus))] == pairs
    [corpus] = corpora([f"{tmp_path}/{file}:{columns.split(',')[0]},nine"], "", "", "--train")
    with pytest.raises(UserError, match=r"no column nine|no text 'nine'"):
        list(read_pairs(corpus.files, *sides_of(corpus)))


def test_datasets_of_hugging_face_are_read_as_they_lie(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = arrow.Table.from_pylist([{"id": 1, "translation": {"de": "eins", "en": "one"}}, {"translation": None}])
    parquet.write_table(rows, tmp_path / "a.parquet")
    (tmp_path / "saved" / "train").mkdir(parents=True)
    with arrow.ipc.new_stream(tmp_path / "saved" / "train" / "0.arrow", rows.schema) as stream:
        stream.write_table(rows)
    with arrow.ipc.new_file(tmp_path / "b.arrow", rows.schema) as file:
        file.write_table(rows)
    for word in ("a.parquet", "saved/train/0.arrow", "b.arrow"):
        [corpus] = corpora([f"{tmp_path}/{word}"], "en", "de", "--train")
        bad: list[BadLine] = []
        [pair] = read_pairs(corpus.files, "en", "de", on_bad_line=bad.append)
        assert (pair.source, pair.target, len(bad)) == ("one", "eins", 1)
    with pytest.raises(UserError, match=r"is a folder; name the files in it: .*holds both sides"):
        corpora([f"{tmp_path}/saved"], "en", "de", "--train")
