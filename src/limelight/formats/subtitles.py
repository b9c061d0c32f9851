"""Units of subtitles (SRT, WebVTT): sentences, which may extend over several cues, and turns of several speakers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from limelight.formats.unit import Code, Splice, Unit, has_words, line_at, make_unit, with_codes
from limelight.text.marking import CODES, FIRST_CODE
from limelight.text.words import is_unspaced

WIDTH = 42
"""Maximum characters of a line, as in most subtitle guidelines; a cue with longer lines keeps its width."""
MAX_LINES = 2
"""Maximum lines of a cue, as in most guidelines."""
MAX_JOINED = 4
"""Maximum number of cues that are translated together."""
MAX_GAP = 1.0
"""Maximum seconds between two cues of a sentence."""
_TIME = r"((?:\d+:)?\d+:\d\d[.,]\d{1,3})"
_CUE = re.compile(
    rf"{_TIME}[ \t]*-->[ \t]*{_TIME}[^\r\n]*(?:\r\n|\n|\r)"
    r"((?:(?!(?:\d+[ \t]*(?:\r\n|\n|\r))?[^\r\n]*-->)[^\r\n]+(?:\r\n|\n|\r|\Z))*)"
)
"""A cue; its text ends at a blank line, or where the next cue begins without one."""
_CODE = re.compile(r"<(/?)([A-Za-z]+|\d[\d:.]*)[^<>]*>|\{\\[^{}]*\}")
_ENDED = re.compile(r"(?:[.!?…。！？]|--|[–—])[\"'”’)\]]*\s*$")
_TURN = re.compile(r"\s*(?:[-–—]\s?\S|>>|([^\W\d_][\w .'-]{0,30}):\s)")
"""How a line of a further speaker begins: with a dash, or with a name in capitals."""
_APART = re.compile(r"[\[\]()（）［］【】♪♫]|\A\s*#")
"""In brackets are sounds, and between notes songs."""


class _Cue(NamedTuple):
    """The lines of a cue, or of one of its speakers."""

    begin: int
    lines: Sequence[str]
    newline: str
    start: float
    stop: float
    is_whole: bool

    @property
    def raw(self) -> str:
        return self.newline.join(self.lines)

    @property
    def end(self) -> int:
        return self.begin + len(self.raw)

    @property
    def joins(self) -> bool:
        """Whether its text may be a part of a sentence that extends over several cues."""
        return self.is_whole and not (_CODE.search(self.raw) or _APART.search(self.raw) or _is_turn(self.lines[0]))


def subtitle_units(text: str) -> list[Unit]:
    """The cues of a file; the cues of one sentence are one unit."""
    units, group = list[Unit](), list[_Cue]()
    for cue in (cue for match in _CUE.finditer(text) for cue in _cues(match)):
        if not has_words(_CODE.sub("", cue.raw)):
            continue
        if group and not (cue.joins and len(group) < MAX_JOINED and cue.start - group[-1].stop <= MAX_GAP):
            units.append(_unit(text, group))
            group = []
        group.append(cue)
        if not cue.joins or _ENDED.search(cue.raw):
            units.append(_unit(text, group))
            group = []
    return [*units, *([_unit(text, group)] if group else [])]


def _cues(match: re.Match[str]) -> Iterator[_Cue]:
    """A cue, divided at the lines of further speakers."""
    raw = match[3].rstrip("\r\n")
    newline = (re.search(r"\r\n|\n|\r", match[0]) or ["\n"])[0]
    lines = raw.split(newline)
    begins = [number for number, line in enumerate(lines) if number == 0 or _is_turn(line)]
    places = list(accumulate((len(line) + len(newline) for line in lines), initial=match.start(3)))
    for first, last in zip(begins, [*begins[1:], len(lines)], strict=True):
        times = _seconds(match[1]), _seconds(match[2])
        yield _Cue(places[first], lines[first:last], newline, *times, is_whole=len(begins) == 1)


def _is_turn(line: str) -> bool:
    match = _TURN.match(_CODE.sub("", line))
    return match is not None and (match[1] is None or match[1].isupper())


def _seconds(time: str) -> float:
    hours, minutes, seconds = ["0", *time.replace(",", ".").split(":")][-3:]
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def _unit(text: str, group: Sequence[_Cue]) -> Unit:
    joined = ""
    for line in (line for cue in group for line in cue.lines):
        unspaced = joined and is_unspaced(joined[-1]) and is_unspaced(line[:1])
        joined += " " * bool(joined and not unspaced) + line

    def texts(new: str) -> list[list[str]]:
        """The lines of each cue."""
        shares = [new] if len(group) == 1 else _divided(new, [len(cue.raw) for cue in group])
        return [_broken(share, cue) for share, cue in zip(shares, group, strict=True)]

    def write(new: str) -> Iterator[Splice]:
        for cue, broken in zip(group, texts(_in_order(new, unit.codes)), strict=True):
            yield Splice(cue.begin, cue.end, cue.newline.join(with_codes(line, unit.codes) for line in broken))

    def limits(new: str) -> Iterator[str]:
        for cue, broken in zip(group, texts(new), strict=True):
            longest = max(len(CODES.sub("", line)) for line in broken)
            if longest > max([WIDTH, *(len(_CODE.sub("", line)) for line in cue.lines)]):
                yield f"a line of {longest} characters, at most {WIDTH} are read in time"
            if len(broken) > max(MAX_LINES, len(cue.lines)):
                yield f"{len(broken)} lines, at most {MAX_LINES} are shown"

    unit = make_unit(list(_parts(joined)), write, line_at(text, group[0].begin), limits)
    return unit


def _parts(text: str) -> Iterator[str | Code]:
    place = 0
    for match in _CODE.finditer(text):
        yield text[place : match.start()]
        name = match[2] or "code"
        alone = match[2] is None or name[0].isdigit()
        yield Code(
            match[0], "alone" if alone else "close" if match[1] else "open", "time" if name[0].isdigit() else name
        )
        place = match.end()
    yield text[place:]


def _in_order(text: str, codes: Sequence[Code]) -> str:
    """The text with its time stamps in the order of time."""
    stamps = {chr(FIRST_CODE + number) for number, code in enumerate(codes) if code.name == "time"}
    ordered = iter(sorted(character for character in text if character in stamps))
    return "".join(next(ordered) if character in stamps else character for character in text)


def _atoms(text: str) -> list[str]:
    """The words of a text with the spaces before them; in scripts without spaces characters. Signs and closing
    punctuation stay with the character before them."""
    atoms = list[str]()
    for character in text:
        before = atoms[-1][-1] if atoms else ""
        may_divide = is_unspaced(character) or (before and is_unspaced(before))
        follows = unicodedata.category(character) in ("Mn", "Mc", "Me", "Pe", "Pf", "Po")
        opened = before and (before.isspace() or unicodedata.category(before) in ("Ps", "Pi"))
        if not before or (character.isspace() and not before.isspace()) or (may_divide and not follows and not opened):
            atoms.append(character)
        else:
            atoms[-1] += character
    return atoms


def _width(text: str) -> int:
    """The columns of a text without its codes."""
    text = CODES.sub("", text)
    return len(text) + sum(unicodedata.east_asian_width(character) in "WF" for character in text)


def _divided(text: str, sizes: Sequence[int]) -> list[str]:
    """A text divided in proportion to the sizes; no part is empty if there are enough atoms."""
    atoms = _atoms(" ".join(text.split()))
    total, parts, place, done = _width("".join(atoms)), list[str](), 0, 0
    for number, share in enumerate(accumulate(sizes)):
        end, left = min(place + 1, len(atoms)), len(sizes) - number - 1
        done += sum(map(_width, atoms[place:end]))
        while end < len(atoms) - left and (not left or done + _width(atoms[end]) / 2 <= total * share / sum(sizes)):
            done += _width(atoms[end])
            end += 1
        parts.append("".join(atoms[place:end]).strip(" "))
        place = end
    return parts


def _broken(text: str, cue: _Cue) -> list[str]:
    """The text broken into lines of similar length; those of one speaker among several keep their number."""
    width = max(WIDTH, *(_width(_CODE.sub("", line)) for line in cue.lines))
    count = max(1, -(-_width(text) // width)) if cue.is_whole else len(cue.lines)
    return _divided(text, [1] * count) if count > 1 else [text]
