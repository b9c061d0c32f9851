"""Word alignments on the disk: what was put in comes out, in both directions, and only when it is whole."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.batching.store import AlignmentStore, AlignmentWriter, SideForms, open_alignments
from limelight.errors import RunError
from limelight.text.marked_pairs import Link

SIDES = (SideForms({"cat": ["cats"]}, ["the"]), SideForms({"Katze": ["Katzen"], "貓": []}, ["die", "der"]))
LINKS = st.lists(st.builds(Link, st.integers(0, 0x7FFF), st.integers(0, 0x7FFF), st.booleans()), max_size=9)


def write(folder: Path, rows: list[list[Link]]) -> AlignmentStore:
    with AlignmentWriter(folder) as writer:
        writer.append(rows[:2])
        writer.append(rows[2:])
        return writer.close("print", SIDES)


@given(st.lists(LINKS, max_size=6))
def test_what_goes_in_comes_out_in_both_directions(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[Link]]
) -> None:
    store = write(tmp_path_factory.mktemp("words") / "w", rows)
    assert [store.of(row).links for row in range(len(store))] == rows
    turned = store.reversed()
    assert [turned.of(row).links for row in range(len(store))] == [
        [Link(target, source, sure) for source, target, sure in row] for row in rows
    ]
    assert turned.reversed() == store


def test_forms_are_those_of_the_side_that_is_translated_into(tmp_path: Path) -> None:
    store = write(tmp_path / "w", [[Link(0, 0)]])
    forms = store.of(0).forms
    assert forms.related == {"Katze": ["Katzen"], "貓": []}
    assert forms.common == (frozenset({"the"}), frozenset({"die", "der"}))
    forms = store.reversed().of(0).forms
    assert forms.related == {"cat": ["cats"]}
    assert forms.common == (frozenset({"die", "der"}), frozenset({"the"}))


@pytest.mark.parametrize("name", ["links.values", "links.offsets", "forms.json", "store.json"])
@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff" * 40])
def test_damage_is_found(name: str, content: bytes, tmp_path: Path) -> None:
    write(tmp_path / "w", [[Link(1, 2), Link(3, 4)], [], [Link(5, 6)]])
    (tmp_path / "w" / name).write_bytes(content)
    with pytest.raises(RunError, match="delete the folder; it is created again from the corpus"):
        open_alignments(tmp_path / "w")
