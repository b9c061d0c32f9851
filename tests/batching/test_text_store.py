"""Plain text on the disk: what goes in comes out, whole or not at all."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.batching.store import TextStore, TextWriter, open_text_store, store_matches
from limelight.errors import RunError

END, UNKNOWN = 0, 1
parts = st.lists(st.tuples(st.lists(st.integers(1, 70_000), max_size=9), st.booleans()), max_size=9)


def write(folder: Path, *written: tuple[list[int], bool], vocabulary_size: int = 70_001) -> TextStore:
    with TextWriter(folder, vocabulary_size=vocabulary_size) as writer:
        for number, (ids, ends) in enumerate(written):
            writer.append(ids, ends=ends, characters=number, utf8_bytes=2 * number)
        return writer.close("print")


@given(parts)
def test_what_goes_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory, written: list[tuple[list[int], bool]]
) -> None:
    folder = tmp_path_factory.mktemp("store") / "text"
    store = write(folder, *written)
    expected = [END, *(piece for ids, ends in written for piece in [*ids, *[END] * ends])]
    assert store.ids.tolist() == expected
    assert store.documents == sum(ends for _, ends in written)
    assert store.unknown == expected.count(UNKNOWN)
    assert (store.characters, store.utf8_bytes) == (sum(range(len(written))), 2 * sum(range(len(written))))
    again = open_text_store(folder)
    assert again.ids.tolist() == expected
    assert isinstance(again.ids, np.memmap)
    assert store_matches(folder, "print")
    assert not store_matches(folder, "another")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / "text.ids").unlink(), r"text\.ids cannot be read"),
        (lambda folder: (folder / "text.ids").write_bytes(b"123"), r"text\.ids cannot be read"),
        (lambda folder: (folder / "text.ids").write_bytes(b"1234"), r"text\.ids is incomplete"),
        (lambda folder: (folder / "store.json").unlink(), r"store\.json: not a description of a store"),
    ],
)
def test_a_damaged_store_is_refused_with_the_way_out(damage, message: str, tmp_path: Path) -> None:
    write(tmp_path / "s", ([5, 6], True), vocabulary_size=9)
    damage(tmp_path / "s")
    with pytest.raises(RunError, match=f"{message}.*; delete the folder; it is created again"):
        open_text_store(tmp_path / "s")
