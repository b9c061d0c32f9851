"""Open a file as bytes, whatever it is compressed with; the last suffix says so."""

from __future__ import annotations

import os
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

from limelight.errors import UserError
from limelight.text.archive import COMPRESSIONS, ArchiveReader
from limelight.text.formats import BOTH_SIDES, HEAD, is_qt, refuse_content, refuse_name

_OTHER_ARCHIVES = (".7z", ".br", ".bz2", ".lz4", ".rar", ".zip")


def open_text(path: str | Path) -> BufferedReader:
    """Open `path` for reading bytes, decompressing .gz, .xz and .zst on the way.

    Reading raises `OSError` where an archive is damaged or cut off.

    Raises:
        UserError: the file does not exist, is a folder, may not be read, or is in a format that is not text.
    """
    path = Path(path)
    require_file(path)
    return _open(path, xml=False)


def open_segments(path: str | Path, *, xml: bool) -> BufferedReader:
    """The same for a file in one of `SEGMENT_FORMATS`, which is `xml` or lines."""
    path = Path(path)
    require_there(path)
    return _open(path, xml=xml)


def _open(path: Path, *, xml: bool) -> BufferedReader:
    suffix = path.suffix.lower()
    try:
        if suffix in COMPRESSIONS:
            stream: Any = BufferedReader(ArchiveReader(path, suffix, lines=not xml), buffer_size=1 << 16)
        else:
            stream = path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    try:
        refuse_content(path, head_of(stream, path), xml=xml)
    except UserError:
        stream.close()
        raise
    return cast(BufferedReader, stream)


def head_of(stream: BufferedReader, path: Path) -> bytes:
    """Some bytes that are read next, and stay to be read. None of a pipe, which may have none yet, nor of a damaged
    archive: the reader is warned."""
    if not path.is_file():
        return b""
    with suppress(OSError):
        return stream.peek(HEAD)[:HEAD]
    return b""


def holds_both_sides(path: Path) -> bool:
    """Whether a file holds both sides of parallel text, by its name; where that ends in .ts, which is also the code of
    a language, by its first bytes."""
    suffix = text_suffix(path)
    if suffix != ".ts" or not path.is_file():
        return suffix in BOTH_SIDES
    with open_segments(path, xml=True) as stream:
        return is_qt(head_of(stream, path))


def require_file(path: Path) -> None:
    """Raise `UserError` unless `path` can be read as text, if need be decompressed (a pipe will do)."""
    require_there(path)
    refuse_name(path, text_suffix(path))


def require_there(path: Path) -> None:
    """Raise `UserError` for a file that is missing, is a folder, or is in an archive that is not read."""
    try:
        exists, is_folder = path.exists(), path.is_dir()
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {error}") from None
    if not exists:
        raise UserError(f"{path}: there is no such file (looked in {path.absolute().parent})")
    if is_folder:
        raise UserError(f"{path}: is a folder; name the files in it")
    if path.suffix.lower() in _OTHER_ARCHIVES:
        raise UserError(f"{path}: unpack it first; read as they are: plain text, {', '.join(COMPRESSIONS)}")


def require_lasting(path: Path) -> None:
    """Raise `UserError` where `path` can be read only once (a pipe, a device), for those who read it again."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise UserError(f"{path}: is a pipe or a device, and this text is read several times; save it to a file first")


def text_suffix(path: str | Path) -> str:
    """The suffix that says what is inside: `.tsv` of `train.tsv.gz`."""
    path = Path(str(path).lower())
    return Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix
