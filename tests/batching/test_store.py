"""Stores of pairs, of plain text and of word alignments give back what was put in, and only when all of it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.batching.store import (
    AlignmentStore,
    SideForms,
    TextStore,
    TokenStore,
    add_forms,
    add_links,
    add_pairs,
    add_text,
    described,
    new_store,
    open_alignments,
    open_store,
    open_text_store,
    store_matches,
)
from limelight.errors import RunError
from limelight.formats.running_text import Part
from limelight.text.marked_pairs import Link
from tests.batching.helpers import written

END, UNKNOWN = 0, 1
ids, texts = st.lists(st.integers(0, 70_000), max_size=9), st.text(max_size=20)
groups = st.lists(st.lists(st.tuples(ids, ids, texts, texts), max_size=5), max_size=4)
links = st.lists(st.builds(Link, st.integers(0, 0x7FFF), st.integers(0, 0x7FFF), st.booleans()), max_size=9)
SIDES = (SideForms({"cat": ["cats"]}, ["the"]), SideForms({"Katze": ["Katzen"], "貓": []}, ["die", "der"]))
ONE = ([3, 4, 5], [6], "drei Wörter hier", "one")
TWO = ([], [7, 8], "", "日本")


def write_pairs(folder: Path, *rows: tuple[Any, ...]) -> TokenStore:
    return written(folder, rows or (ONE, TWO), vocabulary_size=70_001)


def write_text(folder: Path, *parts: tuple[list[int], bool]) -> TextStore:
    with new_store(folder, "print", vocabulary_size=70_001) as columns:
        for number, (row, ends) in enumerate(parts or [([5, 6], True)]):
            add_text(columns, [Part("ä" * number, ends, held_out=False, is_line=False)], [row])
    return open_text_store(folder)


def write_links(folder: Path, *rows: list[Link]) -> AlignmentStore:
    with new_store(folder, "print") as columns:
        add_links(columns, (rows or ([Link(1, 2), Link(3, 4)], [], [Link(5, 6)]))[:2])
        add_links(columns, rows[2:])
        add_forms(columns, SIDES)
    return open_alignments(folder)


@given(groups.filter(any))
def test_pairs(tmp_path_factory: pytest.TempPathFactory, rows: list[list[tuple[Any, ...]]]) -> None:
    folder = tmp_path_factory.mktemp("store") / "train-0"
    with new_store(folder, "print", vocabulary_size=70_001) as columns:
        for group in rows:
            add_pairs(columns, group)
    store = open_store(folder)
    expected = [row for group in rows for row in group]
    assert len(store) == len(expected)
    for row, (source, target, *both) in enumerate(expected):
        assert (store.sources[row].tolist(), store.targets[row].tolist()) == (source, target)
        assert store.reversed().text(row) == tuple(both[::-1])
    assert store.sources.lengths().tolist() == [len(row[0]) for row in expected]


@given(st.lists(st.tuples(st.lists(st.integers(1, 70_000), max_size=9), st.booleans()), min_size=1, max_size=9))
def test_plain_text(tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[list[int], bool]]) -> None:
    folder = tmp_path_factory.mktemp("store") / "text"
    store = write_text(folder, *parts)
    expected = [END, *(piece for row, ends in parts for piece in [*row, *[END] * ends])]
    assert store.ids.tolist() == expected
    assert isinstance(store.ids, np.memmap)
    figures = described(folder)
    assert store.documents == figures.documents == sum(ends for _, ends in parts)
    assert store.utf8_bytes == figures.utf8_bytes == 2 * figures.characters == 2 * sum(range(len(parts)))
    assert figures.unknown == expected.count(UNKNOWN)
    assert store_matches(folder, "print")
    assert not store_matches(folder, "another")


@given(st.lists(links, min_size=1, max_size=6))
def test_alignments_in_both_directions(tmp_path_factory: pytest.TempPathFactory, rows: list[list[Link]]) -> None:
    store = write_links(tmp_path_factory.mktemp("words") / "w", *rows)
    turned = store.reversed()
    for row, expected in enumerate(rows):
        assert store.of(row).links == expected
        assert turned.of(row).links == [Link(target, source, sure) for source, target, sure in expected]
    assert len(store.links) == len(rows)
    forms, back = store.of(0).forms, turned.of(0).forms
    assert (forms.related, back.related) == ({"Katze": ["Katzen"], "貓": []}, {"cat": ["cats"]})
    assert forms.common == back.common[::-1] == (frozenset({"the"}), frozenset({"die", "der"}))


def test_half_a_store_is_never_opened(tmp_path: Path) -> None:
    def interrupted() -> None:
        with new_store(tmp_path / "s", "print") as columns:
            add_pairs(columns, [ONE])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_and_leaves_the_former_store(tmp_path: Path) -> None:
    write_pairs(tmp_path / "s")

    def fill() -> None:
        with new_store(tmp_path / "s", "print") as columns:
            (columns.folder / "source_text.values").symlink_to("/dev/full")
            add_pairs(columns, [ONE])

    with pytest.raises(OSError, match=r"No space left on device: '.*s'"):
        fill()
    assert open_store(tmp_path / "s").sources[0].tolist() == ONE[0]
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


FILES = {
    "pairs": "source.values target.offsets source_text.values target_text.offsets store.json",
    "text": "text.ids store.json",
    "links": "links.values links.offsets forms.json store.json",
}
WAYS: dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]] = {
    "pairs": (write_pairs, open_store),
    "text": (write_text, open_text_store),
    "links": (write_links, open_alignments),
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in FILES.items() for name in names.split()])
@pytest.mark.parametrize("content", [b"", b"[1]", b"{}", b'{"version": 1, "dtype": "O"}', b"\xff" * 40, None])
def test_damage_is_found_and_told_with_the_remedy(kind: str, name: str, content: bytes | None, tmp_path: Path) -> None:
    """The last one is a file that is cut off."""
    write, read = WAYS[kind]
    write(tmp_path / "s")
    path = tmp_path / "s" / name
    path.write_bytes(path.read_bytes()[:-1] if content is None else content)
    with pytest.raises(RunError, match=r"s: incomplete or damaged .*; delete the folder; it is created again"):
        read(tmp_path / "s")
    path.unlink()
    with pytest.raises(RunError, match="s: incomplete or damaged"):
        read(tmp_path / "s")
