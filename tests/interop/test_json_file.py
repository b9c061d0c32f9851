"""JSON objects, and everything that is none."""

import os
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.interop import files
from limelight.interop.files import read_json
from limelight.interop.folders import write_json


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b'{"a": "\xff"}', "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "holds a list, not an object"),
        (b"7", "holds a int"),
    ],
)
def test_anything_else_is_told_with_its_name(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"a.json: .*{fault}"):
        read_json(path)


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match=r"none.json: cannot be read: No such file"):
        read_json(tmp_path / "none.json")
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(UserError, match=r"pipe.json: cannot be read: not a regular file"):
        read_json(tmp_path / "pipe.json")
    write_json(tmp_path / "a.json", {"a": 1})
    monkeypatch.setattr(files, "MAX_JSON_BYTES", 3)
    with pytest.raises(UserError, match="at most 3"):
        read_json(tmp_path / "a.json")
