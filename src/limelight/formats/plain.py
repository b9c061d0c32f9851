"""Units of plain text: paragraphs. Wrapped lines are joined, and the translation is wrapped to the same width."""

import re
import textwrap
from collections.abc import Iterator, Sequence

from limelight.formats.unit import Splice, Unit, has_words, line_at, splice, text_unit
from limelight.text.words import TERMINATORS

MIN_WRAPPED = 50
"""Minimum length of a line that may be wrapped."""
_LINE = re.compile(r"[^\r\n]+")
_ENDED = re.compile(rf"[{TERMINATORS}:;\u061b…][\"'”’)\]]*\s*$")
_LIST = re.compile(r"\s*(?:(?:[-*+•‣◦–—]|\d{1,3}[.)]|[A-Za-z][.)]|#{1,6})\s+|--?\w)")


def text_units(text: str) -> list[Unit]:
    """The paragraphs of a text."""
    return [_unit(text, lines) for lines in _paragraphs(text) if has_words("".join(line[0] for line in lines))]


def unwrapped(text: str) -> str:
    """The text with wrapped lines joined."""
    return splice(text, [Splice(lines[0].start(), lines[-1].end(), _joined(lines)) for lines in _paragraphs(text)])


def _joined(lines: Sequence[re.Match[str]]) -> str:
    """The lines as one, with the white space around them."""
    first, last = lines[0][0], lines[-1][0]
    text = " ".join(line[0].strip() for line in lines)
    return f"{_indent(first)}{text}{last[len(last.rstrip()) :]}" if text else first


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str, lines: Sequence[re.Match[str]]) -> Unit:
    begin, end = lines[0].start(), lines[-1].end()
    width = max(20, *(len(line[0]) for line in lines))

    def write(new: str) -> Iterator[Splice]:
        if len(lines) > 1:
            wrapped = textwrap.wrap(new.strip(), width, initial_indent=_indent(lines[0][0]),
                                    subsequent_indent=_indent(lines[1][0]),
                                    break_long_words=False, break_on_hyphens=False)  # fmt: skip
            new = text[lines[0].end() : lines[1].start()].join(wrapped)
        yield Splice(begin, end, new)

    return text_unit(_joined(lines), write, line_at(text, begin))


def _paragraphs(text: str) -> Iterator[list[re.Match[str]]]:
    """Groups of lines; a line that is wrapped continues in the next one."""
    group: list[re.Match[str]] = []
    for line in _LINE.finditer(text):
        if group:
            last, between = group[-1][0], text[group[-1].end() : line.start()]
            is_wrapped = len(last) >= MIN_WRAPPED and not _ENDED.search(last) and between in ("\n", "\r\n", "\r")
            if not (is_wrapped and has_words(line[0]) and not _LIST.match(line[0])):
                yield group
                group = []
        group.append(line)
    if group:
        yield group
