"""alignment.json: what is written is read, and what a stranger wrote is checked."""

from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.storage.tables import read_alignment, save_alignment

HEADS = [(0, 2, True), (1, 3, False)]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "alignment.json"
    assert read_alignment(path, layers=2, heads=4) == []
    save_alignment(path, HEADS, {"agreement": 0.8})
    assert read_alignment(path, layers=2, heads=4) == HEADS
    for layers, heads in ((1, 4), (2, 3)):
        with pytest.raises(UserError, match=r"alignment\.json: not the alignment\.json of this model: layer"):
            read_alignment(path, layers=layers, heads=heads)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"format": 2, "heads": []}', '{"format": 1, "heads": []}', '{"format": 1, "heads": [7]}',
        '{"format": 1, "heads": [{"layer": 0, "head": 0, "reads": 1}]}',
        '{"format": 1, "heads": [{"layer": true, "head": 0, "reads": true}]}',
        '{"format": 1, "heads": [{"layer": 0.0, "head": 0, "reads": true}]}',
        '{"format": 1, "heads": [{"layer": -1, "head": 0, "reads": true}]}',
    ],
)  # fmt: skip
def test_what_is_no_list_of_heads_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "alignment.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"alignment\.json"):
        read_alignment(path, layers=2, heads=4)
