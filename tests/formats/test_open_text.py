"""Opening: mistakes are named, and the last suffix says what is in a file."""

import os
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.formats.opening import open_text, require_file, require_lasting


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.tsv: there is no such file \(looked in "):
        open_text(tmp_path / "nowhere.tsv")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder; name the files in it"):
        open_text(tmp_path)


@pytest.mark.parametrize("suffix", [".bz2", ".ZIP"])
def test_archives_of_other_kinds_are_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"train.tsv{suffix}"
    path.write_bytes(b"whatever")
    with pytest.raises(UserError, match=r"unpack it first; read as they are: plain text, \.gz, \.xz, \.zst"):
        require_file(path)


def test_what_can_be_read_once_does_not_last(tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    file.touch()
    for lasting in (file, tmp_path, tmp_path / "nowhere", tmp_path / ("long" * 100)):  # what is missing is told later
        require_lasting([str(lasting)])
    for once in (pipe, Path(os.devnull)):
        require_file(once)
        with pytest.raises(
            UserError, match=rf"^{once}: is a pipe or a device, and .* several times; save it to a file"
        ):
            require_lasting([str(once)])
