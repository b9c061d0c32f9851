"""Parts of long work: what exists is not made again, and parts of other settings are refused or replaced."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from limelight.config.files import describe_differences, differences
from limelight.documents.parts import MANIFEST, Parts, parts_of
from limelight.errors import RunError, UserError
from limelight.files import require_new, sync
from tests.forked import PROCESSES

MADE_OF = {"text": "a", "search": {"beam": 4}}


def write(folder: Path, until: int = 5, **made_of: object) -> list[int]:
    """Write the parts up to a number; interrupted before `until`. Returns the new ones."""
    written = []
    with Parts(folder, MADE_OF | made_of) as parts:
        for number in range(len(parts), 5):
            if number == until:
                raise KeyboardInterrupt
            parts.append({"number": number})
            written.append(number)
    return written


@pytest.mark.parametrize("until", range(5))
def test_interrupted_work_continues_and_makes_no_part_twice(until: int, tmp_path: Path) -> None:
    folder = parts_of(tmp_path / "out")
    with pytest.raises(KeyboardInterrupt) as stopped:
        write(folder, until)
    assert folder.exists() is bool(until) is bool(getattr(stopped.value, "__notes__", []))
    assert write(folder) == list(range(until, 5))
    with Parts(folder, MADE_OF) as parts:
        assert [part["number"] for part in parts] == list(range(5))
        parts.remove()
    assert not list(tmp_path.iterdir())


def test_parts_of_other_settings_are_refused_or_replaced(tmp_path: Path) -> None:
    write(tmp_path / "a")
    with pytest.raises(UserError, match=r"other settings: search\.beam is 4 there, 1 here\. Repeat .* remove the"):
        write(tmp_path / "a", search={"beam": 1})
    with Parts(tmp_path / "a", {"text": "b"}, replace=True) as parts:
        assert len(parts) == 0
        parts.append(1)
    with Parts(tmp_path / "a", {"text": "b"}, replace=True) as parts:
        assert list(parts) == [1]


def test_what_an_interrupted_removal_has_left_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def end_or_replace(folder: Path, *, ends: bool) -> None:
        with Parts(folder, MADE_OF if ends else {"text": "b"}, replace=True) as parts:
            if ends:
                parts.remove()

    unlink = os.unlink
    for ends in (True, False):
        for steps in range(6):
            folder, left = tmp_path / f"{ends}-{steps}", iter(range(steps))
            write(folder)

            def limited(*given: object, left: Iterator[int] = left, **named: object) -> None:
                if next(left, None) is None:
                    raise KeyboardInterrupt
                unlink(*given, **named)  # type: ignore[arg-type]

            with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
                patched.setattr(os, "unlink", limited)
                end_or_replace(folder, ends=ends)
            with Parts(folder, {"text": "c"}, replace=True) as parts:
                assert list(parts) == [], (ends, steps)


@pytest.mark.parametrize("name", [MANIFEST, "000001.json"])
def test_damage_is_reported(name: str, tmp_path: Path) -> None:
    write(tmp_path / "a")
    (tmp_path / "a" / MANIFEST).unlink()
    assert write(tmp_path / "a") == list(range(5)), "parts without a manifest are not used"
    (tmp_path / "a" / name).write_text("{")
    with (
        pytest.raises(RunError, match=rf"{name}: damaged .*remove .*a to start again"),
        Parts(tmp_path / "a", MADE_OF) as p,
    ):
        list(p)


@pytest.mark.parametrize("replace", [False, True])
def test_two_processes_do_not_write_one_output(replace: bool, tmp_path: Path) -> None:
    if replace:
        write(tmp_path / "a", text="b")
    with Parts(tmp_path / "a", MADE_OF, replace=replace) as parts:
        parts.append(1)
        with pytest.raises(UserError, match="another process writes it"):
            Parts(tmp_path / "a", MADE_OF, replace=replace)
        process = PROCESSES.Process(target=write, args=(tmp_path / "a",))
        process.start()
        process.join()
        assert process.exitcode == 1
    assert write(tmp_path / "a") == [1, 2, 3, 4]


def test_a_full_disk_is_reported_and_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> None:
        if path.name.startswith("000003"):
            raise OSError(28, os.strerror(28))
        sync(path)

    with monkeypatch.context() as patched:
        patched.setattr("limelight.files.sync", full)
        with pytest.raises(RunError, match=r"000003\.json: cannot be written: No space left on device; finished parts"):
            write(tmp_path / "a")
    assert write(tmp_path / "a") == [3, 4]


def test_an_output_that_exists_is_refused(tmp_path: Path) -> None:
    require_new(tmp_path / "a")
    (tmp_path / "b").touch()
    for path in (tmp_path, tmp_path / "b", Path("/dev/null")):
        with pytest.raises(UserError, match="exists already; give -o another name"):
            require_new(path)


def test_every_difference_has_its_full_name() -> None:
    old = {"a": 1, "b": {"c": [1, 2], "d": {"e": None}}, "gone": 3}
    new = {"a": 1, "b": {"c": [2, 1], "d": {"e": 0}}, "new": {"f": 4}}
    found = differences(old, new)
    assert found == [("b.c", [1, 2], [2, 1]), ("b.d.e", None, 0), ("gone", 3, None), ("new", None, {"f": 4})]
    assert describe_differences(found[:2]) == "b.c is [1, 2] there, [2, 1] here; b.d.e is None there, 0 here"
    assert differences(old, old) == []
