"""TSV: two columns make a pair, a line without TAB is named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
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


@pytest.mark.parametrize(("delimiter", "words"), [(",", "commas"), (";", "semicolons")])
def test_a_table_without_tabs_is_named(delimiter: str, words: str, tmp_path: Path) -> None:
    table = f'en{delimiter}fr\n"A dog{delimiter} a cat"{delimiter}Un chien\nA bird{delimiter}Un oiseau\n'
    with pytest.raises(
        UserError, match=rf"t\.tsv: looks like a CSV table with {words} between its columns, and a \.tsv"
    ):
        scan(tmp_path, table.encode())
    assert all(isinstance(line, BadLine) for line in scan(tmp_path, b"A dog, a cat\nA bird\n"))


def test_a_line_without_tab_is_bad(tmp_path: Path) -> None:
    first, bad, last = scan(tmp_path, b"a\tb\nno tab here\nc\td\n")
    assert isinstance(first, Pair)
    assert isinstance(last, Pair)
    assert last.line == 3
    assert str(bad) == f"{tmp_path / 't.tsv'}:2: there is no TAB in this line; a line is source TAB target"


def test_pairs_joined_by_a_cr_alone_are_not_taken_for_columns(tmp_path: Path) -> None:
    """In the manner of old Macintoshes, whose whole file is one line to us."""
    (bad,) = scan(tmp_path, b"a\tb\rc\td\re\tf\r")
    assert (
        str(bad) == f"{tmp_path / 't.tsv'}:1: a CR stands between columns; does a CR alone end the lines of this file?"
    )
    inside, last = scan(tmp_path, b"a\rb\tc\rd\ne\tf\tg\r\r\n")
    assert isinstance(inside, Pair)
    assert isinstance(last, Pair)
    assert (inside.source, inside.target) == ("a\rb", "c\rd")
    assert (last.source, last.target) == ("e", "f")


SIDE = st.text(st.characters(exclude_characters="\n\r\t\0\ufeff", codec="utf-8"))


@given(st.lists(st.tuples(SIDE, SIDE)))
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, sides: list[tuple[str, str]]) -> None:
    content = "".join(f"{source}\t{target}\n" for source, target in sides).encode()
    pairs = scan(tmp_path_factory.mktemp("tsv"), content)
    assert [(pair.source, pair.target) for pair in pairs if isinstance(pair, Pair)] == sides
    assert [pair.line for pair in pairs] == list(range(1, len(sides) + 1))
