"""Units of plain text and of subtitles (SRT, WebVTT).

In plain text they are paragraphs: wrapped lines are joined, and the translation is wrapped to the same width. In
subtitles they are sentences, which may extend over several cues.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from limelight.formats.unit import Code, Lines, Splice, Unit, has_words, make_unit, with_codes

SUBTITLE_LINES = 2
"""Lines of a subtitle, as in most guidelines."""
MIN_WRAPPED = 50
"""Minimum length of a line that may be wrapped."""
_LINE = re.compile(r"[^\r\n]+")
_ENDED = re.compile(r"[.!?:;。！？…][\"'”’)\]]*\s*$")
_LIST = re.compile(r"\s*(?:[-*+•‣◦–—]|\d{1,3}[.)]|[A-Za-z][.)]|#{1,6})\s+")


def text_units(text: str) -> list[Unit]:
    """The paragraphs of a text."""
    lines, units = Lines(text), list[Unit]()
    for group in _groups(text):
        begin, end = group[0].start(), group[-1].end()
        if has_words(text[begin:end]):
            units.append(_unit(text, group, lines.at(begin)))
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


WIDTH = 42
"""Maximum characters of a line, as in most subtitle guidelines; a cue with longer lines keeps its width."""
MAX_JOINED = 4
"""Maximum number of cues that are translated together."""
_CUE = re.compile(
    r"(?:\d+:)?\d+:\d\d[.,]\d{1,3}[ \t]*-->[^\r\n]*(?:\r\n|\n|\r)"
    r"((?:(?!(?:\d+[ \t]*(?:\r\n|\n|\r))?[^\r\n]*-->)[^\r\n]+(?:\r\n|\n|\r|\Z))*)"
)
"""A cue; its text ends at a blank line, or where the next cue begins without one."""
_CODE = re.compile(r"<(/?)([A-Za-z]+|\d[\d:.]*)[^<>]*>|\{\\[^{}]*\}")
_CUE_ENDED = re.compile(r"[.!?…。！？♪][\"'”’)\]]*\s*$")
_DIALOG = re.compile(r"\s*[-–—]\s?\S")


class _Cue:
    """The text of a cue without its last line end."""

    def __init__(self, text: str, match: re.Match[str]) -> None:
        self.raw = match[1].rstrip("\r\n")
        self.begin, self.end = match.start(1), match.start(1) + len(self.raw)
        self.lines = re.split(r"\r\n|\n|\r", self.raw)
        self.newline = (re.search(r"\r\n|\n|\r", match[0]) or ["\n"])[0]

    @property
    def joins(self) -> bool:
        """Whether its text may be a part of a sentence that extends over several cues."""
        return not _CODE.search(self.raw) and not any(map(_DIALOG.match, self.lines))


def subtitle_units(text: str) -> list[Unit]:
    """The cues of a file; the cues of one sentence are one unit."""
    lines, units, group = Lines(text), list[Unit](), list[_Cue]()
    for match in _CUE.finditer(text):
        cue = _Cue(text, match)
        if not has_words(_CODE.sub("", cue.raw)):
            continue
        if group and not (cue.joins and len(group) < MAX_JOINED):
            units += _units(group, lines)
            group = []
        group.append(cue)
        if not cue.joins or _CUE_ENDED.search(cue.raw):
            units += _units(group, lines)
            group = []
    return units + _units(group, lines)


def _units(group: Sequence[_Cue], lines: Lines) -> list[Unit]:
    if not group:
        return []
    line = lines.at(group[0].begin)
    if len(group) > 1:
        joined = " ".join(" ".join(cue.lines) for cue in group)
        return [
            make_unit([joined], lambda new: _shared(new, group), line, lambda new: _checked(_shared(new, group), group))
        ]
    (cue,) = group
    if len(cue.lines) > 1 and all(map(_DIALOG.match, cue.lines)):
        return list(_dialog(cue, line))

    def write(new: str) -> list[Splice]:
        return [Splice(cue.begin, cue.end, _broken(with_codes(new, unit.codes), cue))]

    unit = make_unit(list(_parts(" ".join(cue.lines))), write, line, lambda new: _checked(write(new), group))
    return [unit]


def _checked(written: Iterable[Splice], group: Sequence[_Cue]) -> Iterator[str]:
    """What is too large of the new text of each cue."""
    for splice, cue in zip(written, group, strict=True):
        lines, source = ([_CODE.sub("", line) for line in each] for each in (splice.text.split(cue.newline), cue.lines))
        yield from line_limits(lines, source)


def _dialog(cue: _Cue, line: int) -> Iterator[Unit]:
    """A unit for each line of a dialog."""
    place = cue.begin
    for number, text in enumerate(cue.lines):
        begin, end = place, place + len(text)
        place = end + len(cue.newline)
        if has_words(text):
            yield _line_unit(text, begin, end, line + number)


def _line_unit(text: str, begin: int, end: int, line: int) -> Unit:
    def write(new: str) -> list[Splice]:
        return [Splice(begin, end, with_codes(new, unit.codes))]

    def checked(new: str) -> Iterator[str]:
        yield from line_limits([_CODE.sub("", with_codes(new, unit.codes))], [_CODE.sub("", text)])

    unit = make_unit(list(_parts(text)), write, line, checked)
    return unit


def _parts(text: str) -> Iterator[str | Code]:
    place = 0
    for match in _CODE.finditer(text):
        yield text[place : match.start()]
        name = match[2] or "code"
        alone = match[2] is None or name[0].isdigit()
        yield Code(match[0], "alone" if alone else "close" if match[1] else "open", name)
        place = match.end()
    yield text[place:]


def _shared(text: str, group: Sequence[_Cue]) -> Iterator[Splice]:
    """The words of a translation, divided among the cues in proportion to their source text."""
    words = text.split()
    sizes = [len(cue.raw) for cue in group]
    total, place = len(" ".join(words)), 0
    done = 0
    for number, cue in enumerate(group):
        share = total * sum(sizes[: number + 1]) / sum(sizes)
        left = len(group) - number - 1
        end = min(place + 1, len(words))
        done += sum(len(word) + 1 for word in words[place:end])
        while end < len(words) - left and (number == len(group) - 1 or done + len(words[end]) / 2 <= share):
            done += len(words[end]) + 1
            end += 1
        yield Splice(cue.begin, cue.end, _broken(" ".join(words[place:end]), cue))
        place = end


def _broken(text: str, cue: _Cue) -> str:
    """The text broken into lines of similar length."""
    width = max(WIDTH, max(map(len, cue.lines)))
    shown = len(_CODE.sub("", text))
    count = max(1, -(-shown // width))
    words, lines = text.split(" "), [""]
    for word in words:
        now = len(_CODE.sub("", lines[-1]))
        size = len(_CODE.sub("", word))
        if lines[-1] and len(lines) < count and now + 1 + size / 2 > shown / count:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return cue.newline.join(lines)


def line_limits(texts: Sequence[str], source: Sequence[str]) -> Iterator[str]:
    """Whether the lines of a subtitle, without tags, are wider than `WIDTH`, or more than two; a subtitle whose source
    is wider or higher may be so, too."""
    longest, most = max(map(len, texts), default=0), max(SUBTITLE_LINES, len(source))
    if longest > max([WIDTH, *map(len, source)]):
        yield f"a line of {longest} characters, at most {WIDTH} are read in time"
    if len(texts) > most:
        yield f"{len(texts)} lines, at most {most} are shown"
