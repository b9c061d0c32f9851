"""Units of subtitles (SRT, WebVTT): sentences, which may extend over several cues, and turns of several speakers."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len

from limelight.formats.unit import Code, Splice, Unit, has_words, line_at, make_unit, with_codes
from limelight.text.marking import CODES, text_placeholder
from limelight.text.words import TERMINATORS, is_unspaced

WIDTH = 42
"""Maximum columns of a line, as in most subtitle guidelines; a cue with longer lines keeps its width."""
MAX_JOINED = 4
"""Maximum number of cues that are translated together."""
MAX_GAP = 1.0
"""Maximum seconds between two cues of a sentence."""
_TIME = r"((?:\d{1,4}:)?\d{1,4}:\d\d[.,]\d{1,3})"
_CUE = re.compile(
    rf"{_TIME}[ \t]*-->[ \t]*{_TIME}[^\r\n]{{0,500}}(\r\n|\n|\r)"
    r"((?:(?!(?:\d+[ \t]*(?:\r\n|\n|\r))?[^\r\n]*-->)[^\r\n]+(?:\r\n|\n|\r|\Z))*)"
)
"""A cue; its text ends at a blank line, or where the next cue begins without one."""
_CODE = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z]+|\d[\d:.]*)[^<>]*>|\{\\[^{}]*\}")
_ENDED = re.compile(rf"(?:[{TERMINATORS}…]|--|[–—])[\"'”’)\]]*\s*$")
_TURN = re.compile(r"\s*(?:[-–—]\s?\S|>>|([^\W\d_][\w .'-]{0,30}):\s)")
"""How a line of a further speaker begins: with a dash, or with a name in capitals."""
_APART = re.compile(r"[\[\]()（）［］【】♪♫]|\A\s*#")
"""In brackets are sounds, and between notes songs."""
_CLOSING = ("Mn", "Mc", "Me", "Pe", "Pf", "Po")
"""Categories of characters that stay with the character before them."""


class _Cue(NamedTuple):
    """The lines of a cue, or of one of its speakers."""

    begin: int
    lines: Sequence[str]
    newline: str
    start: float
    stop: float
    is_whole: bool
    """Whether these are all lines of the cue."""

    @property
    def raw(self) -> str:
        return self.newline.join(self.lines)

    @property
    def width(self) -> int:
        """Maximum columns of a line."""
        return max(WIDTH, *(_width(_CODE.sub("", line)) for line in self.lines))

    @property
    def joins(self) -> bool:
        """Whether its text may be a part of a sentence that extends over several cues."""
        return self.is_whole and not (_CODE.search(self.raw) or _APART.search(self.raw) or _is_turn(self.lines[0]))


def subtitle_units(text: str) -> list[Unit]:
    """The cues of a file; the cues of one sentence are one unit."""
    groups, is_open = list[list[_Cue]](), False
    for match in _CUE.finditer(text):
        for cue in _cues(match):
            if not has_words(_CODE.sub("", cue.raw)):
                continue
            last = groups[-1] if is_open else []
            if last and cue.joins and len(last) < MAX_JOINED and cue.start - last[-1].stop <= MAX_GAP:
                last.append(cue)
            else:
                groups.append([cue])
            is_open = cue.joins and not _ENDED.search(cue.raw)
    return [_unit(text, group) for group in groups]


def _cues(match: re.Match[str]) -> Iterator[_Cue]:
    """A cue, divided at the lines of further speakers."""
    start, stop, newline, raw = match.groups()
    lines = raw.rstrip("\r\n").split(newline)
    begins = [number for number, line in enumerate(lines) if number == 0 or _is_turn(line)]
    places = list(accumulate((len(line) + len(newline) for line in lines), initial=match.start(4)))
    for first, last in zip(begins, [*begins[1:], len(lines)], strict=True):
        times = _seconds(start), _seconds(stop)
        yield _Cue(places[first], lines[first:last], newline, *times, is_whole=len(begins) == 1)


def _is_turn(line: str) -> bool:
    match = _TURN.match(_CODE.sub("", line))
    return match is not None and (match[1] is None or match[1].isupper())


def _seconds(time: str) -> float:
    hours, minutes, seconds = ["0", *time.replace(",", ".").split(":")][-3:]
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)


def _unit(text: str, group: Sequence[_Cue]) -> Unit:
    joined = ""
    for cue in group:
        for line in cue.lines:
            unspaced = not joined or (is_unspaced(joined[-1]) and is_unspaced(line[:1]))
            joined += line if unspaced else f" {line}"

    def write(new: str) -> Iterator[Splice]:
        shares = _divided(_in_order(new, unit.codes), [len(cue.raw) for cue in group])
        for cue, share in zip(group, shares, strict=True):
            # The lines of one speaker among several keep their number.
            count = max(1, -(-_width(share) // cue.width)) if cue.is_whole else len(cue.lines)
            lines = (with_codes(line, unit.codes) for line in _divided(share, [1] * count))
            yield Splice(cue.begin, cue.begin + len(cue.raw), cue.newline.join(lines))

    unit = make_unit(list(_parts(joined)), write, line_at(text, group[0].begin))
    return unit


def _parts(text: str) -> Iterator[str | Code]:
    position = 0
    for match in _CODE.finditer(text):
        yield text[position : match.start()]
        name = match["name"] or "code"
        if match["name"] is None or name[0].isdigit():
            yield Code(match[0], "alone", "time" if name[0].isdigit() else name)
        else:
            yield Code(match[0], "close" if match["close"] else "open", name)
        position = match.end()
    yield text[position:]


def _in_order(text: str, codes: Sequence[Code]) -> str:
    """The text with its time stamps in the order of time."""
    stamps = {text_placeholder(number) for number, code in enumerate(codes) if code.name == "time"}
    ordered = iter(sorted(character for character in text if character in stamps))
    return "".join(next(ordered) if character in stamps else character for character in text)


def _width(text: str) -> int:
    """The columns of a text without its codes."""
    return cell_len(CODES.sub("", text))


def _divided(text: str, sizes: Sequence[int]) -> list[str]:
    """A text divided in proportion to the sizes; no part is empty if there are enough atoms."""
    if len(sizes) == 1:
        return [text]
    atoms = _atoms(re.sub(" +", " ", text.strip(" ")))
    total, parts, begin, done = _width("".join(atoms)), list[str](), 0, 0
    for number, share in enumerate(accumulate(sizes)):
        end, left = min(begin + 1, len(atoms)), len(sizes) - number - 1
        done += sum(map(_width, atoms[begin:end]))
        while end < len(atoms) - left and (not left or done + _width(atoms[end]) / 2 <= total * share / sum(sizes)):
            done += _width(atoms[end])
            end += 1
        parts.append("".join(atoms[begin:end]).strip(" "))
        begin = end
    return parts


def _atoms(text: str) -> list[str]:
    """The words of a text with the spaces before them; in scripts without spaces characters. Signs and closing
    punctuation stay with the character before them."""
    atoms = list[str]()
    for character in text:
        before = atoms[-1][-1] if atoms else " "
        begins_word = character == " " != before
        may_divide = is_unspaced(character) or is_unspaced(before)
        opened = before.isspace() or unicodedata.category(before) in ("Ps", "Pi")
        closes = unicodedata.category(character) in _CLOSING
        if not atoms or begins_word or (may_divide and not closes and not opened):
            atoms.append(character)
        else:
            atoms[-1] += character
    return atoms
