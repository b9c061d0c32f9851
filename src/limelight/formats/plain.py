"""Units of plain text: paragraphs. Wrapped lines are joined, and the translation is wrapped to the same width."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from limelight.formats.unit import Splice, Unit, has_words, line_at, make_unit

MIN_WRAPPED = 50
"""Minimum length of a line that may be wrapped."""
_LINE = re.compile(r"[^\r\n]+")
_ENDED = re.compile(r"[.!?:;。！？…][\"'”’)\]]*\s*$")
_LIST = re.compile(r"\s*(?:[-*+•‣◦–—]|\d{1,3}[.)]|[A-Za-z][.)]|#{1,6})\s+")


def text_units(text: str) -> list[Unit]:
    """The paragraphs of a text."""
    units = list[Unit]()
    for group in _groups(text):
        begin, end = group[0].start(), group[-1].end()
        if has_words(text[begin:end]):
            units.append(_unit(text, group, line_at(text, begin)))
    return units


def unwrapped(text: str) -> str:
    """The text with wrapped lines joined."""
    parts, place = list[str](), 0
    for group in _groups(text):
        joined = " ".join(match[0].strip() for match in group)
        head, tail = group[0][0], group[-1][0]
        parts += [text[place : group[0].start()], head[: len(head) - len(head.lstrip())] if joined else "", joined]
        parts.append(tail[len(tail.rstrip()) :])
        place = group[-1].end()
    return "".join([*parts, text[place:]])


def _unit(text: str, group: Sequence[re.Match[str]], line: int) -> Unit:
    begin, end = group[0].start(), group[-1].end()
    if len(group) == 1:
        return make_unit([text[begin:end]], lambda new: [Splice(begin, end, new)], line)
    first = group[0][0]
    head = first[: len(first) - len(first.lstrip())]
    rest = group[1][0]
    indent = rest[: len(rest) - len(rest.lstrip())]
    between = text[group[0].end() : group[1].start()]
    width = max(len(match[0]) for match in group)

    def write(new: str) -> Iterator[Splice]:
        lines = textwrap.wrap(
            new.strip(), max(width, 20), initial_indent=head, subsequent_indent=indent, break_long_words=False,
            break_on_hyphens=False,
        )  # fmt: skip
        yield Splice(begin, end, between.join(lines))

    return make_unit([head, " ".join(match[0].strip() for match in group)], write, line)


def _groups(text: str) -> Iterator[list[re.Match[str]]]:
    """Groups of lines that form a paragraph."""
    group: list[re.Match[str]] = []
    for match in _LINE.finditer(text):
        if group and not _goes_on(text, group[-1], match):
            yield group
            group = []
        group.append(match)
    if group:
        yield group


def _goes_on(text: str, line: re.Match[str], following: re.Match[str]) -> bool:
    """Whether a line is wrapped and continues in the next one."""
    between = text[line.end() : following.start()]
    return (
        between in ("\n", "\r\n", "\r")
        and len(line[0]) >= MIN_WRAPPED
        and has_words(following[0])
        and not _LIST.match(following[0])
        and not _ENDED.search(line[0])
    )
