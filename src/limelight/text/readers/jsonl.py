"""Pairs from one file, a JSON object a line: `{"source": "...", "target": "..."}`, further keys ignored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from limelight.text.open_text import open_text
from limelight.text.pair import BadLine, Pair
from limelight.text.readers.lines import scan_lines

_EXAMPLE = 'a .jsonl line is {"source": "...", "target": "..."}'
_NAMES = {bool: "true or false", float: "a number", int: "a number", list: "a list", str: "text", type(None): "null"}


class _Object(list[tuple[str, Any]]):
    """The members of a JSON object as they stand there, also where a key stands there twice."""


def scan_jsonl(path: str | Path) -> Iterator[Pair | BadLine]:
    """One item for each line: the pair, or what is wrong with it."""
    name = str(path)
    with open_text(path) as stream:
        for number, line in enumerate(scan_lines(stream, name), start=1):
            if isinstance(line, BadLine):
                yield line
                continue
            sides = _sides(line)
            yield BadLine(name, number, sides) if isinstance(sides, str) else Pair(*sides, name, number)


def _sides(line: str) -> tuple[str, str] | str:
    """Source and target, or the reason why there are none."""
    try:
        record = json.loads(line, object_pairs_hook=_Object, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        return f"not valid JSON ({error.msg} at character {error.colno}); {_EXAMPLE}"
    except RecursionError:
        return f"JSON nested too deeply; {_EXAMPLE}"
    except ValueError as error:  # NaN, or a number of thousands of digits
        return f"not valid JSON ({error}); {_EXAMPLE}"
    if not isinstance(record, _Object):
        return f"not a JSON object but {_NAMES[type(record)]}; {_EXAMPLE}"
    sides = [_side(record, key) for key in ("source", "target")]
    faults = [fault for _, fault in sides if fault]
    return faults[0] if faults else (sides[0][0], sides[1][0])


def _side(record: _Object, key: str) -> tuple[str, str]:
    """The text of one side, and what is wrong with it: one of them is empty."""
    values = [value for name, value in record if name == key]
    if not values:
        return "", f"the object has no {key!r}; {_EXAMPLE}"
    if len(values) > 1:
        return "", f"the object has {key!r} more than once; {_EXAMPLE}"
    text = values[0]
    if not isinstance(text, str):
        return "", f"{key!r} is not text but {_NAMES.get(type(text), 'an object')}; {_EXAMPLE}"
    # JSON can spell, in escapes, what UTF-8 cannot hold.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return "", f"{key!r} holds a NUL character or half of a surrogate pair"
    return text, ""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
