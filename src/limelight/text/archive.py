"""Compressed files as streams of bytes; a damaged or truncated archive raises an error."""

from __future__ import annotations

import gzip
import lzma
import warnings
import zlib
from collections.abc import Callable
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from limelight.errors import TextWarning

# The header of an archive states how much memory decompression needs: 65 MiB after `xz -9`, 4 GiB in a malicious one.
# zstandard has its own bound, 128 MiB.
_XZ_MEMORY = 1 << 27

_FORMATS: dict[str, tuple[Callable[[], Any], int]] = {
    ".gz": (lambda: zlib.decompressobj(wbits=31), 4096),
    ".xz": (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY), 256),
    ".zst": (lambda: zstandard.ZstdDecompressor().decompressobj(), 128),
}
"""For each suffix its decompressor and the block size in bytes. The block size limits the memory that a malicious
archive can use to about 4 MiB (128 bytes of .zst can expand to 4 MiB); larger blocks are hardly faster."""

COMPRESSIONS = tuple(_FORMATS)


class ArchiveReader(RawIOBase):
    """Raw stream over a .gz, .xz or .zst file; several archives may be concatenated, as parallel compressors do.

    Reading raises `OSError` if the archive is truncated, damaged, or followed by anything but NUL padding. The readers
    of the standard libraries do not always: some accept an empty file, a truncated file, or a damaged second archive.

    With `lines`, warns (`TextWarning`) if the text does not end with a line feed: the file may have been truncated
    exactly between two archives. If that place is also the end of a line, truncation cannot be detected.
    """

    def __init__(self, path: Path, suffix: str, *, lines: bool = True, file: BinaryIO | None = None) -> None:
        """`file`, if given, is read instead of opening `path`; then `path` serves only as the name in messages."""
        self._new, self._step = _FORMATS[suffix]
        self._path, self._lines, self._file = path, lines, path.open("rb") if file is None else file
        self._archive: Any = None  # the one being read; none between two of them
        self._unread = b""
        self._any_whole = False
        self._ready = memoryview(b"")
        self._last = b"\n"  # the last byte of the text so far
        self._fault = ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._fault:
            raise OSError(self._fault)  # once damaged, it stays so
        try:
            while not self._ready:
                if not self._read_on():
                    return 0
        except OSError as error:
            self._fault = str(error)
            raise
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()

    def _read_on(self) -> bool:
        """Decompress one more block; False at the regular end of the archive."""
        compressed = self._unread or self._file.read(self._step)
        if not compressed:
            if self._any_whole and self._archive is None:
                self._warn_of_half_a_line()
                return False
            raise OSError("the archive has no end")
        self._unread = b""
        if self._archive is None:
            compressed = compressed.lstrip(b"\0") if self._any_whole else compressed
            if not compressed:
                return True
            self._archive = self._new()
        try:
            self._ready = memoryview(self._archive.decompress(compressed))
        except (zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
            raise OSError(str(error)) from None
        self._last = bytes(self._ready[-1:]) or self._last
        if self._archive.eof:
            self._unread, self._archive, self._any_whole = self._archive.unused_data, None, True
        return True

    def _warn_of_half_a_line(self) -> None:
        if self._lines and self._last != b"\n":
            warnings.warn(
                f"{self._path}: the last line has no line feed at its end; if several archives were joined in this "
                "file, it may be cut off between two of them",
                TextWarning,
                stacklevel=2,
            )
        self._last = b"\n"  # once


def compress(content: bytes, suffix: str) -> bytes:
    """Compress `content` deterministically; for any other suffix it is returned unchanged. Concatenated archives are
    a valid archive, so a compressed file can be extended by appending."""
    if suffix == ".gz":
        return gzip.compress(content, mtime=0)
    if suffix == ".xz":
        return lzma.compress(content)
    if suffix == ".zst":
        return zstandard.ZstdCompressor(write_checksum=True).compress(content)
    return content
