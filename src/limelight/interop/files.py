"""Files of other tools, read with limits: they may be damaged or hostile."""

import json
import mmap
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limelight.errors import UserError, shown
from limelight.untrusted import open_plain, read_plain

MAX_JSON_BYTES = 64_000_000
"""Maximum bytes of a JSON file: twice the `tokenizer.json` that transformers writes for a fine-tuned NLLB, with a
list for each merge of its BPE."""
MAX_EXPANSION = 8
"""Maximum bytes in an archive for each of its own: weights hardly shrink, lists of tokens to a fifth."""
DAMAGED = "it is incomplete or damaged; copy or download it again"


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """A context that converts the errors of a missing or damaged file, archive or array to `UserError`."""
    try:
        yield
    except UserError:
        raise
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        raise UserError(f"{path}: cannot be read: {shown(str(error))}; {DAMAGED}") from None


def read(path: Path, most: int) -> bytes:
    """The content of a file. Raises `UserError` if it is missing, larger than `most` bytes, or cannot be read."""
    with reading(path):
        return read_plain(path, most)


def read_buffer(path: Path) -> memoryview:
    """A large file, mapped into memory. Raises `UserError` as `read` does."""
    with reading(path), open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b"")


def read_json(path: Path, kind: type = dict) -> Any:
    """The value in a JSON file. Raises `UserError` as `read` does, and for another kind of value."""
    with reading(path):
        content = read_plain(path, MAX_JSON_BYTES)
        value = json.loads(content)
        if b"\\ud" in content.lower():  # half of a surrogate pair is no text
            json.dumps(value, ensure_ascii=False).encode()
    if not isinstance(value, kind):
        wanted = "a list" if kind is list else "an object with names and values"
        raise UserError(f"{path}: holds a {type(value).__name__}, not {wanted}")
    return value


def read_text(path: Path, most: int = MAX_JSON_BYTES) -> str:
    """The text of a file in UTF-8. Raises `UserError` as `read` does."""
    with reading(path):
        return read_plain(path, most).decode()


def require_bounded(path: Path) -> None:
    """Raises `UserError` if the files in a zip archive are much larger than the archive."""
    with reading(path), zipfile.ZipFile(path) as archive:
        size, most = sum(member.file_size for member in archive.infolist()), MAX_EXPANSION * path.stat().st_size
        if size > most:
            raise UserError(f"{path}: holds {size:,} bytes, and at most {most:,} are expected")


@contextmanager
def unpacked(path: Path, marker: str) -> Iterator[Path]:
    """A context with a temporary folder that has the files of a zip archive: the folder that contains `marker`. An
    error names the archive. Raises `UserError` for a damaged archive."""
    require_bounded(path)
    with tempfile.TemporaryDirectory() as temporary:
        with reading(path), zipfile.ZipFile(path) as archive:
            archive.extractall(temporary)
        found = sorted(Path(temporary).rglob(marker), key=lambda file: (len(file.parts), file))
        try:
            yield found[0].parent if found else Path(temporary)
        except UserError as error:
            raise UserError(str(error).replace(f"{temporary}{os.sep}", f"{path}: ")) from None


class ByteReader:
    """Reads one field after another; raises `UserError` where the file ends before."""

    def __init__(self, content: memoryview, where: str) -> None:
        self.content, self.where, self.at = content, where, 0

    def take(self, count: int) -> memoryview:
        """The next bytes."""
        if not 0 <= count <= len(self.content) - self.at:
            raise UserError(f"{self.where}: ends at byte {len(self.content):,}, within a field; {DAMAGED}")
        self.at += count
        return self.content[self.at - count : self.at]

    def number(self, kind: str) -> int:
        """An integer by its letter in `struct`."""
        (value,) = struct.unpack("<" + kind, self.take(struct.calcsize(kind)))
        return int(value)

    def text(self, count: int) -> str:
        """Text in UTF-8, without the zero at its end."""
        raw = bytes(self.take(count))
        try:
            return raw.rstrip(b"\0").decode()
        except UnicodeDecodeError:
            raise UserError(f"{self.where}: a name at byte {self.at:,} is not UTF-8; {DAMAGED}") from None
