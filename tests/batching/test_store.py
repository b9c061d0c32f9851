"""The store gives back what was put in, and only when all of it was."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.batching.store import MARKED, StoreWriter, TokenStore, open_store, store_matches
from limelight.errors import RunError

texts = st.text(max_size=20)
pairs = st.tuples(
    st.lists(st.integers(0, 70_000), max_size=9), st.lists(st.integers(0, 70_000), max_size=9), texts, texts
)
groups = st.lists(st.lists(pairs, max_size=5), max_size=4)


def write(folder: Path, *rows: tuple, vocabulary_size: int = 70_001, fingerprint: str = "print") -> TokenStore:
    with StoreWriter(folder, vocabulary_size=vocabulary_size) as writer:
        if rows:
            writer.append(*map(list, zip(*rows, strict=True)))
        return writer.close(fingerprint)


ONE = ([3, 4, 5], [6], "drei Wörter hier", "one")
TWO = ([], [7, 8], "", "日本")


@given(groups)
def test_what_goes_in_comes_out(tmp_path_factory: pytest.TempPathFactory, written: list[list[tuple]]) -> None:
    folder = tmp_path_factory.mktemp("store") / "train-0"
    with StoreWriter(folder, vocabulary_size=70_001) as writer:
        for group in written:
            writer.append(*([row[part] for row in group] for part in range(4)))
        store = writer.close("print")
    expected = [row for group in written for row in group]
    assert len(store) == len(expected)
    assert [(store.sources[row].tolist(), store.targets[row].tolist()) for row in range(len(store))] == [
        (source, target) for source, target, _, _ in expected
    ]
    assert store.texts(np.arange(len(expected))) == ([row[2] for row in expected], [row[3] for row in expected])
    assert store.sources.lengths().tolist() == [len(row[0]) for row in expected]


def test_half_a_store_is_never_opened(tmp_path: Path) -> None:
    folder = tmp_path / "s"

    def interrupted() -> None:
        with StoreWriter(folder, vocabulary_size=90) as writer:
            writer.append(*([part] for part in ONE))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []
    assert not store_matches(folder, "print")


@pytest.mark.parametrize("rows", [1, 3000])
def test_a_full_disk_is_told_and_leaves_the_former_store(rows: int, tmp_path: Path) -> None:
    """Met when the buffer is full, or only when it is brought to the disk."""
    folder = tmp_path / "s"
    write(folder, ONE)

    def fill() -> None:
        with StoreWriter(folder, vocabulary_size=90) as writer:
            writer._files["source_text.values"].close()
            writer._files["source_text.values"] = open("/dev/full", "wb")  # noqa: SIM115
            for _ in range(rows):
                writer.append(*([part] for part in ONE))
            writer.close("print")

    with pytest.raises(RunError, match=f"{folder}: cannot be written: No space left on device; nothing is lost"):
        fill()
    assert open_store(folder).sources[0].tolist() == ONE[0]
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize("part", ["source.values", "target.offsets", "source_text.values", "target_text.offsets"])
@pytest.mark.parametrize("left", [0, 1, 8])
def test_a_file_that_is_cut_off_is_refused(part: str, left: int, tmp_path: Path) -> None:
    write(tmp_path / "s", ONE, TWO)
    path = tmp_path / "s" / part
    path.write_bytes(path.read_bytes()[:left])
    with pytest.raises(RunError, match=r"incomplete|cannot be read|different numbers") as caught:
        open_store(tmp_path / "s")
    assert "it is created again" in str(caught.value)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", json.dumps({"version": 1, "dtype": "O"}), json.dumps({"dtype": "<u2"})]
)
def test_a_strange_description_is_refused(text: str, tmp_path: Path) -> None:
    write(tmp_path / "s", ONE)
    (tmp_path / "s" / "store.json").write_text(text)
    assert not store_matches(tmp_path / "s", "print")
    with pytest.raises(RunError, match="not a description of a store"):
        open_store(tmp_path / "s")


def test_marked_rows_are_known_by_their_numbers_both_ways_round(tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", vocabulary_size=90) as writer:
        for marked in ([True, False, True], [], [False, False, True]):
            writer.append(*map(list, zip(ONE, ONE, TWO, strict=True)), marked)
        store = writer.close("print")
    assert len(store) == 9
    for found in (store, store.reversed(), open_store(tmp_path / "s")):
        assert found.marked.tolist() == [0, 2, 8]
        rows = np.array([8, 3, 0, 7, 2])
        assert found.are_marked(rows).tolist() == [True, False, True, False, True]


@pytest.mark.parametrize("size", [0, 8, 9])
def test_a_damaged_list_of_marked_rows_is_refused(size: int, tmp_path: Path) -> None:
    with StoreWriter(tmp_path / "s", vocabulary_size=90) as writer:
        writer.append(*map(list, zip(ONE, ONE, TWO, strict=True)), [True, False, True])
        writer.close("print")
    path = tmp_path / "s" / MARKED
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(RunError, match="delete the folder; it is created again"):
        open_store(tmp_path / "s")
