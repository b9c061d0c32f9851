"""The files of a model in a folder or in a zip archive, read with limits: they may be damaged or hostile.

Nothing is extracted: a member of an archive is read into memory by its name, up to a size that the archive's own size
allows.
"""

import json
import mmap
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from limelight.errors import UserError, shown
from limelight.untrusted import open_plain, read_plain

MAX_JSON_BYTES = 32_000_000
"""Maximum bytes of a JSON file, about those of a vocabulary of a million tokens."""
MAX_EXPANSION = 8
"""Maximum bytes of a member for each byte of the archive: weights hardly shrink, lists of tokens to a fifth."""
DAMAGED = "it is incomplete or damaged; copy or download it again"


class Files(NamedTuple):
    """A folder of files, in the file system or in an archive.

    Attributes:
        place: the folder, or the archive.
        archive: the open archive, if it is one.
        inside: the folder inside the archive.
    """

    place: Path
    archive: zipfile.ZipFile | None = None
    inside: str = ""

    def where(self, name: str) -> str:
        """A file as messages name it."""
        return f"{self.place}: {shown(self.inside + name)}" if self.archive else str(self.place / name)

    def has(self, name: str) -> bool:
        """Whether there is such a file."""
        if self.archive is None:
            return (self.place / name).is_file()
        return self.inside + name in self.archive.NameToInfo

    def under(self, folder: str) -> "Files":
        """The files of a folder inside."""
        if self.archive is None:
            return Files(self.place / folder)
        return self._replace(inside=f"{self.inside}{folder}/")

    def read(self, name: str, most: int) -> bytes:
        """The content of a file. Raises `UserError` if it is missing, larger than `most` bytes, or damaged."""
        try:
            return read_plain(self.place / name, most) if self.archive is None else self._member(name, most)
        except OSError as error:
            raise UserError(f"{self.where(name)}: cannot be read: {error.strerror or error}") from None

    def buffer(self, name: str) -> memoryview:
        """A large file: mapped into memory, or a member of an archive. Raises `UserError` as `read` does."""
        if self.archive is not None:
            return memoryview(self._member(name, 2**63))
        try:
            with open_plain(self.place / name) as file:
                return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except ValueError:  # an empty file
            return memoryview(b"")
        except OSError as error:
            raise UserError(f"{self.where(name)}: cannot be read: {error.strerror or error}") from None

    def json(self, name: str, kind: type = dict) -> Any:
        """The value in a JSON file. Raises `UserError` as `read` does, and for another kind of value."""
        content = self.read(name, MAX_JSON_BYTES)
        try:
            found = json.loads(content)
        except (ValueError, RecursionError) as error:  # also invalid UTF-8
            raise UserError(f"{self.where(name)}: damaged: not JSON: {shown(str(error))}") from None
        if not isinstance(found, kind):
            wanted = "a list" if kind is list else "an object with names and values"
            raise UserError(f"{self.where(name)}: holds a {type(found).__name__}, not {wanted}")
        return found

    def text(self, name: str, most: int = MAX_JSON_BYTES) -> str:
        """The text of a file in UTF-8. Raises `UserError` as `read` does."""
        try:
            return self.read(name, most).decode()
        except UnicodeDecodeError as error:
            raise UserError(f"{self.where(name)}: damaged: not UTF-8: {error}") from None

    def _member(self, name: str, most: int) -> bytes:
        assert self.archive is not None
        try:
            member = self.archive.getinfo(self.inside + name)
            most = min(most, MAX_EXPANSION * self.place.stat().st_size)
            if member.file_size > most:
                raise UserError(f"{self.where(name)}: {member.file_size:,} bytes, and at most {most:,} are expected")
            with self.archive.open(member) as file:
                content = file.read(most)
        except KeyError:
            raise UserError(f"{self.where(name)}: is missing") from None
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
            raise UserError(f"{self.where(name)}: cannot be read: {shown(str(error))}; {DAMAGED}") from None
        if len(content) != member.file_size:
            raise UserError(
                f"{self.where(name)}: {len(content):,} bytes, and {member.file_size:,} are stated; {DAMAGED}"
            )
        return content


def open_archive(path: Path, marker: str) -> Files:
    """The files of a zip archive in the folder that contains `marker`. Raises `UserError` for a damaged archive."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
        raise UserError(f"{path}: not a zip archive that can be read: {shown(str(error))}; {DAMAGED}") from None
    inside = [name.removesuffix(marker) for name in archive.namelist() if name.split("/")[-1] == marker]
    return Files(path, archive, min(inside, key=len, default=""))


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
