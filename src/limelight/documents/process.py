"""Reads one document in a child process (`child.py`) for a service, and writes it with its translations.

A document of others is read with a bound on time and memory: whatever is in it, nothing else can come to harm. The
first call has the file, with `name`, `source`, `target`, `unpacked` and `segments`; its answer are the segments. The
second call has the translations; its answer is the file.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress

from limelight.child import Frame, Handler, Header
from limelight.documents.document import Document, read_document
from limelight.errors import UserError
from limelight.text.units.registry import Options

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
            opened.append(_read(header, data))
            segments = [(unit.text, [(code.role, code.name) for code in unit.codes]) for unit in opened[0].units]
            return {}, json.dumps(segments).encode()
        except UserError:
            raise
        except (MemoryError, RecursionError):
            raise UserError("it takes too much memory to read; divide it") from None
        except Exception as error:
            raise UserError(f"it cannot be read ({type(error).__name__})") from None

    return answer


def _read(header: Header, data: bytes) -> Document:
    document: Document = read_document(
        data, header["name"], Options(header["source"], header["target"]), unpacked=header["unpacked"]
    )
    if len(document.units) > header["segments"]:
        most = header["segments"]
        raise UserError(
            f"it has {len(document.units):,} segments, and at most {most:,} are accepted: divide it, or ask the "
            "operator to raise --max-segments"
        )
    return document


def _bound() -> None:
    """Bound the time and the memory of this process, where the system can."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_CPU, CPU_SECONDS), (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))
