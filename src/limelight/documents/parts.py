"""Parts of long work: files that are written whole, so that a part that exists is not made again.

The parts of OUTPUT are numbered JSON files in the folder OUTPUT.parts, together with a manifest of what they depend on.
The writer makes OUTPUT from all parts, and then removes the folder.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout

from limelight.config.files import describe_differences, differences
from limelight.errors import RunError, UserError
from limelight.files import as_json, cause, remove, write_whole, writing

SUFFIX = ".parts"
MANIFEST = "manifest.json"
FORMAT = 2
AGAIN = "finished parts are kept: the same command continues"


class Parts:
    """The parts of an output, locked while the context is open.

    Leaving the context keeps the parts, and removes a folder without any; an exception gets a note with the folder.
    """

    def __init__(self, folder: Path, made_of: Mapping[str, Any], *, replace: bool = False) -> None:
        """Open the folder, or create it.

        Args:
            made_of: what the parts depend on, as plain values for JSON.
            replace: remove parts that depend on other values; otherwise they raise `UserError`.

        Raises `UserError` if the folder cannot be written or another process has opened it, and `RunError` if its
        manifest is damaged.
        """
        self.folder, self._count = folder, 0
        self._lock = FileLock(folder / "lock")
        try:
            folder.mkdir(exist_ok=True)
            self._lock.acquire(blocking=False)
            self._check({"format": FORMAT, "made_of": json.loads(as_json(made_of))}, replace)
        except Timeout:
            raise UserError(f"{folder}: another process writes it; wait for its end, or give -o another name") from None
        except OSError as error:
            self._lock.release()
            output = str(folder).removesuffix(SUFFIX)
            raise UserError(f"{output}: cannot be written: {cause(error).lower()}") from None
        except BaseException:
            self._lock.release()
            raise
        while self._path(self._count).exists():
            self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        """The values of the parts, one in memory at a time."""
        return map(self.read, range(self._count))

    def read(self, number: int) -> Any:
        """The value of a part. Raises `RunError` if it is damaged."""
        return self._value(self._path(number))

    def append(self, value: Any) -> None:
        """Write the next part, a plain value for JSON. Raises `RunError` if it cannot be written."""
        path = self._path(self._count)
        with writing(path, AGAIN):
            write_whole(path, as_json(value))
        self._count += 1

    def remove(self) -> None:
        """Remove the folder, after the output is complete."""
        remove(self.folder / MANIFEST)  # first: parts without one are of an interrupted removal, and are not used
        self._lock.release()
        remove(self.folder)

    def close(self) -> None:
        """Keep the parts for a later start; without any, remove the folder."""
        if self._lock.is_locked:
            self._lock.release()
            if not self._count:
                with suppress(OSError):
                    remove(self.folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is not None and self._count and self._lock.is_locked:
            error.add_note(f"the work so far is in {self.folder}; the same command continues it")
        self.close()

    def _check(self, wanted: dict[str, Any], replace: bool) -> None:
        manifest = self.folder / MANIFEST
        stored = self._value(manifest) if manifest.exists() else None
        changed = [] if stored is None else differences(stored, wanted)
        if changed and not replace:
            named = [(name.removeprefix("made_of."), old, new) for name, old, new in changed]
            raise UserError(
                f"{self.folder}: these parts were made with other settings: {describe_differences(named)}. Repeat "
                "the command that made them, or remove the folder to start again"
            )
        if changed or stored is None:
            for path in (manifest, *self.folder.glob("*.json")):  # the folder stays: the lock is in it
                remove(path)
            write_whole(manifest, as_json(wanted, indent=1))

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.json"

    def _value(self, path: Path) -> Any:
        try:
            return json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise RunError(f"{path}: damaged ({error}); remove {self.folder} to start again") from None


def parts_of(output: Path) -> Path:
    """The folder for the parts of an output."""
    return output.with_name(output.name + SUFFIX)
