"""Doubts about parallel text that can be read: each has its sign, and text without a fault has none."""

from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.preparation.doubts import doubts
from tests.text.test_languages import TEXTS

EN, FR, DE = TEXTS["en"], TEXTS["fr"], TEXTS["de"]


def told(folder: Path, lines: list[str], source: str = "en", target: str = "fr", name: str = "memory.tsv") -> list[str]:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [line.replace(f"{folder}/", "") for line in doubts([path], source, target)]


def test_good_text_raises_no_doubt(tmp_path: Path) -> None:
    assert told(tmp_path, [f"{EN}\t{FR}"] * 40) == []
    assert told(tmp_path, [f"{EN}\t{FR}"] * 40, "source", "target") == []
    assert told(tmp_path, [f"{EN}\t{FR}", f"{EN}\t{FR}\ta note"] * 20) == []  # some lines have notes
    assert told(tmp_path, []) == told(tmp_path, ["", "\t"]) == []


def test_wrong_columns_are_told_with_what_is_in_them(tmp_path: Path) -> None:
    (columns,) = told(tmp_path, [f"{number}\t2024-03-01\t{EN}\t{FR}" for number in range(40)])
    assert columns == (
        "memory.tsv: has 4 columns, of which the first two are read: source `0`, target `2024-03-01`; if these are "
        f"others, name them after the file, such as {tmp_path}/memory.tsv:3,1"
    ).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize("header", ["en\tfr", "Source\tTarget", '"English"\t"French"', "EN\tFR\tid"])
def test_a_header_is_told(header: str, tmp_path: Path) -> None:
    (line,) = told(tmp_path, [header] + [f"{EN}\t{FR}"] * 9)
    assert line.startswith("memory.tsv:1: looks like a header (")
    assert line.endswith("), and is used as a pair; remove the line")


def test_quotes_are_told(tmp_path: Path) -> None:
    (every,) = told(tmp_path, [f'"{EN}"\t"{FR}"'] * 9)
    assert every.startswith('memory.tsv: texts are enclosed in quotes ("')
    _header, below = told(tmp_path, ["English\tFrench"] + [f'"{EN}"\t"{FR}"'] * 9)
    assert below == every
    assert told(tmp_path, [f'"No!"\t{FR}', f"{EN}\t{FR}"] * 9) == []  # somebody speaks


def test_bad_lines_are_left_to_who_reads_all_of_it(tmp_path: Path) -> None:
    assert told(tmp_path, ["no tab", f"{EN}\t{FR}", "none here"]) == []
    with pytest.raises(UserError, match="there is no such file"):
        list(doubts([tmp_path / "nowhere.tsv"], "en", "fr"))


@pytest.mark.parametrize("text", ["\u2581The \u2581cle ver \u2581dog", "The cle@@ ver dog"])
def test_text_that_is_divided_into_pieces_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "memory.tsv"
    path.write_text(f"{text}\t{text}\n" * 3, encoding="utf-8")
    assert any("is divided into pieces of words already" in line for line in doubts([path], "en", "de"))
