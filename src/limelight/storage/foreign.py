"""Models of other formats, recognized by the content of files; `limelight import` reads them.

This module does not need torch.
"""

import json
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from limelight.errors import UserError, shown
from limelight.untrusted import open_plain, read_plain

Format = Literal["Argos", "CTranslate2", "Marian", "transformers"]
_MAX_CONFIG_BYTES = 1_000_000
_NOT_READ = {
    "*.onnx": "an ONNX model",
    "*.gguf": "a GGUF model",
    "*.index": "a TensorFlow checkpoint",
    "*.ckpt*": "a TensorFlow checkpoint",
    "*.pt": "a PyTorch checkpoint, which is a pickle",
    "*.pth": "a PyTorch checkpoint, which is a pickle",
    "pytorch_model.bin": "a PyTorch checkpoint, which is a pickle",
}
"""Files of formats that are known and not imported."""


class Foreign(NamedTuple):
    """A model of another format.

    Attributes:
        what: the format in words.
        path: the folder, or the archive.
        format: a format that can be imported; None for one that is only known.
    """

    what: str
    path: Path
    format: Format | None = None


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
        return Foreign("an Argos package", folder, "Argos")
    if (folder / "model.bin").is_file() and (found := _file(folder / "model.bin")):
        return found
    kind = None
    with suppress(ValueError, RecursionError, FileNotFoundError):
        values = json.loads(read_plain(folder / "config.json", _MAX_CONFIG_BYTES))
        kind = values.get("model_type") if isinstance(values, dict) else None
    if kind is not None:
        return Foreign(f"a model of transformers of type {shown(repr(kind))}", folder, "transformers")
    if marian_model(folder) is not None:
        return Foreign("a Marian model", folder, "Marian")
    for pattern, what in _NOT_READ.items():
        if any(folder.glob(pattern)):
            return Foreign(what, folder)
    return None


def marian_model(path: Path) -> Path | None:
    """The file of a Marian model: this one, or the only one in a folder."""
    candidates = [path] if path.is_file() else sorted([*path.glob("*.npz"), *path.glob("*.bin")])
    found = [each for each in candidates if (kind := _file(each)) is not None and kind.format == "Marian"]
    return found[0] if len(found) == 1 else None


def _file(path: Path) -> Foreign | None:
    with open_plain(path) as file:
        begin = file.read(64)
    if begin.startswith(b"PK\3\4"):
        with suppress(zipfile.BadZipFile, ValueError, NotImplementedError), zipfile.ZipFile(path) as archive:
            names = {name.rpartition("/")[2] for name in archive.namelist()}
            if "special:model.yml.npy" in names:
                return Foreign("a Marian model", path, "Marian")
            if {"metadata.json", "model.bin"} <= names:
                return Foreign("an Argos package", path, "Argos")
            return Foreign("a PyTorch checkpoint, which is a pickle", path) if "data.pkl" in names else None
        return Foreign("a damaged zip archive", path)
    if begin[1:4] == b"\0\0\0" and b"Spec\0" in begin:
        return Foreign("a CTranslate2 model", path.parent, "CTranslate2")
    if begin[:8] == b"\1" + bytes(7) and path.suffix == ".bin":
        return Foreign("a Marian model", path, "Marian")
    if path.name == "model.safetensors":
        return _folder(path.parent)
    return next((Foreign(what, path) for pattern, what in _NOT_READ.items() if path.match(pattern)), None)
