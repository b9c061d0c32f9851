"""A file as its units, and as bytes again with their translations.

What is read is bounded, and refused as a whole where something is wrong with it: nothing is written then.

A service reads untrusted documents in a child process (`reader`) with a bound on time and memory: a harmful document
can only end that process. The first call has the file, with `name`, `source`, `target`, `unpacked` and `segments`; its
answer contains the segments. The second call has the translations; its answer is the file.
"""

import io
import json
import os
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from limelight.child import Frame, Handler, Header
from limelight.errors import UserError, shown
from limelight.files import cause
from limelight.formats.docx import PARTS, docx_units
from limelight.formats.registry import DOCX, SUFFIXES, Decoded, decode_file, find_units, is_document, suffix_of
from limelight.formats.unit import FormatError, Kept, Options, Unit, located, rewritten
from limelight.untrusted import read_plain

MAX_FILE = 64 << 20
"""Bytes of a file."""
MAX_MEMBERS = 10_000
MAX_UNPACKED = 256 << 20
"""Bytes of all that is in a zip file."""
MAX_RATIO = 200
"""How much smaller than itself a text in a zip file may be."""


class Part(NamedTuple):
    """A text in a file."""

    name: str
    """In a zip file; empty where the file is the text."""
    decoded: Decoded
    units: Sequence[Unit]
    kept: Sequence[Kept] = ()
    """Strings that are not translated."""


class Document(NamedTuple):
    """A file that is read."""

    name: str
    data: bytes
    parts: tuple[Part, ...]

    @property
    def units(self) -> list[Unit]:
        """The units of all parts."""
        return [unit for part in self.parts for unit in part.units]

    def written(self, translations: Sequence[str | None]) -> bytes:
        """The file with translations of its units; None, or the text itself, changes nothing.

        Raises `UserError` for a character that the encoding of the file does not have.
        """
        remaining, changed = iter(translations), dict[str, bytes]()
        for part in self.parts:
            text = rewritten(part.decoded.text, part.units, islice(remaining, len(part.units)))
            if text != part.decoded.text:
                with located(self.name):
                    changed[part.name] = part.decoded.encode(text)
        if not changed:
            return self.data
        return changed[""] if "" in changed else _zipped(self.data, changed)


def open_document(path: Path, options: Options, name: str = "") -> Document:
    """Read a file, whose format is the ending of `name`, by default of its own. Raises `UserError` for a file that is
    not what its name says, too large, or damaged."""
    name = name or str(path)
    if not is_document(name):
        ending = suffix_of(name) or "a file without an ending"
        raise UserError(f"{name}: documents are {', '.join(SUFFIXES)}, not {ending}")
    try:
        data = read_plain(path, MAX_FILE)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {cause(error).lower()}") from None
    return read_document(data, name, options)


def read_document(data: bytes, name: str, options: Options, *, unpacked: int = MAX_UNPACKED) -> Document:
    """Read a document from bytes. The ending of `name` gives the format; a zip file may unpack to `unpacked` bytes."""
    suffix = suffix_of(name)
    with located(name):
        if suffix == DOCX:
            return Document(name, data, _docx_parts(data, unpacked))
        decoded = decode_file(data, suffix)
        return Document(name, data, (Part("", decoded, *find_units(decoded.text, suffix, options)),))


def _docx_parts(data: bytes, unpacked: int) -> tuple[Part, ...]:
    """The texts of a DOCX file. Raises `FormatError` for a damaged one, or one that would fill the memory."""
    try:
        contents = _unzipped(data, unpacked)
    except (FormatError, MemoryError):
        raise
    except Exception as error:  # a damaged file may raise errors of zipfile, zlib, lzma and others
        fault = "not a valid DOCX file: it is not a zip archive, or it is damaged"
        raise FormatError(f"{fault} ({shown(str(error), 80)})") from None
    if not any(name.startswith("word/document") for name in contents):
        raise FormatError("no DOCX file: it has no word/document.xml")
    parts = list[Part]()
    for name, content in contents.items():
        try:
            decoded = decode_file(content, DOCX)
            parts.append(Part(name, decoded, docx_units(decoded.text)))
        except FormatError as error:
            raise FormatError(f"{name}: {error.reason}", error.line) from None
    return tuple(parts)


def _unzipped(data: bytes, unpacked: int) -> dict[str, bytes]:
    """The contents of the members with text. All members are tested, as they are copied when the file is written."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        size = sum(info.file_size for info in infos)
        if len(infos) > MAX_MEMBERS or size > unpacked:
            bounds = f"at most {MAX_MEMBERS:,} of {unpacked:,} are read"
            raise FormatError(f"{len(infos):,} files of {size:,} bytes in it; {bounds}")
        texts = [info for info in infos if PARTS.fullmatch(info.filename)]
        for info in texts:
            if info.file_size > MAX_FILE or info.file_size > MAX_RATIO * max(info.compress_size, 5000):
                raise FormatError(f"{info.filename}: {info.file_size:,} bytes from {info.compress_size:,}")
        if damaged := archive.testzip():
            raise zipfile.BadZipFile(damaged)
        return {info.filename: archive.read(info) for info in texts}


def _zipped(data: bytes, changed: dict[str, bytes]) -> bytes:
    """The zip file with other contents; the other members in their order, with their dates."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(stream, "w") as after:
        for info in before.infolist():
            content = changed.get(info.filename)
            after.writestr(info, before.read(info) if content is None else content, compress_type=info.compress_type)
        after.comment = before.comment
    return stream.getvalue()


CPU_SECONDS = 60
MEMORY = 1 << 30
"""Bytes of the process."""


def reader() -> Handler:
    """The handler in the child, whose process is bounded and prints nothing from now on."""
    _bound()
    null = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):
        os.dup2(null, output)
    opened: list[Document] = []

    def answer(header: Header, data: bytes) -> Frame:
        try:
            if opened:
                return {}, opened[0].written(json.loads(data))
            options, unpacked = Options(header["source"], header["target"]), header["unpacked"]
            document, limit = read_document(data, header["name"], options, unpacked=unpacked), header["segments"]
            if len(document.units) > limit:
                remedy = "divide it, or ask the operator to raise --max-segments"
                raise UserError(
                    f"it has {len(document.units):,} segments, and at most {limit:,} are accepted: {remedy}"
                )
            opened.append(document)
            segments = [(unit.text, unit.kinds) for unit in document.units]
            return {}, json.dumps(segments).encode()
        except UserError:
            raise
        except (MemoryError, RecursionError):
            raise UserError("it takes too much memory to read; divide it") from None
        except Exception as error:
            raise UserError(f"it cannot be read ({type(error).__name__})") from None

    return answer


def _bound() -> None:
    """Bound the time and the memory of this process, where the system can."""
    try:
        import resource
    except ImportError:
        return
    # Only at the second of two bounds of time is the signal SIGKILL, which then would not say what ended the process.
    bounds = {
        resource.RLIMIT_CPU: (CPU_SECONDS, CPU_SECONDS + 5),
        resource.RLIMIT_AS: (MEMORY, MEMORY),
        resource.RLIMIT_CORE: (0, 0),
    }
    for kind, bound in bounds.items():
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, bound)
