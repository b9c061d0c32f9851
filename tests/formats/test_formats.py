"""Files that are no text are named as what they are, by their names and by their bytes."""

from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.formats import read_lines, read_pairs
from limelight.formats.opening import BOTH_SIDES, DESCRIPTIONS


@pytest.mark.parametrize("suffix", DESCRIPTIONS)
def test_a_name_is_told_at_once(suffix: str, tmp_path: Path) -> None:
    for name in (f"memory{suffix}", f"memory{suffix.upper()}", f"memory{suffix}.gz"):
        path = tmp_path / name
        path.write_bytes(b"")
        kind = DESCRIPTIONS[suffix]
        for read in (read_lines, lambda file: read_pairs([file, file])):
            if suffix in BOTH_SIDES and read is not read_lines:
                continue
            with pytest.raises(UserError) as told:
                read(path)
            assert str(told.value).startswith(f"{path}: is {kind}, which is not read as text; ")
