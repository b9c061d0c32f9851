"""Results that are whole or not there, and streams that cannot be written."""

import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from limelight.cli.output import can_show, file_or_text, lines_to, report, show
from limelight.errors import RunError, UserError


def stream(encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding)


def write_and_fail(path: Path) -> None:
    with lines_to(path) as write:
        write("new")
        raise RunError("the lamp went out")


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    with lines_to(path) as write:
        write("Zwei Hunde")
        assert not path.exists()
        write("")
    assert path.read_bytes() == b"Zwei Hunde\n\n"
    assert [each.name for each in tmp_path.iterdir()] == ["out.txt"]


def test_a_file_that_was_there_stays_until_then(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with pytest.raises(RunError) as caught:
        write_and_fail(path)
    assert path.read_text() == "old"
    partial = tmp_path / "out.txt.partial"
    assert partial.read_text() == "new\n"
    assert caught.value.__notes__ == [f"what was done until then is in {partial}"]


def test_text_is_on_the_disk_before_the_file_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a power cut there is the whole file, or the former one."""
    path, found = tmp_path / "out.txt", []
    monkeypatch.setattr(os, "fsync", lambda handle: found.append((path.exists(), os.fstat(handle).st_size)))
    with lines_to(path) as write:
        write("Zwei Hunde")
    assert found[0] == (False, 11)
    assert [there for there, _ in found[1:]] == [True]  # the folder


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere/out.txt", r"nowhere/out\.txt: cannot be written: no such file or directory"),
        ("folder", r"folder: is a folder; give -o the name of a file"),
        ("file/out.txt", r"file/out\.txt: cannot be written: not a directory"),
        ("x" * 255, r"x: cannot be written: file name too long"),
    ],
)
def test_a_place_that_cannot_be_written_is_told_at_once(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=message), lines_to(tmp_path / name):
        pytest.fail("there was nothing to write to")


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="open files have no names here")
def test_a_pipe_without_a_name_of_its_own_is_written() -> None:
    """As with `-o /dev/stdout | ...` and `-o >(gzip > out.gz)`, whose names are links to no path."""
    reading, writing = os.pipe()
    with lines_to(Path(f"/dev/fd/{writing}")) as write:
        write("Zwei Hunde")
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == b"Zwei Hunde\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_full_disk_is_named() -> None:
    with (
        pytest.raises(RunError, match="/dev/full: cannot be written: no space left on device"),
        lines_to(Path("/dev/full")) as write,
    ):
        write("more")


def test_what_is_shown_to_people_is_never_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    ascii_only = stream("ascii")
    monkeypatch.setattr(sys, "stdout", ascii_only)
    assert not can_show("░")
    show("Straße")
    assert ascii_only.buffer.getvalue() == b"Stra?e\n"
    report(SimpleNamespace(to_json=lambda: "Straße"), as_json=True)
    assert ascii_only.buffer.getvalue().decode() == "Stra?e\nStraße\n"
    monkeypatch.setattr(sys, "stdout", stream("utf-8"))
    assert can_show("░")


def test_no_standard_output_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(UserError, match="standard output is closed"):
        show("anything")
    with pytest.raises(UserError, match="standard output is closed"), lines_to(None):
        pytest.fail("there was nothing to write to")


def test_an_argument_with_white_space_is_text() -> None:
    for text in ("A dog", "Hund ", "\tHund", "你好\u3000", "  "):
        assert file_or_text(text, None) == (None, text)


def test_a_text_of_the_command_line_that_is_not_utf8_is_refused() -> None:
    for words in (("A \udcff dog", None), (None, "\udcff")):
        with pytest.raises(UserError, match="is not valid UTF-8"):
            file_or_text(*words)
