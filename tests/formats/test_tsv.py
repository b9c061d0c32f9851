"""TSV: two columns make a pair, a line without TAB is named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.formats.tables import scan_tsv
from limelight.text import BadLine, Pair


def scan(folder: Path, content: bytes) -> list[Pair | BadLine]:
    path = folder / "t.tsv"
    path.write_bytes(content)
    return list(scan_tsv(path))


def test_columns_make_pairs_with_their_place(tmp_path: Path) -> None:
    file = str(tmp_path / "t.tsv")
    assert scan(tmp_path, "a b\tä\r\nc\td\te\tf\n\t\n".encode()) == [
        Pair("a b", "ä", file, 1),
        Pair("c", "d", file, 2),
        Pair("", "", file, 3),
    ]


def test_a_line_without_tab_is_bad(tmp_path: Path) -> None:
    first, bad, last = scan(tmp_path, b"a\tb\nno tab here\nc\td\n")
    assert isinstance(first, Pair)
    assert isinstance(last, Pair)
    assert last.line == 3
    assert str(bad) == f"{tmp_path / 't.tsv'}:2: there is no TAB in this line; a line is source TAB target"


SIDE = st.text(st.characters(exclude_characters="\n\r\t\0\ufeff", codec="utf-8"))


@given(st.lists(st.tuples(SIDE, SIDE)))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, sides: list[tuple[str, str]]) -> None:
    content = "".join(f"{source}\t{target}\n" for source, target in sides).encode()
    pairs = scan(tmp_path_factory.mktemp("tsv"), content)
    assert [(pair.source, pair.target) for pair in pairs if isinstance(pair, Pair)] == sides
    assert [pair.line for pair in pairs] == list(range(1, len(sides) + 1))
