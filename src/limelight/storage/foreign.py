"""Models of other formats, recognized by the content of files; `limelight import` reads them.

This module does not need torch.
"""

import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from limelight.errors import UserError
from limelight.untrusted import open_plain, read_plain

_MAX_CONFIG_BYTES = 1_000_000


class Foreign(NamedTuple):
    """A model of another format: a folder, or a file."""

    format: str
    path: Path


def recognize(path: Path) -> Foreign | None:
    """What a file or a folder is, if it is a model of another format. Raises `UserError` if it does not exist or cannot
    be read."""
    try:
        return _folder(path) if path.is_dir() else _file(path)
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such file or folder") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def _folder(folder: Path) -> Foreign | None:
    if (folder / "metadata.json").is_file() and (folder / "model").is_dir():
        return Foreign("Argos", folder)
    if (folder / "model.bin").is_file() and (foreign := _file(folder / "model.bin")):
        return foreign
    with suppress(ValueError, RecursionError, FileNotFoundError):
        values = json.loads(read_plain(folder / "config.json", _MAX_CONFIG_BYTES))
        if isinstance(values, dict) and "model_type" in values:
            return Foreign("transformers", folder)
    candidates = sorted([*folder.glob("*.npz"), *folder.glob("*.bin")])
    models = [path for path in candidates if _file(path) == ("Marian", path)]
    if len(models) > 1:
        raise UserError(
            f"{folder}: it has several Marian models: name one of {', '.join(path.name for path in models)}"
        )
    return Foreign("Marian", models[0]) if models else None


def _file(path: Path) -> Foreign | None:
    with open_plain(path) as file:
        begin = file.read(64)
    if begin.startswith(b"PK\3\4"):
        try:
            with zipfile.ZipFile(path) as archive:
                names = {name.rpartition("/")[2] for name in archive.namelist()}
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            raise UserError(f"{path}: a damaged zip archive; copy or download it again") from None
        if "special:model.yml.npy" in names:
            return Foreign("Marian", path)
        if {"metadata.json", "model.bin"} <= names:
            return Foreign("Argos", path)
    if begin[1:4] == b"\0\0\0" and b"Spec\0" in begin:
        return Foreign("CTranslate2", path.parent)
    if begin[:8] == b"\1" + bytes(7) and path.suffix == ".bin":
        return Foreign("Marian", path)
    if path.name == "model.safetensors":
        return _folder(path.parent)
    return None
