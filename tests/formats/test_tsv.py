"""TSV: which columns make a pair."""

from pathlib import Path

from limelight.formats.tables import scan_tsv
from limelight.text.pair import Pair


def test_columns_hold_after_a_first_line_that_is_bad(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_bytes(b"\xff\tb\tc\nA\tB\tC\n")
    _, pair = scan_tsv(path, sides=("3", "1"))
    assert isinstance(pair, Pair)
    assert (pair.source, pair.target) == ("C", "A")
