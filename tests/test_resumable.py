"""A file that is written over many starts is the same bytes as one written at once, or is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from limelight.errors import RunError, UserError
from limelight.resumable import places_of, resumable

MADE_OF = {"text": "a", "search": {"beam": 4}}
SOURCE = Path(__file__).parents[1] / "src"


class Interrupted(BaseException):
    """As a signal is."""


def write(path: Path, until: int = 5, **made_of: object) -> list[int]:
    """Commit the numbers from where the file stands to 4, and finish; interrupted before the number `until`. Returns
    those that were written."""
    written = []
    with resumable(path, MADE_OF | made_of) as file:
        for number in range(file.state.get("next", 0), 5):
            if number == until:
                raise Interrupted
            file.commit(f"line {number}\n".encode(), {"next": number + 1})
            written.append(number)
        file.finish()
    return written


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_whole_file_appears_alone(tmp_path: Path) -> None:
    assert write(tmp_path / "out") == [0, 1, 2, 3, 4]
    assert names(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text() == "".join(f"line {number}\n" for number in range(5))


@pytest.mark.parametrize("until", [1, 3, 4])
def test_an_interrupted_file_goes_on_and_nothing_is_written_twice(until: int, tmp_path: Path) -> None:
    with pytest.raises(Interrupted) as caught:
        write(tmp_path / "out", until)
    partial, journal = places_of(tmp_path / "out")
    assert names(tmp_path) == sorted([partial.name, journal.name])
    assert caught.value.__notes__ == [f"the work so far is in {partial}; the same command continues it"]
    with partial.open("ab") as file:
        file.write(b"half a li")  # as a process leaves it that is killed while it writes
    assert write(tmp_path / "out") == list(range(until, 5))
    assert (tmp_path / "out").read_text() == "".join(f"line {number}\n" for number in range(5))
    assert names(tmp_path) == ["out"]


def test_nothing_is_left_of_what_has_not_begun(tmp_path: Path) -> None:
    with pytest.raises(Interrupted) as caught:
        write(tmp_path / "out", 0)
    assert names(tmp_path) == []
    assert not hasattr(caught.value, "__notes__")


def test_what_is_made_of_something_else_is_refused_and_stays(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        write(tmp_path / "out", 2)
    with pytest.raises(
        UserError, match=r"it was started with other settings: search\.beam is 4 there, 5 here\. Repeat .* remove"
    ):
        write(tmp_path / "out", search={"beam": 5})
    assert write(tmp_path / "out") == [2, 3, 4]


def test_what_nobody_knows_is_not_overwritten(tmp_path: Path) -> None:
    partial, _ = places_of(tmp_path / "out")
    partial.write_text("something of somebody")
    with pytest.raises(UserError, match=r"out\.partial\.json is missing"):
        write(tmp_path / "out")
    assert partial.read_text() == "something of somebody"
    (tmp_path / "there").touch()
    with pytest.raises(UserError, match=r"there: already exists"):
        write(tmp_path / "there")
    with pytest.raises(UserError, match="is a folder"):
        write(tmp_path)
    with pytest.raises(UserError, match="is a pipe or a device"):
        write(Path(os.devnull))
    with pytest.raises(UserError, match="cannot be written: no such file or directory"):
        write(tmp_path / "none" / "out")


@pytest.mark.parametrize("damage", ["{", '{"format": 1}', "[]"])
def test_a_damaged_journal_is_told(damage: str, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        write(tmp_path / "out", 2)
    _, journal = places_of(tmp_path / "out")
    journal.write_text(damage)
    with pytest.raises(RunError, match=r"out\.partial\.json: damaged .* remove .*out\.partial and out\.partial\.json"):
        write(tmp_path / "out")


def test_bytes_that_are_gone_are_told(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        write(tmp_path / "out", 2)
    partial, journal = places_of(tmp_path / "out")
    os.truncate(partial, 3)
    with pytest.raises(RunError, match=r"it has 3 bytes, and out\.partial\.json says 14"):
        write(tmp_path / "out")
    content = json.loads(journal.read_text())
    journal.write_text(json.dumps(content | {"format": 99}))
    with pytest.raises(UserError, match="written by another version of Limelight"):
        write(tmp_path / "out")


def test_two_processes_do_not_write_one_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from limelight.resumable import resumable\n"
        "with resumable(Path(sys.argv[1]), {'text': 'a', 'search': {'beam': 4}}) as file:\n"
        "    file.commit(b'line 0\\n', {'next': 1}); print(flush=True); sys.stdin.read()\n"
        "    raise SystemExit"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert other.stdout is not None
    assert other.stdout.readline() == b"\n"
    with pytest.raises(UserError, match="another process is writing it"):
        write(tmp_path / "out")
    other.communicate(b"")
    assert write(tmp_path / "out") == [1, 2, 3, 4]


def test_a_full_disk_is_told_and_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Interrupted):
        write(tmp_path / "out", 2)

    def full(handle: int, content: bytes) -> None:
        os.write(handle, content[:3])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("limelight.resumable.write_all", full)
        with pytest.raises(RunError, match=r"out: cannot be written: No space left on device; what was committed"):
            write(tmp_path / "out")
    assert write(tmp_path / "out") == [2, 3, 4]
    assert (tmp_path / "out").read_text() == "".join(f"line {number}\n" for number in range(5))


def test_without_locks_the_file_is_closed_before_it_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has none, and moves no open file."""
    monkeypatch.setattr("limelight.resumable.fcntl", None)
    replace, moved = os.replace, []

    def look(source: Path, target: Path) -> None:
        opened = [os.readlink(f"/proc/self/fd/{handle}") for handle in os.listdir("/proc/self/fd") if handle.isdigit()
                  and os.path.islink(f"/proc/self/fd/{handle}")]  # fmt: skip
        moved.append((Path(source).name, str(source) in opened))
        replace(source, target)

    monkeypatch.setattr(os, "replace", look)
    write(tmp_path / "a")
    assert moved[-1] == ("a.partial", False)
    assert (tmp_path / "a").read_text().count("line") == 5
