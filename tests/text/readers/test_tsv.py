"""TSV: two columns make a pair, a line without TAB is named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.text import BadLine, Pair
from limelight.text.readers.tsv import scan_tsv


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


def test_a_quote_is_a_character(tmp_path: Path) -> None:
    pair = scan(tmp_path, b'"a\t"b\n')[0]
    assert isinstance(pair, Pair)
    assert (pair.source, pair.target) == ('"a', '"b')


@pytest.mark.parametrize("line", [b"no tab here", b""])
def test_a_line_without_tab_is_bad(line: bytes, tmp_path: Path) -> None:
    first, bad, last = scan(tmp_path, b"a\tb\n" + line + b"\nc\td\n")
    assert isinstance(first, Pair)
    assert isinstance(last, Pair)
    assert last.line == 3
    assert str(bad) == f"{tmp_path / 't.tsv'}:2: there is no TAB in this line; a .tsv line is source TAB target"


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
