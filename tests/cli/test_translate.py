"""`limelight translate`: lines in, lines out, and every mistake before any work is done."""

import json
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from limelight import Translation
from limelight.pipelines.translator import Translator
from tests.cli.conftest import Limelight

Typed = Callable[[bytes], None]
LINES = ["The old dog sees a small cat.", "", "A bird sings.", "   ", "Two quiet foxes sleep near the lake."]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def test_a_line_in_is_a_line_out(limelight: Limelight, trained: Path, text: Path, typed: Typed) -> None:
    ended = limelight("translate", "--model", trained, text, "--no-guards")
    assert (ended.code, ended.err) == (0, "")
    shown = ended.out.split("\n")
    assert [bool(line) for line in shown] == [True, False, True, False, True, False]
    typed(text.read_bytes())
    assert limelight("translate", "--model", trained, "--no-guards") == ended
    assert limelight("translate", "--model", trained / "best", text, "--no-guards") == ended


def test_words_on_the_command_line_are_translated(
    limelight: Limelight, trained: Path, text: Path, typed: Typed
) -> None:
    typed(b"A bird sings.\n")
    expected = limelight("translate", "--model", trained)
    assert limelight("translate", "--model", trained, "A bird sings.") == expected
    assert limelight("translate", "--model", trained, "--text", "A bird sings.") == expected
    typed(text.read_bytes())
    assert limelight("translate", "--model", trained, "--text", text.read_text()) == limelight(
        "translate", "--model", trained
    )


def test_a_file_comes_before_the_same_words(
    limelight: Limelight, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old dog").write_text("a\nb\nc\n", encoding="utf-8")
    (tmp_path / "dog").write_text("a\nb\n", encoding="utf-8")
    assert limelight("translate", "--model", trained, "old dog").out.count("\n") == 3
    assert limelight("translate", "--model", trained, "dog").out.count("\n") == 2
    assert limelight("translate", "--model", trained, "--text", "dog").out.count("\n") == 1


def test_json_is_an_object_a_line(limelight: Limelight, trained: Path, text: Path) -> None:
    ended = limelight("translate", "--model", trained, text, "--json", "--n-best", 2)
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [each["source"] for each in found] == LINES
    names = {field.name for field in fields(Translation)}
    for each in found:
        assert each.pop("format") == 1
        assert set(each) == names
        blank = not each["source"].strip()
        assert len(each["alternatives"]) == (0 if blank else 1)
        assert all(set(other) == names and other["score"] <= each["score"] for other in each["alternatives"])
    plain = limelight("translate", "--model", trained, text, "--n-best", 2).out.splitlines()
    expected = [
        f"{number} ||| {other['text']} ||| {other['score']:.4f}"
        for number, each in enumerate(found)
        for other in (each, *each["alternatives"])
    ]
    assert plain == expected


def test_a_file_is_written_when_it_is_complete(limelight: Limelight, trained: Path, text: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.txt"
    assert limelight("translate", "--no-guards", "--model", trained, text, "-o", there) == (0, "", "")
    assert there.read_text(encoding="utf-8") == limelight("translate", "--no-guards", "--model", trained, text).out


def test_what_was_translated_before_a_bad_line_is_kept(
    limelight: Limelight, trained: Path, tmp_path: Path, typed: Typed
) -> None:
    typed(b"A dog runs.\n" * 1000 + b"\xff\n")
    ended = limelight("translate", "--model", trained, "--beam", 1, "-o", tmp_path / "out.txt")
    partial = tmp_path / "out.txt.partial"
    assert ended.code == 2
    assert "standard input:1001: not valid UTF-8 (byte 0xff at byte 1 of the line)" in ended.err
    assert ended.err.endswith(f"; what was done until then is in {partial}\n")
    assert partial.read_text(encoding="utf-8").count("\n") == 1000


def test_lines_that_are_unsure_are_counted(
    limelight: Limelight, trained: Path, typed: Callable[[bytes], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sure = {"The dog.": 0.04, "A cat.": 0.19, "A bird.": 0.2, "An owl.": 0.001, "A man.": 0.1, "": None}
    former = Translator.run

    def run(*given: Any) -> list[Translation]:
        return [replace(each, confidence=sure[each.source]) for each in former(*given)]

    monkeypatch.setattr(Translator, "run", run)
    text = "\n".join(sure).encode()
    typed(text)
    told = "limelight: 4 of 5 lines unsure (confidence below 0.2); --json names them\n"
    assert limelight("translate", "--model", trained).err == told
    typed(text)
    assert limelight("translate", "--model", trained, "--json").err == ""
    typed(b"A bird.\n")
    assert limelight("translate", "--model", trained).err == ""


def test_the_sample_of_least_risk_is_printed(limelight: Limelight, trained: Path) -> None:
    words = ["translate", "--model", trained, "--text", "one two three"]
    drawn = limelight(*words, "--sample", "--seed", 3, "--n-best", 6).out.splitlines()
    ended = limelight(*words, "--mbr", 6, "--seed", 3)
    assert ended.code == 0, ended.err
    assert ended.out.rstrip("\n") in [line.split(" ||| ")[1] for line in drawn]
    assert limelight(*words, "--mbr", 6, "--n-best", 2).code == 2
