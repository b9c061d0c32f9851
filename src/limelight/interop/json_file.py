"""Untrusted JSON: bounded, and of the expected type."""

import json
from pathlib import Path
from typing import Any

from limelight.errors import UserError
from limelight.untrusted import read_plain, shown

MAX_JSON_BYTES = 32_000_000
"""Bytes; a vocabulary of a million tokens has about as many."""


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file. Raises `UserError` naming the file when it is missing, too large or something else."""
    try:
        found = json.loads(read_plain(path, MAX_JSON_BYTES))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # also bytes that are no text
        raise UserError(f"{path}: damaged: not JSON: {shown(str(error))}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path}: holds a {type(found).__name__}, not an object with names and values")
    return found


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write an object, readable for people."""
    path.write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
