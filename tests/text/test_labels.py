"""Names of labels: what is one, and files that a stranger may have written."""

import json
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.text.labels import (
    MAX_LABEL_LENGTH,
    MAX_LABELS,
    dump_labels,
    label_numbers,
    read_labels,
)
from limelight.text.pair import Pair


@pytest.mark.parametrize(
    "labels", [["de", "en"], ["nö", "日本", "می\u200cروم", 'a "b"', "x, y"], [str(number) for number in range(99)]]
)
def test_labels_come_back_from_a_file(labels: list[str], tmp_path: Path) -> None:
    (tmp_path / "labels.json").write_text(dump_labels(labels), encoding="utf-8")
    assert read_labels(tmp_path / "labels.json") == tuple(labels)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "not a list of labels: Expecting value"),
        (b"[" * 100_000, "not a list of labels"),
        (b'{"a": 1}', "not a list of labels: an element is not text"),
        (b'["a"]', "1 labels; a classifier chooses among 2 to 10,000"),
        (json.dumps([str(number) for number in range(MAX_LABELS + 1)]).encode(), "10,001 labels"),
        (b'["a", "b", "a"]', "a label is listed twice"),
        (b'["a", ""]', "'' is not a valid label, which has 1 to 200 printable"),
        (b'["a", "\\u001b[2J"]', "is not a valid label"),
        (b'["a", "a\\u200b"]', "is not a valid label"),
        (
            json.dumps(["a", "b" * (MAX_LABEL_LENGTH + 1)]).encode(),
            "is not a valid label",
        ),
    ],
)
def test_what_is_no_list_of_labels_is_refused(content: bytes, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"labels\.json: ") as caught:
        read_labels(path)
    assert fault in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_an_unknown_label_is_told_with_its_place() -> None:
    pairs = [Pair("x", "a", "t.tsv", 1), Pair("x", "q\x1b", "t.tsv", 2)]
    with pytest.raises(UserError, match=r"t\.tsv:2: 'q.' is not one of the labels in the training data: a, b$"):
        label_numbers(pairs, ["a", "b"])
    with pytest.raises(UserError, match=r"data: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 3 more$"):
        label_numbers(pairs, [str(number) for number in range(13)])
