"""Compressed files as streams of bytes, which end well only where the archive says so."""

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

# An archive names how much memory its reading takes; `xz -9` asks for 65 MiB, a hostile one for 4 GiB. zstandard has a
# bound of its own, 128 MiB.
_XZ_MEMORY = 1 << 27

_FORMATS: dict[str, tuple[Callable[[], Any], int]] = {
    ".gz": (lambda: zlib.decompressobj(wbits=31), 4096),
    ".xz": (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY), 256),
    ".zst": (lambda: zstandard.ZstdDecompressor().decompressobj(), 128),
}
"""For each suffix what decompresses, and the bytes it is fed at a time. These bound to about 4 MiB what a hostile
archive makes us hold at once, as 128 bytes of .zst can be 4 MiB of one letter; larger blocks are hardly faster."""

COMPRESSIONS = tuple(_FORMATS)


class ArchiveReader(RawIOBase):
    """Raw stream over a .gz, .xz or .zst file, or several of them end to end, as parallel compressors make them.

    Raises `OSError` while it is read where the archive is cut off, damaged, or followed by anything but NUL padding.
    The readers of the libraries do not: one or the other of them takes an empty file, a file that was cut off, or one
    whose second archive is damaged for a whole one.

    Warns (`TextWarning`) where a text of `lines` does not end with a line feed: a file that was cut off exactly between
    two archives looks whole otherwise. Where that cut is at the end of a line nobody can see it.
    """

    def __init__(self, path: Path, suffix: str, *, lines: bool = True, file: BinaryIO | None = None) -> None:
        """`file` is what is read where it is open already; then `path` is its name, for messages."""
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
        """Decompress a little more; False at a proper end."""
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
    """A whole archive of some bytes, the same every time; those of any other suffix stay as they are. Archives end to
    end are one, so that a compressed file can grow by them."""
    if suffix == ".gz":
        return gzip.compress(content, mtime=0)
    if suffix == ".xz":
        return lzma.compress(content)
    if suffix == ".zst":
        return zstandard.ZstdCompressor(write_checksum=True).compress(content)
    return content
