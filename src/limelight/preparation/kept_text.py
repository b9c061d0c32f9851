"""What a run folder keeps of the text it was given, so that a run can be resumed from another directory, or after its
files were moved: the tokenized corpora, and the pairs for validation as they were read."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from limelight.batching.store import DESCRIPTION, described
from limelight.errors import RunError
from limelight.files import write_whole
from limelight.storage.layout import CONFIG, TOKENIZER
from limelight.text.pair import Pair

DATA = "data"
_VERSION = 1


def is_resumed(run: Path) -> bool:
    """Whether the folder holds a run with its configuration and vocabulary. Before that, what lies there may come from
    a start with other settings."""
    return (run / CONFIG).exists() and (run / TOKENIZER).exists()


def keeps(run: Path, name: str) -> bool:
    """Whether the folder keeps the text of this name, for example `train-0` or `valid-0`."""
    return (run / DATA / name / DESCRIPTION).exists() or _pairs_file(run, name).exists()


def places_of(files: Sequence[str]) -> list[str]:
    """The files by their absolute paths: a relative path means another file in another directory."""
    return [os.path.abspath(file) for file in files]


def files_elsewhere(files: Sequence[str], places: Sequence[str]) -> str:
    """A sentence about the first file that is not the one read before, as it is gone or another file has its relative
    path; empty where all are in their `places` (none are known of a store written by an older version)."""
    for number, file in enumerate(files):
        if not Path(file).exists():
            return f"{file} is gone; going on with the text that the run has kept of it"
        if places and places[number] != os.path.abspath(file):
            return (
                f"{file} is here another file than {places[number]}, which this run began with; going on with the "
                "text of that file"
            )
    return ""


def store_elsewhere(run: Path, name: str, files: Sequence[str]) -> str:
    """The same for a store of a resumed run; empty where the run is new or has no such store."""
    if not (is_resumed(run) and (run / DATA / name / DESCRIPTION).exists()):
        return ""
    return files_elsewhere(files, described(run / DATA / name).get("files", []))


def keep_pairs(run: Path, name: str, pairs: Sequence[Pair], *, files: Sequence[str], fingerprint: str) -> None:
    """Write pairs of validation with the places they stand at, and which files they were read from."""
    rows = [[pair.source, pair.target, pair.file, pair.line] for pair in pairs]
    content = {"version": _VERSION, "fingerprint": fingerprint, "files": places_of(files), "pairs": rows}
    path = _pairs_file(run, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(content))


def kept_pairs(run: Path, name: str) -> tuple[list[Pair], list[str], str]:
    """The pairs, the absolute paths of their files, and the fingerprint that `keep_pairs` was given.

    Raises `RunError` when the file is damaged.
    """
    path = _pairs_file(run, name)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != _VERSION:
            raise ValueError(f"version {content['version']}")
        pairs = [
            Pair(str(source), str(target), str(file), int(line)) for source, target, file, line in content["pairs"]
        ]
        return pairs, list(map(str, content["files"])), str(content["fingerprint"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise RunError(f"{path}: not validation pairs of a run ({error}); delete it, it is made anew") from None


def _pairs_file(run: Path, name: str) -> Path:
    return run / DATA / f"{name}.json"
