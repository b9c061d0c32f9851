"""Two files line by line: the sides never slip against each other, whatever is wrong with a line."""

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.formats.lines import MAX_LINE_BYTES, scan_moses
from limelight.text.pair import BadLine, Pair

CORRUPTIONS = {
    "utf8": b"\xff\xfe broken",
    "nul": b"a\0b",
    "long": b"x" * (MAX_LINE_BYTES + 1),
}


def write(folder: Path, source: bytes, target: bytes) -> tuple[Path, Path]:
    paths = folder / "t.en", folder / "t.de"
    for path, content in zip(paths, (source, target), strict=True):
        path.write_bytes(content)
    return paths


def scan(folder: Path, source: bytes, target: bytes) -> list[Pair | BadLine]:
    return list(scan_moses(*write(folder, source, target)))


KINDS = st.sampled_from(["good", *CORRUPTIONS])


@given(st.lists(st.tuples(KINDS, KINDS), max_size=12), st.booleans())
def test_a_bad_line_takes_its_partner_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[tuple[str, str]], last_newline: bool
) -> None:
    """Pairs and bad lines together are the lines; every pair holds two lines of the same number."""
    folder = tmp_path_factory.mktemp("moses")
    sides = []
    for side, letter in enumerate("st"):
        lines = [
            CORRUPTIONS.get(kind[side], f"{letter}{number}".encode()) for number, kind in enumerate(kinds, start=1)
        ]
        sides.append(b"\n".join(lines) + (b"\n" if lines and last_newline else b""))
    items = scan(folder, *sides)
    assert [item.line for item in items] == list(range(1, len(kinds) + 1))
    for item, kind in zip(items, kinds, strict=True):
        if isinstance(item, Pair):
            assert kind == ("good", "good")
            assert (item.source, item.target) == (f"s{item.line}", f"t{item.line}")
        else:
            assert kind != ("good", "good")
            assert item.file == str(folder / ("t.en" if kind[0] != "good" else "t.de"))


@pytest.mark.parametrize(("sources", "targets"), [(3, 5), (5, 3), (0, 2), (2, 0)])
def test_unequal_files_end_where_the_shorter_one_ends(sources: int, targets: int, tmp_path: Path) -> None:
    shorter = min(sources, targets)
    with pytest.raises(UserError) as caught:
        scan(tmp_path, b"s\n" * sources, b"t\n" * targets)
    names = ["t.en", "t.de"] if sources > targets else ["t.de", "t.en"]
    long_name, short_name = (str(tmp_path / name) for name in names)
    assert str(caught.value) == (
        f"{long_name}:{shorter + 1}: this line has no partner: {short_name} has only {shorter} lines; both files need "
        "equally many lines; which one is missing is not known"
    )


def test_a_line_without_an_end_is_not_read_for_ever(tmp_path: Path) -> None:
    paths = write(tmp_path, b"s\n", b"")
    with paths[1].open("wb") as file:
        file.write(b"t\n")
        file.truncate(1 << 34)  # a hole: 16 GiB of NULs that take no space
    tracemalloc.start()
    with pytest.raises(UserError) as caught:
        list(scan_moses(*paths))
    assert tracemalloc.get_traced_memory()[1] < 8_000_000
    tracemalloc.stop()
    assert str(caught.value).startswith(f"{paths[1]}:2: no line end within 100,000,000 bytes")
