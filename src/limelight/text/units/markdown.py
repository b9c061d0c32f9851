"""Units of Markdown: headings, paragraphs, list items, table cells. Blocks are found by markdown-it; inline markup
becomes codes and is unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from limelight.text.units.html import html_units
from limelight.text.units.unit import CODES, Code, Splice, Unit, has_words, make_unit, with_codes

_FRONT = re.compile(r"\A---[ \t]*\r?\n.*?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_INLINE = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<break>(?: {2,}|\\)\n)"
    r"|(?P<auto><[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>|<[\w.+-]+@[\w.-]+>)"
    r"|(?P<tag></?[A-Za-z][\w-]*(?:\s+[\w:@.-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?)*\s*/?>|<!--.*?-->)"
    r"|(?P<note>\[\^[^\]\s]+\])"
    r"|(?P<math>\$\$.+?\$\$|(?<![\w$])\$(?=\S)[^$\n]+?(?<=\S)\$(?![\w$]))"
    r"|(?P<image>!\[)"
    r"|(?P<open>\[)"
    r"|(?P<close>\](?:\((?:[^()\s]|\([^()]*\))*(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)|\[[^\]]*\]|\{[^{}]*\})?)"
    r"|(?P<run>\*\*\*|\*\*|\*|___|__|_|~~)"
    r"|(?P<entity>&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|\w{2,31});)",
    re.DOTALL,
)
_REFERENCE = re.compile(r"\s*\[(?:x|X| )\]\s+|\s*\[!\w+\]")


def markdown_units(text: str, language: str = "") -> list[Unit]:
    """The blocks of a file. Code, addresses and the metadata between `---` are not translated."""
    from markdown_it import MarkdownIt

    front = _FRONT.match(text)
    hidden = _FRONT.sub(lambda match: "\n" * match[0].count("\n"), text) if front else text
    offset = len(text) - len(hidden)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    starts = _line_starts(hidden)
    units, taken = list[Unit](), 0
    for token in parser.parse(hidden):
        if token.map is None:
            continue
        begin, end = (starts[min(line, len(starts) - 1)] for line in token.map)
        if token.type == "html_block":
            units += _shifted(html_units(hidden[begin:end]), begin + offset, token.map[0])
        elif token.type == "inline" and has_words(token.content):
            places = _find(hidden, token, max(begin, taken), end)
            if places:
                taken = places[-1][1]
                unit = _unit(hidden, places, offset, token.map[0] + 1)
                units += [unit] if has_words(CODES.sub("", unit.text)) else []
    return units


def _line_starts(text: str) -> list[int]:
    """Line starts as markdown-it counts lines, and the end of the text."""
    return [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text)), len(text)]


def _find(text: str, token: Any, begin: int, end: int) -> list[tuple[int, int]]:
    """Places of the lines of a block's content in the text; empty if they are not found."""
    places, place = list[tuple[int, int]](), begin
    for line in token.content.split("\n"):
        line = line.strip()
        if not line:
            continue
        found = text.find(line, place, end)
        if found < 0:
            found = text.find(line.replace("|", "\\|"), place, end)  # in tables
            line = line.replace("|", "\\|")
        if found < 0:
            return []
        place = found + len(line)
        places.append((found, place))
    return places


def _unit(text: str, places: list[tuple[int, int]], offset: int, line: int) -> Unit:
    begin, end = places[0][0], places[-1][1]
    between = [text[last:place] for (_, last), (place, _) in pairwise(places)]
    parts = _parts(_joined([text[first:last] for first, last in places], between))
    first = parts[0] if parts else ""
    head = _REFERENCE.match(first) if isinstance(first, str) else None
    if head and isinstance(first, str):
        parts[:1] = [Code(head[0]), first[head.end() :]]

    def write(new: str) -> Iterator[Splice]:
        yield Splice(begin + offset, end + offset, with_codes(new, unit.codes, _escape_text))

    unit = make_unit(parts, write, line)
    return unit


def _joined(lines: list[str], between: list[str]) -> list[str | Code]:
    """Lines of a block: a soft break is a space, a hard one a code."""
    parts: list[str | Code] = []
    for number, line in enumerate(lines):
        gap = between[number] if number < len(between) else ""
        hard = gap.startswith("  ") or (gap and line.endswith("\\"))
        parts.append(line)
        if number < len(between):
            parts.append(Code(gap) if hard else " ")
    return parts


def _parts(given: list[str | Code]) -> list[str | Code]:
    """The parts with inline markup as codes."""
    parts: list[str | Code] = []
    text = ""
    for part in [*given, Code("")]:
        if isinstance(part, str):
            text += part
            continue
        parts += _inline(text)
        parts.append(part)
        text = ""
    return parts[:-1]


def _inline(text: str) -> Iterator[str | Code]:
    """Text and codes. Brackets without a target and unmatched delimiter runs are text."""
    found = list(_INLINE.finditer(text))
    roles = _roles(text, found)
    place = 0
    for number, match in enumerate(found):
        role = roles.get(number)
        if role is None:
            continue
        yield text[place : match.start()]
        yield Code(match[0], *role)  # type: ignore[arg-type]
        place = match.end()
    yield text[place:]


def _roles(text: str, found: list[re.Match[str]]) -> dict[int, tuple[str, str]]:
    """The role and name of each match; matches that are text are missing."""
    roles: dict[int, tuple[str, str]] = {}
    brackets, runs = list[int](), list[int]()
    for number, match in enumerate(found):
        kind = match.lastgroup if match.lastgroup != "ticks" else "code"
        if kind in ("code", "escape", "break", "auto", "note", "math", "entity"):
            roles[number] = ("alone", "code")
        elif kind == "tag":
            closing, name = match[0].startswith("</"), re.sub(r"\W.*", "", match[0].lstrip("</"))
            alone = match[0].endswith("/>") or match[0].startswith("<!") or name.lower() in ("br", "img", "hr")
            roles[number] = ("alone", "code") if alone else ("close" if closing else "open", f"<{name}")
        elif kind in ("image", "open"):
            brackets.append(number)
        elif kind == "close" and brackets:
            opened = brackets.pop()
            if len(match[0]) > 1:  # with a target
                name = f"[{opened}"
                roles[opened], roles[number] = ("open", name), ("close", name)
                runs = [run for run in runs if run < opened]
        elif kind == "run":
            _run(text, found, number, runs, roles)
    return roles


def _run(
    text: str, found: list[re.Match[str]], number: int, runs: list[int], roles: dict[int, tuple[str, str]]
) -> None:
    """Record emphasis that opens or closes here, after section 6.2 of CommonMark, without its "multiple of 3" rule."""
    match = found[number]
    before, after = text[: match.start()][-1:] or " ", text[match.end() :][:1] or " "
    word = match[0][0] == "_"
    closes = not before.isspace() and not (word and after.isalnum())
    opens = not after.isspace() and not (word and before.isalnum())
    same = [run for run in runs if found[run][0] == match[0]]
    if closes and same:
        opened = same[-1]
        name = f"{match[0]}{opened}"
        roles[opened], roles[number] = ("open", name), ("close", name)
        del runs[runs.index(opened) :]
    elif opens:
        runs.append(number)


def _escape_text(text: str) -> str:
    """Escape characters of a translation that would become markup."""
    return text.replace("<", "\\<") if re.search(r"<[A-Za-z/!]", text) else text


def _shifted(units: list[Unit], offset: int, lines: int) -> list[Unit]:
    def moved(unit: Unit) -> Unit:
        return unit._replace(
            line=unit.line + lines,
            write=lambda new: [Splice(begin + offset, end + offset, text) for begin, end, text in unit.write(new)],
        )

    return [moved(unit) for unit in units]
