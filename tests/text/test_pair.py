"""The records of text say where they come from."""

import dataclasses

import pytest

from limelight.text import BadLine, Pair


def test_place_is_file_and_line() -> None:
    assert Pair("a", "b", "data/train.tsv", 17).place == "data/train.tsv:17"


def test_bad_line_reads_as_place_and_reason() -> None:
    assert str(BadLine("train.en", 3, "not valid UTF-8")) == "train.en:3: not valid UTF-8"


@pytest.mark.parametrize("particulars", ["", " (byte 0xff); convert it", "; is this (perhaps) text?"])
def test_bad_lines_are_counted_by_their_reason_without_its_particulars(particulars: str) -> None:
    assert BadLine("train.en", 3, f"not valid UTF-8{particulars}").kind == "not valid UTF-8"


def test_records_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Pair("a", "b", "file", 1).source = "other"  # type: ignore[misc]
