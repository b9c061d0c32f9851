"""Units of Markdown: headings, paragraphs, list items, table cells. Blocks and inline markup are found by markdown-it;
inline markup becomes codes and is unchanged."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

from limelight.text.units.html import html_units
from limelight.text.units.markdown_inline import find_markup, structure
from limelight.text.units.unit import Code, Splice, Unit, has_words, make_unit, parts_of

_FRONT = re.compile(r"\A---[ \t]*\r?\n.*?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_REFERENCE = re.compile(r"\s*\[(?:x|X| )\]\s+|\s*\[!\w+\]")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_TAG_OR_CELL = re.compile(r"<(?=[A-Za-z/!?])|\|")
_SPECIAL = re.compile(r"[*_`\[\]<~\\|$]|&(?=#?\w+;)")
"""Characters that may be markup."""
_MARKUP = re.compile(r"[*_`\[\]<~\\!&$\n]")
_LIST_MARK = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*")
_LINE_MARK = re.compile(r"\n[ \t>]*")
_BLOCK_MARK = re.compile(r"(\d{1,9}(?=[.)](?:\s|\Z))|)(?=[-+*][ \t]|#{1,6}[ \t]|[>=~|`]|[.)](?:\s|\Z))")
"""What would begin a list or a heading at the begin of a line."""


def markdown_units(text: str, language: str = "") -> list[Unit]:
    """The blocks of a file. Code, addresses and the metadata between `---` are not translated."""
    from markdown_it import MarkdownIt

    front = _FRONT.match(text)
    hidden = _FRONT.sub(lambda match: "\n" * match[0].count("\n"), text) if front else text
    offset = len(text) - len(hidden)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    starts = _line_starts(hidden)
    units, taken = list[Unit](), 0
    environment: dict[str, Any] = {}
    for token in parser.parse(hidden, environment):
        if token.map is None:
            continue
        begin, end = (starts[min(line, len(starts) - 1)] for line in token.map)
        if token.type == "html_block":
            units += _shifted(html_units(hidden[begin:end]), begin + offset, token.map[0])
        elif token.type == "inline" and has_words(token.content):
            places = _find(hidden, token, max(begin, taken), end)
            if places:
                taken = places[-1][1]
                block = _Block(hidden, places, environment)
                if any(has_words(part) for part in block.parts if isinstance(part, str)):
                    units.append(block.unit(offset, token.map[0] + 1))
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


class _Block:
    """The text of a block and its inline markup."""

    def __init__(self, text: str, places: list[tuple[int, int]], environment: Mapping[str, Any]) -> None:
        self.environment = environment
        self.begin, self.end = places[0][0], places[-1][1]
        self._text, self._places = text, places
        lines = [text[first:last] for first, last in places]
        gaps = [text[last:place] for (_, last), (place, _) in pairwise(places)]
        lines = [
            line + gap[: len(gap) - len(gap.lstrip(" "))] + "\n" for line, gap in zip(lines, gaps, strict=False)
        ] + lines[-1:]
        self.source = "".join(lines)
        """The text as markdown-it reads it, without the marks of quotations and lists before its lines."""
        self._starts = [0, *accumulate(map(len, lines))][:-1]
        self._labels = dict[str, str]()
        """References with text, and how the file writes them if their text is their name."""
        head = _REFERENCE.match(self.source)
        self.parts = list(self._parts(head.end() if head else 0))
        start = text[text.rfind("\n", 0, self.begin) + 1 : self.begin]
        self.is_cell = "|" in start or "|" in text[self.end : self.end + 3]
        self.is_line = _LIST_MARK.fullmatch(start) is not None

    def _parts(self, head: int) -> Iterator[str | Code]:
        if head:
            yield Code(self._raw(0, head))
        place, opened = head, list[int]()
        for each in find_markup(self.source, self.environment):
            if each.begin >= place:
                yield self.source[place : each.begin].replace("\n", " ")
                raw = self._raw(each.begin, each.end)
                if each.kind in ("link_open", "image_open"):
                    opened.append(each.end)
                elif each.kind in ("link_close", "image_close") and raw in ("]", "][]"):
                    label = self._raw(opened.pop(), each.begin)  # which is also the name of the address
                    self._labels[f"[{label}][{label}]"] = f"[{label}{raw}"
                    raw = f"][{label}]"
                elif each.kind in ("link_close", "image_close"):
                    opened.pop()
                yield Code(raw, each.role, each.name)
                place = each.end
        yield self.source[place:].replace("\n", " ")

    def _raw(self, begin: int, end: int) -> str:
        """The text of the file for a part of the source."""
        return self._text[self._at(begin) : self._at(end)]

    def _at(self, place: int) -> int:
        line = bisect_right(self._starts, place) - 1
        return self._places[line][0] + place - self._starts[line]

    def unit(self, offset: int, line: int) -> Unit:
        """The unit of the block, which begins at a line of the file."""

        def write(new: str) -> Iterator[Splice]:
            yield Splice(self.begin + offset, self.end + offset, self._written(new, unit.codes))

        def limits(new: str) -> Iterator[str]:
            if not self._keeps_structure(self._written(new, unit.codes)):
                yield "markup changed"

        unit = make_unit(self.parts, write, line, limits)
        return unit

    def _written(self, text: str, codes: Sequence[Code]) -> str:
        """A translation with its markup. Where characters of its text would be further markup, they are escaped."""
        parts = list(parts_of(text, codes))
        plain = self._joined(parts, _TAG_OR_CELL if self.is_cell else _TAG)
        if self._keeps_structure(plain):
            return plain
        escaped = self._joined(parts, _SPECIAL)
        return escaped if self._keeps_structure(escaped) else plain

    def _joined(self, parts: list[str | Code], special: re.Pattern[str]) -> str:
        """The parts with certain characters of the text escaped."""
        whole = "".join(special.sub(r"\\\g<0>", each) if isinstance(each, str) else each.raw for each in parts)
        for full, short in self._labels.items():
            whole = whole.replace(full, short)
        begins_block = self.is_line and not (parts and isinstance(parts[0], Code))
        return _BLOCK_MARK.sub(r"\1\\", whole, count=1) if begins_block and _BLOCK_MARK.match(whole) else whole

    def _keeps_structure(self, text: str) -> bool:
        if not (_MARKUP.search(text) or _MARKUP.search(self.source)):
            return True  # saves two parses of plain text
        return structure(_LINE_MARK.sub("\n", text), self.environment) == self._own_structure

    @cached_property
    def _own_structure(self) -> Counter[str]:
        return structure(self.source, self.environment)


def _shifted(units: list[Unit], offset: int, lines: int) -> list[Unit]:
    def moved(unit: Unit) -> Unit:
        return unit._replace(
            line=unit.line + lines,
            write=lambda new: [Splice(begin + offset, end + offset, text) for begin, end, text in unit.write(new)],
        )

    return [moved(unit) for unit in units]
