"""Units of message catalogs in JSON and YAML: their strings, at any depth."""

import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import yaml

from limelight.errors import shown
from limelight.formats.unit import FormatError, Kept, Options, Splice, Unit, has_words, line_at, text_unit, with_splices
from limelight.text.languages import ENGLISH_NAMES

MAX_DEPTH = 100
MAX_NAME = 200
"""Characters of a value that are compared with `_NAME`. A longer value is a name if its first characters are."""
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?|[{}\[\]]')
_CHROME = {"message", "description", "placeholders"}
"""Keys of an entry of Chrome."""
_TEXT_TAG = "tag:yaml.org,2002:str"
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)+")
_NAME = re.compile(
    r"\w*_[\w./:@-]*|[a-z]+\d*[A-Z]\w*"  # snake_case, camelCase
    r"|[/~#@][!-~]*|\.{1,2}/[!-~]*|[!-~]*\w/[!-~]*[./]\w*"  # /path, #id, ./a, a/b.png
    r"|[A-Za-z][\w+.-]*:/[!-~]*|[!-~]+@[!-~]+"  # https://host, a@host
    r"|[a-z]\w*(?:\.\w+)+|[!-~]*\d[!-~]*"  # a.key, host.org; a version, a size, a date
    r"|:\w+|(?:%-?[A-Za-z]|[-/.:, ])+",  # a symbol of Ruby; formats of dates
    re.ASCII,
)
"""An identifier, an address or a value, and not text."""


class _String(NamedTuple):
    """A string value, or a key at the top of the file."""

    value: str
    begin: int
    end: int
    write: Callable[[str], str]
    is_note: bool = False
    """Whether it is for translators or programs."""

    def splices(self, new: str) -> list[Splice]:
        """Replace it by a new value."""
        return [Splice(self.begin, self.end, self.write(new))]


def json_units(text: str, options: Options, kept: list[Kept]) -> list[Unit]:
    """The strings of a catalog. Of files of Chrome only the messages, of go-i18n no `id`; in ARB files nothing
    under `@keys`. A top-level key that is the source language is renamed to the target language. `kept` gets all other
    strings.

    Raises `FormatError` for invalid JSON.
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"not valid JSON at column {error.colno}", error.lineno) from None
    except (RecursionError, ValueError):
        raise FormatError("not valid JSON: too many levels, or a number of too many digits") from None
    is_chrome = isinstance(content, dict) and all(
        isinstance(entry, dict) and {"message"} <= entry.keys() <= _CHROME for entry in content.values()
    )
    is_go = isinstance(content, list) and all(
        isinstance(entry, dict) and {"id", "translation"} <= entry.keys() for entry in content
    )
    write = json.dumps if "\\u" in text and text.isascii() else json_string
    strings, keys, path, locale = list[_String](), list[_String](), list[str](), list[Splice]()
    for match in _TOKEN.finditer(text):
        if match[1] is None:
            if match[0] in "]}":
                path.pop()
            else:
                path.append("")
            if len(path) > MAX_DEPTH:
                raise FormatError(f"more than {MAX_DEPTH} levels", line_at(text, match.start()))
            continue
        value, is_key = json.loads(match[1]), bool(match[2])
        if is_key:
            path[-1] = value
        elif options.target and (path == ["@@locale"] or (path == ["locale"] and "translations" in content)):
            # Of Flutter and Angular.
            locale.append(Splice(*match.span(1), write(options.target)))
            continue
        is_note = (is_chrome and path[1:] != ["message"]) or (is_go and path[1:] == ["id"])
        is_note = is_note or any(key.startswith("@") for key in path)
        if not is_key or len(path) == 1:
            (keys if is_key else strings).append(_String(value, *match.span(1), write, is_note))
    return with_splices(_units(text, strings, keys, options, kept), locale)


def yaml_units(text: str, options: Options, kept: list[Kept]) -> list[Unit]:
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
    is_go = bool(documents) and isinstance(documents[0], yaml.SequenceNode)

    def walk(node: yaml.Node | None, depth: int, is_note: bool = False) -> None:
        if node is None or id(node) in seen:
            return
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            names = [key.value for key, _ in node.value]
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and depth == 0:
                    write = partial(_scalar, "", key.style)
                    keys.append(_String(key.value, key.start_mark.index, key.end_mark.index, write))
                walk(value, depth + 1, is_go and key.value == "id" and "translation" in names)
        elif isinstance(node, yaml.SequenceNode):
            for value in node.value:
                walk(value, depth + 1)
        elif node.tag == _TEXT_TAG:
            begin, end = node.start_mark.index, node.end_mark.index
            properties = _PROPERTIES.match(text, begin, end)
            begin = properties.end() if properties else begin
            strings.append(_String(node.value, begin, end, partial(_scalar, text[begin:end], node.style), is_note))

    for document in documents:
        walk(document, 0)
    return _units(text, strings, keys, options, kept)


def _units(
    text: str, strings: Sequence[_String], keys: Sequence[_String], options: Options, kept: list[Kept]
) -> list[Unit]:
    """The units; the first one also renames the only key at the top if it is the source language."""
    units = list[Unit]()
    for string in strings:
        line = line_at(text, string.begin)
        is_name = string.is_note or _NAME.fullmatch(string.value, 0, MAX_NAME)
        if has_words(string.value) and not is_name:
            units.append(text_unit(string.value, string.splices, line))
        elif string.value:
            kept.append(Kept(line, string.value))
    sources = [options.source.lower()] if options.source else ENGLISH_NAMES
    if len(keys) == 1 and options.target and keys[0].value.lower() in sources:
        return with_splices(units, keys[0].splices(options.target))
    return units


def json_string(text: str) -> str:
    """A string in double quotes, in the syntax of both JSON and YAML."""
    return json.dumps(text, ensure_ascii=False)


def _scalar(raw: str, style: str | None, new: str) -> str:
    """A string of YAML in the style that it had, or in double quotes where it would be another one."""
    if style in ("|", ">"):
        end = raw[len(raw.rstrip(" \r\n")) :].lstrip(" ")
        written, in_list = _block(raw, new) + end, "- {}"
    else:
        written, in_list, end = new if style is None else "'" + new.replace("'", "''") + "'", "[{}]", ""
        if style == '"' or "\n" in written:
            return json_string(new)
    try:
        [read] = yaml.compose(in_list.format(written), Loader=yaml.SafeLoader).value
        is_same = read.tag == _TEXT_TAG and read.value.rstrip("\n") == new.rstrip("\n")
    except (yaml.YAMLError, ValueError):
        is_same = False
    return written if is_same else json_string(new) + end


def _block(raw: str, new: str) -> str:
    """A literal or folded block: its unchanged first line, then the translation with the same indentation."""
    head, _, body = raw.partition("\n")
    first = next((line for line in body.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" "))]
    lines = new.rstrip("\n").split("\n")
    if head.startswith(">") and len(lines) > 1:  # line breaks of what is folded depend on indents
        head = f"|{head[1:]}"
    newline = "\r\n" if head.endswith("\r") else "\n"
    return f"{head}\n{newline.join(indent + line if line else line for line in lines)}"
