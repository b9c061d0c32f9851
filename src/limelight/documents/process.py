"""`python -m limelight.documents.process`: reads one document for a service, and writes it with its translations.

A document of others is read in a process of its own, with a bound on its time and its memory: whatever is in it,
nothing else can come to harm. Both sides send messages: a line of JSON with the `size` of what follows. The first one
has the file, with `name`, `source`, `target` and `unpacked`; the answer its segments. Then come the translations, and
the file goes back. Instead of an answer there may be an `error`.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any, BinaryIO

from limelight.documents.document import Document, read_document
from limelight.errors import UserError
from limelight.text.units.registry import Options

CPU_SECONDS = 60
MEMORY = 1 << 30
"""Bytes of the process."""


def main() -> None:
    """Serve one document."""
    _bound()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    try:
        header, data = receive(source)
        if header:
            _serve(header, data, source, sink)
    except UserError as error:
        send(sink, {"error": str(error)})
    except (MemoryError, RecursionError):
        send(sink, {"error": "it takes too much memory to read; divide it"})


def _serve(header: dict[str, Any], data: bytes, source: BinaryIO, sink: BinaryIO) -> None:
    options = Options(header["source"], header["target"])
    document: Document = read_document(data, header["name"], options, unpacked=header["unpacked"])
    if len(document.units) > header["segments"]:
        most = header["segments"]
        raise UserError(
            f"it has {len(document.units):,} segments, and at most {most:,} are accepted: divide it, or ask the "
            "operator to raise --max-segments"
        )
    segments = [(unit.text, [(code.role, code.name) for code in unit.codes]) for unit in document.units]
    send(sink, {}, json.dumps(segments).encode())
    header, data = receive(source)
    if header:
        send(sink, {}, document.written(json.loads(data)))


def send(sink: BinaryIO, header: dict[str, Any], data: bytes = b"") -> None:
    """Send a message."""
    with suppress(OSError):  # the service has closed its end
        sink.write(json.dumps({**header, "size": len(data)}).encode() + b"\n" + data)
        sink.flush()


def receive(source: BinaryIO) -> tuple[dict[str, Any], bytes]:
    """A message; nothing where the other side has ended."""
    line = source.readline()
    header: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
    data = source.read(header.get("size", 0))
    return (header, data) if len(data) == header.get("size") else ({}, b"")


def _bound() -> None:
    """Bound the time and the memory of this process, where the system can."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in ((resource.RLIMIT_CPU, CPU_SECONDS), (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        with suppress(OSError, ValueError):
            resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main()
