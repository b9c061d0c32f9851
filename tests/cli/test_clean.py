"""`limelight clean`: what is removed is listed with its reason, and all else is written as it was."""

import csv
import os
from pathlib import Path

import pytest

from limelight.formats import read_pairs
from tests.cli.conftest import Limelight

GOOD = [
    (
        f"The man of house {number} was not in the old garden.",
        f"Der Mann von Haus {number} war nicht in dem alten Garten.",
    )
    for number in range(30)
]
FAULTY = {
    "one side is empty": ("There is no one.", ""),
    "both sides are the same text": ("Copyright 2024 by Example", "Copyright 2024 by Example"),
    "the pair was seen before": GOOD[3],
    "the pair differs from an earlier one in case, signs or spaces alone": (GOOD[4][0].upper(), f" {GOOD[4][1]}!"),
    "characters are damaged by a wrong encoding": ("He was too late for it.", "Er war fÃ¼r es zu spÃ¤t."),
    "a side is in another language": GOOD[5][::-1],
    "the sides differ too much in length": (
        "No.",
        "Das ist nun wirklich eine sehr lange Antwort auf alle diese Fragen.",
    ),
}


def rows_of(path: Path) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def write(path: Path, pairs: list[tuple[str, str]]) -> Path:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")
    return path


def test_each_fault_is_removed_for_its_reason(limelight: Limelight, tmp_path: Path) -> None:
    text = write(tmp_path / "text.tsv", [*GOOD, *FAULTY.values()])
    ended = limelight("clean", text, "--source", "en", "--target", "de", "-o", tmp_path / "clean.tmx")
    assert ended.code == 0, ended.err
    found = [(pair.source, pair.target) for pair in read_pairs([tmp_path / "clean.tmx"], "en", "de")]
    assert found == GOOD
    listed = rows_of(tmp_path / "clean-left-out.tsv")
    assert [(int(row[1]), row[2]) for row in listed] == [(31 + number, reason) for number, reason in enumerate(FAULTY)]
    assert "30 of 37 pairs kept" in ended.err
    assert "clean-left-out.tsv" in ended.err


def test_words_that_differ_in_vowel_signs_alone_are_different_words(limelight: Limelight, tmp_path: Path) -> None:
    pairs = [("मेरा", "ကို"), ("मेरी", "ကာ"), ("मेरी!", " ကာ")]
    ended = limelight("clean", write(tmp_path / "a.tsv", pairs), "-o", tmp_path / "b.tsv")
    assert "2 of 3 pairs kept" in ended.err


@pytest.mark.parametrize(
    ("language", "own"), [("sat", "ᱚᱲᱟᱜ {} ᱢᱟᱨᱮ᱾"), ("ru", "Дом {} старый."), ("ja", "家 {} です。")]
)
def test_lines_that_are_not_translated_are_removed(
    language: str, own: str, limelight: Limelight, tmp_path: Path
) -> None:
    pairs = [(f"The house {number} is old.", own.format(number)) for number in range(30)]
    text = write(tmp_path / "a.tsv", [*pairs, ("He was late.", "HE WAS LATE (to do)"), ("It is 7 8 9.", "7 8 9")])
    ended = limelight("clean", text, "--source", "en", "--target", language, "-o", tmp_path / "b.tsv")
    assert "31 of 32 pairs kept" in ended.err
    assert [row[2] for row in rows_of(tmp_path / "b-left-out.tsv")] == ["a side is in another language"]


def test_two_files_become_two_files(limelight: Limelight, tmp_path: Path) -> None:
    for side, name in enumerate(("text.en", "text.de")):
        lines = [pair[side] for pair in (*GOOD, *FAULTY.values())]
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    outputs = tmp_path / "clean.en", tmp_path / "clean.de"
    ended = limelight("clean", tmp_path / "text.en", tmp_path / "text.de", "-o", outputs[0], "-o", outputs[1])
    assert ended.code == 0, ended.err
    assert [(pair.source, pair.target) for pair in read_pairs(outputs)] == GOOD


def test_the_list_of_what_is_left_out_does_not_replace_the_input(limelight: Limelight, tmp_path: Path) -> None:
    write(tmp_path / "text-left-out.tsv", GOOD)
    ended = limelight("clean", tmp_path / "text-left-out.tsv", "-o", tmp_path / "text.tsv")
    assert ended.code == 2
    assert "would replace the input; give -o another name" in ended.err
    assert (tmp_path / "text-left-out.tsv").exists()


@pytest.mark.parametrize("outputs", [("c.tmx",), ("c.en", "c.de")])
def test_no_output_is_written_if_no_pair_is_left(
    limelight: Limelight, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("text.tsv"), [("Copyright", "Copyright")])
    Path(outputs[0]).write_text("of a former run")
    given = [word for output in outputs for word in ("-o", output)]
    ended = limelight("clean", "text.tsv", "--source", "en", "--target", "de", *given)
    assert ended.code == 1
    assert f"no pair is left, for the reasons above; {' and '.join(outputs)}: not written" in ended.err
    assert Path(outputs[0]).read_text() == "of a former run"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c-left-out.tsv", outputs[0], "text.tsv"]


def test_a_pipe_is_refused(limelight: Limelight, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "text.tsv")
    ended = limelight("clean", tmp_path / "text.tsv", "-o", tmp_path / "c.tsv")
    assert (ended.code, "is a pipe or a device" in ended.err) == (2, True)
