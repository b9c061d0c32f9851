"""Units of message catalogs in JSON and YAML: their strings, at any depth."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import yaml

from limelight.errors import shown
from limelight.formats.unit import FormatError, Lines, Splice, Unit, has_words, make_unit

MAX_DEPTH = 100
_SPACE = re.compile(r"[ \t\r\n]*")
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_PLAIN_YAML = re.compile(r"[^\W\d_][^\n:#\[\]{}]*[^\s:#\[\]{},&*!|>'\"%@`]", re.UNICODE)
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)+")
_CODE_LIKE = re.compile(r"[\w./:#@-]*[\d_./:#@-][\w./:#@-]*|[a-z]+[A-Z]\w*")
"""One word with digits, underscores, slashes or camel case: an identifier, not text."""
_NO_TEXT = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])


class _String(NamedTuple):
    path: tuple[str, ...]
    value: str
    begin: int
    end: int


def json_units(text: str, source: str = "", target: str = "") -> list[Unit]:
    """The strings of a catalog. Of entries with a `message` (Chrome) only that; in ARB files nothing under `@keys`.
    A top-level key that is the source language is renamed to the target language.

    Raises `FormatError` for invalid JSON.
    """
    strings, keys = list[_String](), list[_String]()
    walker = _Json(text, strings, keys)
    walker.value(walker.space(0), (), 0)
    messages = {found.path[:-1] for found in strings if found.path[-1:] == ("message",)}
    renamed = _renamed(keys, source, target, lambda name: json.dumps(name, ensure_ascii=False))
    lines, units = Lines(text), list[Unit]()
    escaped = "\\u" in text and text.isascii()
    for path, value, begin, end in strings:
        described = bool(messages) and path[-1] != "message" and any(path[: len(each)] == each for each in messages)
        if described or any(key.startswith("@") for key in path) or not _is_text(value):
            continue
        units.append(make_unit([value], _json_writer(begin, end, ascii_only=escaped), lines.at(begin)))
    return _with_first(units, renamed)


def yaml_units(text: str, source: str = "", target: str = "") -> list[Unit]:
    """The strings of a YAML catalog; anchors and aliases are unchanged.

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
    strings, keys, seen = list[Any](), list[_String](), set[int]()
    for document in documents:
        _walk_yaml(document, (), strings, keys, seen)
    lines, units = Lines(text), list[Unit]()
    for node in strings:
        if _is_text(node.value):
            begin, end = node.start_mark.index, node.end_mark.index
            properties = _PROPERTIES.match(text, begin, end)
            begin = properties.end() if properties else begin
            units.append(make_unit([node.value], _yaml_writer(text, node, begin, end), lines.at(begin)))
    return _with_first(units, _renamed(keys, source, target, str))


def _is_text(value: str) -> bool:
    return has_words(value) and not _CODE_LIKE.fullmatch(value) and value.lower() not in _NO_TEXT


def _renamed(keys: list[_String], source: str, target: str, write: Any) -> list[Splice]:
    """Splices that rename the only top-level key if it is the source language."""
    top = [key for key in keys if not key.path]
    if len(top) != 1 or not (source and target) or top[0].value.lower() != source.lower():
        return []
    return [Splice(top[0].begin, top[0].end, write(target))]


def _with_first(units: list[Unit], splices: list[Splice]) -> list[Unit]:
    """The units, where the first one also writes `splices`."""
    if units and splices:
        first = units[0]
        units[0] = first._replace(write=lambda new: [*splices, *first.write(new)])
    return units


def _json_writer(begin: int, end: int, *, ascii_only: bool) -> Any:
    return lambda new: [Splice(begin, end, json.dumps(new, ensure_ascii=ascii_only))]


class _Json:
    """A JSON scanner that records places of strings instead of creating objects."""

    def __init__(self, text: str, strings: list[_String], keys: list[_String]) -> None:
        self.text, self.strings, self.keys = text, strings, keys

    def space(self, place: int) -> int:
        match = _SPACE.match(self.text, place)
        return match.end() if match else place

    def fail(self, place: int) -> FormatError:
        return FormatError(f"not valid JSON at column {place - self.text.rfind(chr(10), 0, place)}",
                           self.text.count("\n", 0, place) + 1)  # fmt: skip

    def value(self, place: int, path: tuple[str, ...], depth: int) -> int:
        """The end of the value that begins at `place`."""
        if depth > MAX_DEPTH:
            raise FormatError(f"more than {MAX_DEPTH} levels", self.text.count("\n", 0, place) + 1)
        character = self.text[place : place + 1]
        if character == '"':
            value, end = self.string(place)
            self.strings.append(_String(path, value, place, end))
            return end
        if character in ("{", "[") and character:
            return self.several(place, path, depth, "}" if character == "{" else "]")
        match = _SCALAR.match(self.text, place)
        if match is None:
            raise self.fail(place)
        return match.end()

    def several(self, place: int, path: tuple[str, ...], depth: int, closing: str) -> int:
        place, number = self.space(place + 1), 0
        if self.text[place : place + 1] == closing:
            return place + 1
        while True:
            key = str(number)
            if closing == "}":
                if self.text[place : place + 1] != '"':
                    raise self.fail(place)
                key, end = self.string(place)
                self.keys.append(_String(path, key, place, end))
                place = self.space(end)
                if self.text[place : place + 1] != ":":
                    raise self.fail(place)
                place = self.space(place + 1)
            place = self.space(self.value(place, (*path, key), depth + 1))
            following = self.text[place : place + 1]
            if following == closing:
                return place + 1
            if following != ",":
                raise self.fail(place)
            place, number = self.space(place + 1), number + 1

    def string(self, place: int) -> tuple[str, int]:
        try:
            value, end = scanstring(self.text, place + 1)
        except ValueError:
            raise self.fail(place) from None
        return str(value), int(end)


def _walk_yaml(node: Any, path: tuple[str, ...], strings: list[Any], keys: list[_String], seen: set[int]) -> None:
    if node is None or id(node) in seen or len(path) > MAX_DEPTH:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.style is None:
                keys.append(_String(path, key.value, key.start_mark.index, key.end_mark.index))
            _walk_yaml(value, (*path, getattr(key, "value", "") if isinstance(key.value, str) else ""), strings, keys,
                       seen)  # fmt: skip
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _walk_yaml(value, (*path, str(number)), strings, keys, seen)
    elif node.tag == "tag:yaml.org,2002:str":
        strings.append(node)


def _yaml_writer(text: str, node: Any, begin: int, end: int) -> Any:
    style = node.style

    def write(new: str) -> Iterator[Splice]:
        if style in ("|", ">"):
            yield _block(text, begin, end, new)
        elif style == "'":
            yield Splice(begin, end, "'" + new.replace("'", "''") + "'" if "\n" not in new else json_string(new))
        elif style is None and "\n" not in new and _is_plain(new):
            yield Splice(begin, end, new)
        else:
            yield Splice(begin, end, json_string(new))

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


def _block(text: str, begin: int, end: int, new: str) -> Splice:
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
    return Splice(begin, end, f"{head}\n{written}{tail}")
