"""TSV: two columns make a pair, a line without TAB is named."""

from pathlib import Path

from limelight.formats.tables import scan_tsv
from limelight.text.pair import BadLine, Pair


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


def test_columns_hold_after_a_first_line_that_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_bytes(b"\xff\tb\tc\nA\tB\tC\n")
    _, pair = scan_tsv(path, sides=("3", "1"))
    assert isinstance(pair, Pair)
    assert (pair.source, pair.target) == ("C", "A")
