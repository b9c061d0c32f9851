"""TSV: two columns make a pair, a line without TAB is named."""

from pathlib import Path

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
