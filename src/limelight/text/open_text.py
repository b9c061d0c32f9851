"""Open a file as bytes, whatever it is compressed with; the last suffix says so."""

from __future__ import annotations

import gzip
import lzma
import zlib
from io import BufferedIOBase, BufferedReader, RawIOBase
from pathlib import Path
from typing import Any

from limelight.errors import UserError

COMPRESSIONS = (".gz", ".xz", ".zst")
_OTHER_ARCHIVES = (".7z", ".br", ".bz2", ".lz4", ".rar", ".zip")

DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""What reading from a damaged or truncated archive raises, in any of the compressions."""

# Fed to zstd at a time. Its blocks hold up to 128 KiB and take 4 bytes where they repeat one byte, so this also bounds
# what a hostile archive can make us hold at once (about 32 MiB); larger pieces are not noticeably faster.
_ZSTD_INPUT = 1024


def open_text(path: str | Path) -> BufferedIOBase:
    """Open `path` for reading bytes, decompressing .gz, .xz and .zst on the way.

    Raises:
        UserError: the file does not exist, is a folder, may not be read, or is .zst without `zstandard` installed.
    """
    path = Path(path)
    require_file(path)
    try:
        suffix = path.suffix.lower()
        if suffix == ".gz":
            return gzip.open(path, "rb")
        if suffix == ".xz":
            return lzma.open(path, "rb")
        if suffix == ".zst":
            return BufferedReader(_ZstdReader(path), buffer_size=1 << 16)
        return path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None


def require_file(path: Path) -> None:
    """Raise `UserError` unless `path` can be read as text, if need be decompressed (a pipe will do)."""
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


def text_suffix(path: str | Path) -> str:
    """The suffix that says what is inside: `.tsv` of `train.tsv.gz`."""
    path = Path(str(path).lower())
    return Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix


class _ZstdReader(RawIOBase):
    """Raw stream over a .zst file of one or more frames.

    The reader that `zstandard` brings takes a truncated file for a finished one; this one raises `EOFError`.
    """

    def __init__(self, path: Path) -> None:
        try:
            import zstandard
        except ImportError:
            raise UserError(f"{path}: reading .zst needs `pip install zstandard` (or unpack the file first)") from None
        self._decompressor = zstandard.ZstdDecompressor()
        self._error = zstandard.ZstdError
        self._file = path.open("rb")
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if not self._read_on():
                return 0
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()

    def _read_on(self) -> bool:
        """Decompress a little more; False at a proper end."""
        leftover = self._frame.unused_data if self._frame is not None and self._frame.eof else b""
        compressed = leftover or self._file.read(_ZSTD_INPUT)
        between_frames = self._frame is None or self._frame.eof
        if not compressed:
            if between_frames:
                return False
            raise EOFError("the compressed file ended before its end marker")
        if between_frames:
            self._frame = self._decompressor.decompressobj()
        try:
            self._ready = memoryview(self._frame.decompress(compressed))
        except self._error as error:
            raise OSError(str(error)) from None
        return True
