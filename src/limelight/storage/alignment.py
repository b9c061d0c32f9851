"""`alignment.json`: the attention heads of a model from which words are aligned."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from limelight.errors import UserError, shown
from limelight.files import write_whole
from limelight.untrusted import read_plain

FORMAT = 1
MAX_BYTES = 100_000

Head = tuple[int, int, bool]
"""Layer, head, and whether its weights are those of the step that reads a token (see `inspection.word_alignment`)."""

Places = Mapping[str, Sequence[int | None]]
"""For each attention (`decoder.0.cross`) of a model whose heads were removed or reordered their former numbers; None is
a new one."""


def save_alignment(path: Path, heads: Sequence[Head], notes: Mapping[str, Any]) -> None:
    """Write the heads, with notes on how they were chosen. Raises `RunError` with path and cause if that fails."""
    rows = [{"layer": layer, "head": head, "reads": reads} for layer, head, reads in heads]
    values = {"format": FORMAT, "heads": rows, "notes": dict(notes)}
    write_whole(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")


def read_alignment(path: Path, *, layers: int, heads: int) -> list[Head]:
    """The heads in a file; empty if there is no file.

    Raises `UserError` with the name of the file if it is damaged, has another format, or names heads that a model with
    this number of decoder `layers` and `heads` does not have.
    """
    if not path.exists():
        return []
    try:
        values = json.loads(read_plain(path, MAX_BYTES).decode("utf-8"))
        if values["format"] != FORMAT:
            raise UserError(f"{path}: format {shown(str(values['format']))}, and this version reads {FORMAT}")
        named = [(_number(row["layer"], layers), _number(row["head"], heads), row["reads"]) for row in values["heads"]]
        if not named or not all(isinstance(reads, bool) for *_, reads in named):
            raise ValueError("it names no heads")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(f"{path}: not an alignment.json of this model: {shown(str(error))}") from None
    return named


def renumbered(heads: Sequence[Head], places: Places) -> list[Head]:
    """The heads by their new numbers; empty if one of them is gone."""
    found = []
    for layer, number, reads in heads:
        there = list(places.get(f"decoder.{layer}.cross", ()))
        if number not in there:
            return []
        found.append((layer, there.index(number), reads))
    return found


def _number(value: Any, count: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < count:
        raise ValueError(f"{value!r} is not from 0 to {count - 1}")
    return value
