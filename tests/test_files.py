"""Files and folders that are whole or not there, whatever happens while they are written."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from limelight import files
from limelight.errors import RunError, UserError
from limelight.files import (
    clear_leftovers,
    fill_file,
    locked,
    remove,
    whole_folder,
    write_output,
    write_whole,
    writing,
)


def tree(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def fill_with(text: str):
    def fill(partial: Path) -> None:
        (partial / "inner").mkdir()
        (partial / "a.txt").write_text(text)
        (partial / "inner" / "b.txt").write_text(text * 2)

    return fill


def write_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    with whole_folder(folder) as partial:
        fill(partial)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_file_that_cannot_be_finished_leaves_the_former_one(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_text("former")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, step, full)
    with pytest.raises(OSError, match=f"No space left on device: '{path}'"):
        write_whole(path, "new")
    assert tree(tmp_path) == {"file": "former"}


def test_a_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    """Whatever the library that writes it gives it."""

    def of_its_own(partial: Path) -> None:
        partial.unlink()
        partial.write_bytes(b"text")
        partial.chmod(0o600)

    (tmp_path / "usual").write_bytes(b"text")
    fill_file(tmp_path / "file", of_its_own)
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode
    fill_file(tmp_path / "weights", lambda partial: save_file({"x": torch.zeros(2)}, partial))
    assert (tmp_path / "weights").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_folder_takes_the_place_of_a_file_or_another_folder(tmp_path: Path) -> None:
    for name in ("place", "place.partial", "place.former"):
        (tmp_path / name).write_text("a file")
    for text in ("one", "two"):
        write_folder(tmp_path / "place", fill_with(text))
        assert tree(tmp_path) == {"place/a.txt": text, "place/inner/b.txt": text * 2}
    write_folder(tmp_path / "deep" / "place", fill_with("one"))


def test_everything_is_on_the_disk_before_the_folder_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []
    sync, rename = os.fsync, os.rename
    monkeypatch.setattr(
        files.os, "fsync", lambda handle: (done.append(os.readlink(f"/proc/self/fd/{handle}")), sync(handle))
    )
    monkeypatch.setattr(files.os, "rename", lambda *places: (done.append("rename"), rename(*places)))
    write_folder(tmp_path / "place", fill_with("x"))
    before, after = done[: done.index("rename")], done[done.index("rename") + 1 :]
    partial = str(tmp_path / "place.partial")
    assert set(before) == {partial + end for end in ("", "/a.txt", "/inner", "/inner/b.txt")}
    assert after == [str(tmp_path)]


def test_windows_syncs_what_is_open_for_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen, opened = tmp_path / "a", [], os.open
    path.touch()
    monkeypatch.setattr(os, "open", lambda path, flags: (seen.append(flags), opened(path, flags))[1])
    monkeypatch.setattr(os, "name", "nt")
    files.sync(path)
    assert seen == [os.O_RDWR]


@pytest.mark.parametrize("fails_at", ["fill", 1, 2])
def test_a_folder_that_cannot_be_finished_leaves_the_former_one(
    fails_at: str | int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    write_folder(place, fill_with("former"))
    before = tree(tmp_path)
    rename, calls = os.rename, []

    def fill(partial: Path) -> None:
        fill_with("new")(partial)
        if fails_at == "fill":
            raise OSError(28, "No space left on device")

    def fragile(*places: Path) -> None:
        calls.append(places)
        if len(calls) == fails_at:
            raise OSError(5, "Input/output error")
        rename(*places)

    monkeypatch.setattr(files.os, "rename", fragile)
    with pytest.raises(OSError, match=r"No space left|Input/output"):
        write_folder(place, fill)
    assert tree(tmp_path) == before


class Killed(BaseException):
    pass


def test_killed_at_any_moment_a_folder_is_the_former_or_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by kill -9: from that call on nothing is done any more, no tidying either."""
    for moment in range(30):
        run = tmp_path / str(moment)
        place = run / "place"
        write_folder(place, fill_with("former"))
        calls = 0

        def dying(function, moment: int = moment):
            def wrapped(*arguments, **options):
                nonlocal calls
                calls += 1
                if calls > moment:
                    raise Killed
                return function(*arguments, **options)

            return wrapped

        with monkeypatch.context() as patch:
            patch.setattr(files.os, "rename", dying(os.rename))
            patch.setattr(files.os, "fsync", dying(os.fsync))
            patch.setattr(files.shutil, "rmtree", dying(files.shutil.rmtree))
            try:
                write_folder(place, fill_with("new"))
            except Killed:
                survived = False
            else:
                survived = True
        clear_leftovers(run)
        assert tree(run) in ({f"place/{name}": text * times for name, times in (("a.txt", 1), ("inner/b.txt", 2))}
                             for text in ("former", "new"))  # fmt: skip
        assert [path.name for path in run.iterdir()] == ["place"]
        if survived:
            return
    raise AssertionError("writing a folder takes more calls than were tried")


def test_leftovers_are_cleared_and_nothing_else(tmp_path: Path) -> None:
    for folder in ("a", "a.partial/inner", "b.former", "c", "c.former", "deep/d.partial"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text(folder)
    (tmp_path / "deep" / "file.partial").write_text("half")
    (tmp_path / "a.former").write_text("a file where a folder was")
    (tmp_path / "link.partial").symlink_to(tmp_path / "c", target_is_directory=True)
    clear_leftovers(tmp_path)
    assert tree(tmp_path) == {"a/file": "a", "b/file": "b.former", "c/file": "c"}


def test_a_folder_that_cannot_be_removed_is_named_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("x")

    def broken(path: str, **_: object) -> None:
        raise OSError(5, "Input/output error", path)

    monkeypatch.setattr(files.os, "unlink", broken)
    with pytest.raises(OSError, match=f"Input/output error: '{tmp_path}/folder'"):
        remove(tmp_path / "folder")
    monkeypatch.undo()
    for _ in range(2):  # what is not there is removed already
        remove(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_of_a_file_or_a_folder_is_held_by_one(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path):
        with locked(path):
            handle = os.open(path, os.O_RDONLY)
            with pytest.raises(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)


def test_a_file_that_cannot_be_written_is_told_with_path_and_cause(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"/log: cannot be written: No space left on device; all is well$"):  # noqa: SIM117
        with writing(tmp_path / "log", "all is well"):
            raise OSError(28, "No space left on device")
    with pytest.raises(RunError, match=f"^{tmp_path}/missing/file: cannot be written: No such file"):  # noqa: SIM117
        with writing(tmp_path / "log", ""):
            (tmp_path / "missing" / "file").write_text("x")
    with pytest.raises(RunError, match="cannot be written: several files"):  # noqa: SIM117
        with writing(tmp_path / "log", ""), whole_folder(tmp_path / "whole"):
            raise shutil.Error("several files")
    write_output(tmp_path / "file", b"abc")
    assert (tmp_path / "file").read_bytes() == b"abc"
    with pytest.raises(UserError, match=r"there/file: cannot be written: no such file or directory"):
        write_output(tmp_path / "not" / "there" / "file", b"abc")
