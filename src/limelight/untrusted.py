"""Safe access to untrusted files: without blocking, with limits on size, plain data only."""

import errno
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from limelight.errors import shown

MAX_YAML_BYTES = 1_000_000
"""Maximum bytes of YAML: several hundred times our own configuration, parsed in two seconds."""

MAX_VALUE_LENGTH = 2_000
"""Maximum characters of one YAML value: longer than any expected file name."""
MAX_DEPTH = 50
"""Maximum nesting of YAML: ten times that of our own configuration."""


def open_plain(path: Path) -> BinaryIO:
    """Open a regular file. Raises `OSError`, also for other files: a FIFO would block, a device may never end."""
    without_waiting = getattr(os, "O_NONBLOCK", 0)  # Windows has neither the flag nor FIFOs in its file system
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | without_waiting))  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def read_plain(path: Path, most: int) -> bytes:
    """The content of a regular file. Raises `OSError`, also if it has more than `most` bytes."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(errno.EFBIG, f"{size:,} bytes, and at most {most:,} are expected", str(path))
        return file.read(most)


def write_yaml(values: dict[str, Any]) -> str:
    """Plain values as YAML, in their order; `read_yaml` reads them back."""
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # in C where PyYAML was built with libyaml: six times faster
    text: str = yaml.dump(values, Dumper=dumper, sort_keys=False, allow_unicode=True)
    return text


def read_yaml(text: str) -> Any:
    """Parse plain values: mappings, lists, text, numbers, booleans, null. Raises `ValueError` with the line."""
    try:
        return _read(text)
    except yaml.YAMLError as error:
        mark, fault = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        position = f"line {mark.line + 1}: " if mark else ""
        raise ValueError(position + shown(fault or str(error).partition("\n")[0])) from None


def _read(text: str) -> Any:
    """Safe YAML without aliases (which multiply content), tags (which choose types) and duplicate keys."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if getattr(event, "anchor", None) is not None:
            _refuse("anchors and aliases (&name, *name) are not allowed; write the value out", event)
        if getattr(event, "tag", None) not in (None, "!"):
            _refuse(f"tags such as {event.tag} are not allowed; values are plain", event)
        if len(getattr(event, "value", "")) > MAX_VALUE_LENGTH:
            _refuse(f"a value of {len(event.value):,} characters; at most {MAX_VALUE_LENGTH:,} are allowed", event)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            _refuse(f"nested too deeply; at most {MAX_DEPTH} levels are allowed", event)
    reading = _Loader(text)  # what yaml.load does with it
    try:
        return reading.get_single_data()
    finally:
        reading.dispose()


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader that refuses duplicate keys; in C, four times faster, where PyYAML was built with libyaml."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        mapping, seen = super().construct_mapping(node, deep), set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node)
            if key in seen:
                _refuse(f"{key} is given twice", key_node)
            seen.add(key)
        return mapping


def _refuse(fault: str, part: Any) -> None:
    """Raise an error with the position of a part (an event or a node)."""
    raise yaml.MarkedYAMLError(problem=fault, problem_mark=part.start_mark)
