"""Opening: mistakes are named, and the last suffix says what is in a file."""

import gzip
import os
from pathlib import Path

import pytest

from limelight.errors import UserError
from limelight.formats.opening import open_text, require_file, require_lasting, text_suffix


def test_plain_and_compressed_text_read_the_same(tmp_path: Path) -> None:
    for name, content in (("a.tsv", b"a\tb\n"), ("a.tsv.GZ", gzip.compress(b"a\tb\n"))):
        (tmp_path / name).write_bytes(content)
        with open_text(tmp_path / name) as stream:
            assert stream.readlines() == [b"a\tb\n"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere\.tsv: there is no such file \(looked in "):
        open_text(tmp_path / "nowhere.tsv")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is a folder; name the files in it"):
        open_text(tmp_path)


def test_a_name_no_file_can_have(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be read|no such file"):
        open_text(tmp_path / ("long" * 100))


@pytest.mark.parametrize("suffix", [".bz2", ".ZIP"])
def test_archives_of_other_kinds_are_refused(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"train.tsv{suffix}"
    path.write_bytes(b"whatever")
    with pytest.raises(UserError, match=r"unpack it first; read as they are: plain text, \.gz, \.xz, \.zst"):
        require_file(path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "secret.tsv"
    path.write_bytes(b"a\tb\n")
    path.chmod(0)
    with pytest.raises(UserError, match=r"secret\.tsv: cannot be read: "):
        open_text(path)


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


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("train.tsv", ".tsv"),
        ("a.b/train.JSONL.gz", ".jsonl"),
        ("train.de", ".de"),
        ("train", ""),
        ("x.tsv.ZST", ".tsv"),
    ],
)
def test_text_suffix_looks_behind_the_compression(name: str, suffix: str) -> None:
    assert text_suffix(name) == suffix
