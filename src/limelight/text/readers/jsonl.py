"""Pairs from one file, a JSON object a line: `{"source": "...", "target": "..."}`, further keys ignored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from limelight.text.open_text import open_text
from limelight.text.pair import BadLine, Pair
from limelight.text.readers.lines import scan_lines

_EXAMPLE = '{"source": "...", "target": "..."}'


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
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"not valid JSON ({error}); a .jsonl line is {_EXAMPLE}"
    if not isinstance(record, dict):
        return f"a JSON {type(record).__name__}, not an object; a .jsonl line is {_EXAMPLE}"
    missing = [key for key in ("source", "target") if key not in record]
    if missing:
        return f"the object has no {' and no '.join(map(repr, missing))}; a .jsonl line is {_EXAMPLE}"
    for key in ("source", "target"):
        text = record[key]
        if not isinstance(text, str):
            return f"{key!r} is {type(text).__name__}, not text; a .jsonl line is {_EXAMPLE}"
        # JSON can spell, in escapes, what UTF-8 cannot hold.
        if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
            return f"{key!r} holds a NUL character or half of a surrogate pair"
    return record["source"], record["target"]
