"""Units of message catalogs in JSON and YAML: their strings, at any depth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import yaml

from limelight.errors import shown
from limelight.formats.unit import FormatError, Kept, Splice, Unit, has_words, line_at, make_unit, with_first

MAX_DEPTH = 100
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[{}\[\]]')
_PLAIN_YAML = re.compile(r"[^\W\d_][^\n:#\[\]{}]*[^\s:#\[\]{},&*!|>'\"%@`]", re.UNICODE)
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
    path: tuple[str, ...]
    """The keys around it."""
    value: str
    begin: int
    end: int
    write: Callable[[str], str]


def json_units(text: str, source: str = "", target: str = "", kept: list[Kept] | None = None) -> list[Unit]:
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
    strings, keys, path = list[_String](), list[_String](), list[str]()
    for match in _TOKEN.finditer(text):
        if match[1] is None:
            path = [*path, ""] if match[0] in "{[" else path[:-1]
            if len(path) > MAX_DEPTH:
                raise FormatError(f"more than {MAX_DEPTH} levels", text.count("\n", 0, match.start()) + 1)
            continue
        found = _String(tuple(path), json.loads(match[1], strict=False), *match.span(1), json_string)
        (keys if match[2] else strings).append(found)
        if match[2]:
            path[-1] = found.value
    if "\\u" in text and text.isascii():
        strings = [each._replace(write=json.dumps) for each in strings]
    messages = {each.path[:-1] for each in strings if each.path[-1:] == ("message",)}

    def is_note(path: tuple[str, ...]) -> bool:
        described = bool(messages) and path[-1] != "message" and any(path[: len(each)] == each for each in messages)
        return described or any(key.startswith("@") for key in path)

    notes = {each for each in strings if is_note(each.path)}
    return with_first(_units(text, strings, notes, kept), _renamed(keys, 1, source, target, json_string))


def yaml_units(text: str, source: str = "", target: str = "", kept: list[Kept] | None = None) -> list[Unit]:
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
    # PyYAML skips a byte order mark and counts from after it.
    strings, keys, seen = list[_String](), list[_String](), set[int]()
    for document in documents:
        _walk_yaml(text, document, (), strings, keys, seen)
    return with_first(_units(text, strings, set(), kept), _renamed(keys, 0, source, target, str))


def _units(text: str, strings: list[_String], notes: set[_String], kept: list[Kept] | None) -> list[Unit]:
    units = list[Unit]()
    for each in strings:
        line = line_at(text, each.begin)
        if each not in notes and has_words(each.value) and not _NAME.fullmatch(each.value):
            units.append(make_unit([each.value], _writer(each), line))
        elif kept is not None and each.value:
            kept.append(Kept(line, each.value))
    return units


def _writer(string: _String) -> Callable[[str], list[Splice]]:
    def write(new: str) -> list[Splice]:
        return [Splice(string.begin, string.end, string.write(new))]

    return write


def _renamed(keys: list[_String], level: int, source: str, target: str, write: Callable[[str], str]) -> list[Splice]:
    """Splices that rename the only top-level key if it is the source language."""
    top = [key for key in keys if len(key.path) == level]
    if len(top) != 1 or not (source and target) or top[0].value.lower() != source.lower():
        return []
    return [Splice(top[0].begin, top[0].end, write(target))]


def _walk_yaml(
    text: str, node: Any, path: tuple[str, ...], strings: list[_String], keys: list[_String], seen: set[int]
) -> None:
    if node is None or id(node) in seen or len(path) > MAX_DEPTH:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.style is None:
                keys.append(_String(path, key.value, key.start_mark.index, key.end_mark.index, str))
            _walk_yaml(text, value, (*path, ""), strings, keys, seen)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _walk_yaml(text, value, (*path, ""), strings, keys, seen)
    elif node.tag == "tag:yaml.org,2002:str":
        begin, end = node.start_mark.index, node.end_mark.index
        properties = _PROPERTIES.match(text, begin, end)
        begin = properties.end() if properties else begin
        strings.append(_String(path, node.value, begin, end, _yaml_writer(text, node.style, begin, end)))


def _yaml_writer(text: str, style: str | None, begin: int, end: int) -> Callable[[str], str]:
    def write(new: str) -> str:
        if style in ("|", ">"):
            return _block(text, begin, end, new)
        if "\n" not in new and style == "'":
            return "'" + new.replace("'", "''") + "'"
        return new if "\n" not in new and style is None and _is_plain(new) else json_string(new)

    return write


def json_string(text: str) -> str:
    """A string in double quotes, in the syntax of both JSON and YAML."""
    return json.dumps(text, ensure_ascii=False)


def _is_plain(text: str) -> bool:
    """Whether a text is a plain YAML scalar: read without quotes, it is the same string."""
    if not _PLAIN_YAML.fullmatch(text):
        return False
    try:
        return bool(yaml.safe_load(f"key: {text}") == {"key": text})
    except (yaml.YAMLError, ValueError):
        return False


def _block(text: str, begin: int, end: int, new: str) -> str:
    """A literal or folded block: its unchanged first line, then the translation with the same indentation."""
    raw = text[begin:end]
    head, _, body = raw.partition("\n")
    first = next((line for line in body.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" "))]
    tail = body[len(body.rstrip()) :]
    lines = new.rstrip("\n").split("\n")
    if head.startswith(">") and len(lines) > 1:  # line breaks of what is folded depend on indents
        head = f"|{head[1:]}"
    written = "\n".join(indent + line if line else line for line in lines)
    return f"{head}\n{written}{tail}"
