"""Units of message catalogs in JSON and YAML: their strings, at any depth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import yaml

from limelight.errors import shown
from limelight.formats.unit import FormatError, Kept, Splice, Unit, has_words, line_at, make_unit, with_first

MAX_DEPTH = 100
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[{}\[\]]')
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)+")
_NAME = re.compile(
    r"\w*_[\w./:@-]*|[a-z]+\d*[A-Z]\w*"  # snake_case, camelCase
    r"|[/~#@][!-~]*|\.{1,2}/[!-~]*|[!-~]*\w/[!-~]*[./]\w*"  # /path, #id, ./a, a/b.png
    r"|[A-Za-z][\w+.-]*:/[!-~]*|[!-~]+@[!-~]+"  # https://host, a@host
    r"|[a-z]\w*(?:\.\w+)+|[!-~]*\d[!-~]*",  # a.key, host.org; a version, a size, a date
    re.ASCII,
)
"""One word that is an identifier, an address or a value, and not text."""


class _String(NamedTuple):
    """A string value, or a key."""

    path: tuple[str, ...]
    """The keys around it."""
    value: str
    begin: int
    end: int
    write: Callable[[str], str]


def json_units(text: str, source: str, target: str, kept: list[Kept]) -> list[Unit]:
    """The strings of a catalog. Of entries with a `message` (Chrome) only that; in ARB files nothing under `@keys`.
    A top-level key that is the source language is renamed to the target language. `kept` gets all other strings.

    Raises `FormatError` for invalid JSON.
    """
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"not valid JSON at column {error.colno}", error.lineno) from None
    except (RecursionError, ValueError):
        raise FormatError("not valid JSON: too many levels, or a number of too many digits") from None
    write = json.dumps if "\\u" in text and text.isascii() else json_string
    strings, keys, path = list[_String](), list[_String](), list[str]()
    for match in _TOKEN.finditer(text):
        if match[1] is None:
            path = [*path, ""] if match[0] in "{[" else path[:-1]
            if len(path) > MAX_DEPTH:
                raise FormatError(f"more than {MAX_DEPTH} levels", line_at(text, match.start()))
            continue
        entry = _String(tuple(path), json.loads(match[1], strict=False), *match.span(1), write)
        (keys if match[2] else strings).append(entry)
        if match[2]:
            path[-1] = entry.value
    messages = {string.path[:-1] for string in strings if string.path[-1:] == ("message",)}

    def is_note(path: tuple[str, ...]) -> bool:
        described = (
            bool(messages) and path[-1] != "message" and any(path[: len(message)] == message for message in messages)
        )
        return described or any(key.startswith("@") for key in path)

    notes = {string for string in strings if is_note(string.path)}
    return _units(text, strings, notes, kept, (key for key in keys if len(key.path) == 1), (source, target))


def yaml_units(text: str, source: str, target: str, kept: list[Kept]) -> list[Unit]:
    """The strings of a YAML catalog, as of one in JSON; anchors and aliases are unchanged.

    Raises `FormatError` for invalid YAML.
    """
    try:
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise FormatError(f"not valid YAML: {shown(error.problem or str(error.context))}", line) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise FormatError(f"not valid YAML: {shown(str(error))}") from None
    strings, keys, seen = list[_String](), list[_String](), set[int]()

    def walk(node: Any, path: tuple[str, ...]) -> None:
        if node is None or id(node) in seen or len(path) > MAX_DEPTH:
            return
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.style is None and not path:
                    keys.append(_String(path, key.value, key.start_mark.index, key.end_mark.index, str))
                walk(value, (*path, ""))
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                walk(value, (*path, ""))
        elif node.tag == "tag:yaml.org,2002:str":
            begin, end = node.start_mark.index, node.end_mark.index
            properties = _PROPERTIES.match(text, begin, end)
            begin = properties.end() if properties else begin
            strings.append(_String(path, node.value, begin, end, partial(_scalar, text[begin:end], node.style)))

    for document in documents:
        walk(document, ())
    return _units(text, strings, set(), kept, keys, (source, target))


def _units(
    text: str, strings: list[_String], notes: set[_String], kept: list[Kept], top: Iterable[_String],
    languages: tuple[str, str],
) -> list[Unit]:  # fmt: skip
    """The units; the first one also renames the only key at the top if it is the source language."""

    def splice(string: _String, new: str) -> list[Splice]:
        return [Splice(string.begin, string.end, string.write(new))]

    units = list[Unit]()
    for entry in strings:
        line = line_at(text, entry.begin)
        if entry not in notes and has_words(entry.value) and not _NAME.fullmatch(entry.value):
            units.append(make_unit([entry.value], partial(splice, entry), line))
        elif entry.value:
            kept.append(Kept(line, entry.value))
    names = list(top)
    if len(names) == 1 and all(languages) and names[0].value.lower() == languages[0].lower():
        return with_first(units, splice(names[0], languages[1]))
    return units


def json_string(text: str) -> str:
    """A string in double quotes, in the syntax of both JSON and YAML."""
    return json.dumps(text, ensure_ascii=False)


def _scalar(raw: str, style: str | None, new: str) -> str:
    """A string of YAML in the style that it had, or in double quotes where it would be another one without them."""
    if style in ("|", ">"):
        return _block(raw, new)
    written = new if style is None else "'" + new.replace("'", "''") + "'" if style == "'" else json_string(new)
    try:
        is_same = "\n" not in written and yaml.safe_load(f"[{written}]") == [new]
    except (yaml.YAMLError, ValueError):
        is_same = False
    return written if is_same else json_string(new)


def _block(raw: str, new: str) -> str:
    """A literal or folded block: its unchanged first line, then the translation with the same indentation."""
    head, _, body = raw.partition("\n")
    first = next((line for line in body.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" "))]
    tail = body[len(body.rstrip()) :]
    lines = new.rstrip("\n").split("\n")
    if head.startswith(">") and len(lines) > 1:  # line breaks of what is folded depend on indents
        head = f"|{head[1:]}"
    written = "\n".join(indent + line if line else line for line in lines)
    return f"{head}\n{written}{tail}"
