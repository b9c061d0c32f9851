"""Open a text file as bytes: tell its format by its name, and decompress it.

As plain lines, a TMX would be translated tag by tag, and a spreadsheet would be garbage: a format that is not supported
is an error with a remedy.

A damaged or truncated archive raises an error.
"""

import gzip
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, cast

import zstandard

from limelight.errors import UserError

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
_OTHER_ARCHIVES = (".7z", ".br", ".bz2", ".lz4", ".rar", ".zip")

XLIFF = (".xlf", ".xliff", ".sdlxliff", ".mqxliff")
"""Suffixes of XLIFF; the last two are used by translation programs."""
ROWS = (".parquet", ".arrow")
"""Suffixes of tables in columns, which pyarrow reads."""
BOTH_SIDES = (".tsv", ".jsonl", ".tmx", *XLIFF, ".po", ".ts", ".csv")
"""Suffixes of files that hold both sides of parallel text."""
PIPES = "|||"
"""The kind of a file of lines `source ||| target`."""

HEAD = 4096
"""Bytes from the beginning of a file that are enough to detect its format."""
DESCRIPTIONS = {
    ".tmx": "a translation memory (TMX)",
    **dict.fromkeys(XLIFF, "a translation file (XLIFF)"),
    ".csv": "a CSV table",
    ".po": "a gettext catalog (PO)",
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "a spreadsheet"),
    **dict.fromkeys((".docx", ".doc", ".odt", ".rtf"), "a text document"),
    ".pdf": "a PDF document",
    ".pptx": "a presentation",
    **dict.fromkeys((".properties", ".strings", ".resx"), "a file of a program's messages"),
}
"""Formats that are not plain text."""
_QT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:<[?!][^>]*>\s*)*<TS[\s>]")
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")


class ArchiveReader(RawIOBase):
    """Raw stream over a .gz, .xz or .zst file; several archives may be concatenated, as parallel compressors do.

    Reading raises `OSError` if the archive is truncated, damaged, or followed by anything but NUL padding. The readers
    of the standard libraries do not always: some accept an empty file, a truncated file, or a damaged second archive.
    """

    def __init__(self, path: Path, suffix: str) -> None:
        self._file = path.open("rb")
        self._blocks, self._ready = _decompressed(self._file, *_FORMATS[suffix]), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and (block := next(self._blocks, None)) is not None:
            self._ready = memoryview(block)
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _decompressed(file: IO[bytes], new: Callable[[], Any], step: int) -> Iterator[bytes]:
    """The content block by block. `new` makes a decompressor for each of the archives."""
    archive: Any = None  # the one being read; none between two of them
    any_whole, unread = False, b""
    try:
        while compressed := unread or file.read(step):
            unread = b""
            if archive is None:
                compressed = compressed.lstrip(b"\0") if any_whole else compressed
                archive = new() if compressed else None
            if archive is not None:
                yield archive.decompress(compressed)
                if archive.eof:
                    unread, archive, any_whole = archive.unused_data, None, True
    except (zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
        raise OSError(str(error)) from None
    if archive is not None or not any_whole:
        raise OSError("the archive has no end")


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


def refuse_name(path: Path) -> None:
    """Raise `UserError` for the suffix of an unsupported format."""
    if description := DESCRIPTIONS.get(text_suffix(path)):
        raise UserError(
            f"{path}: is {description}, which is not read as text; parallel text is read by the ending of its name "
            f"({', '.join(BOTH_SIDES)}), as by limelight train --train FILE; save anything else as plain text in "
            "UTF-8, a sentence a line, or as a table with tabs (.tsv)"
        )


def open_text(path: str | Path) -> BufferedReader:
    """Open a text file for reading bytes; .gz, .xz and .zst are decompressed.

    Reading raises `OSError` if an archive is damaged or truncated.

    Raises:
        UserError: the file does not exist, is a folder, may not be read, or is in a format that is not text.
    """
    require_file(Path(path))
    return open_segments(path)


def open_segments(path: str | Path) -> BufferedReader:
    """Open a file in any format. Raises as `open_text` does."""
    path = Path(path)
    require_there(path)
    suffix = path.suffix.lower()
    try:
        stream = BufferedReader(ArchiveReader(path, suffix), 1 << 16) if suffix in COMPRESSIONS else path.open("rb")
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    return cast(BufferedReader, stream)


def kind_of(path: str | Path, *, alone: bool = False) -> str:
    """The suffix that determines how a file is read as parallel text.

    The content decides for three suffixes: `.ts` is also the code of a language, unless the file is given `alone`,
    `.json` may be an array of pairs (the result is empty for other content of both), and a `.txt` file may have two
    columns in all of its first lines (`.tsv`, `|||`).
    """
    path, suffix = Path(path), text_suffix(path)
    if suffix not in (".ts", ".json", ".txt") or not path.is_file() or (alone and suffix == ".ts"):
        return suffix
    try:
        with open_segments(path) as stream:
            head = stream.peek(HEAD)[:HEAD]
    except (UserError, OSError):  # reported when the file is read
        return suffix
    if suffix != ".txt":
        return suffix if (_QT if suffix == ".ts" else _ARRAY).match(head) else ""
    lines = [line for line in head[: head.rfind(b"\n") + 1 or None].splitlines() if line.strip()]
    separators = {b"\t": ".tsv", b" ||| ": PIPES}
    return next(
        (kind for separator, kind in separators.items() if lines and all(separator in line for line in lines)), suffix
    )


def holds_both_sides(path: str | Path) -> bool:
    """Whether a file holds both sides of parallel text."""
    return kind_of(path) in (*BOTH_SIDES, *ROWS, ".json", PIPES)


def require_file(path: Path) -> None:
    """Raise `UserError` unless `path` can be read as text, possibly decompressed; pipes are permitted."""
    require_there(path)
    refuse_name(path)


def require_there(path: Path) -> None:
    """Raise `UserError` for a file that is missing, is a folder, or is in an unsupported archive."""
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


def require_lasting(files: Iterable[str]) -> None:
    """Raise `UserError` for a file that can be read only once (a pipe, a device); for callers that read it several
    times."""
    for path in files:
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            raise UserError(
                f"{path}: is a pipe or a device, and this text is read several times; save it to a file first"
            )


def text_suffix(path: str | Path) -> str:
    """The suffix before the suffix of the compression: `.tsv` of `train.tsv.gz`."""
    path = Path(str(path).lower())
    return Path(path.stem).suffix if path.suffix in COMPRESSIONS else path.suffix
