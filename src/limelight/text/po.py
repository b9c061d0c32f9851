"""Entries of a gettext catalog (PO), with the places of their strings: the parser of readers and of documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from limelight.errors import shown
from limelight.text.pair import BadLine

MAX_ENTRY = 1_000_000
"""Maximum number of characters of an entry."""

ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
"""Characters by the letter that stands for them after a backslash."""

_KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)\s*(".*")')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))")
_BEGIN = re.compile(r"#|msgctxt\b|msgid\b")


@dataclass(slots=True)
class Entry:
    """A message with its translations."""

    begin: int = 0
    """Where its first line begins, in characters of the catalog."""
    line: int = 0
    """The line of its msgid; of its first keyword if there is none."""
    parts: dict[str, list[str]] = field(default_factory=dict)
    """The strings by keyword: `msgid`, `msgid_plural`, `msgstr`, `msgstr[1]`."""
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Begin and end of the lines of each keyword, without the last line end."""
    flags: list[tuple[int, int, str]] = field(default_factory=list)
    """Begin, end and text of each line of flags (`#,`)."""
    previous: list[tuple[int, int]] = field(default_factory=list)
    """Lines of `#|`, with their line ends."""
    first: int = -1
    """Where the first line begins that is not a comment."""
    is_obsolete: bool = False
    fault: BadLine | None = None
    """The first line that is not part of a valid entry."""
    last: str = ""
    """The keyword to which a continuation string belongs."""
    size: int = 0

    def text(self, keyword: str) -> str:
        """The text of a keyword; empty if the entry does not have it."""
        return "".join(self.parts.get(keyword, ()))

    @property
    def is_fuzzy(self) -> bool:
        """Whether its translation has to be reviewed."""
        return any("fuzzy" in re.split(r"[\s,]+", flags) for _, _, flags in self.flags)

    @property
    def forms(self) -> list[str]:
        """The keywords of its translations, in the order of the catalog."""
        return [name for name in self.parts if name.startswith("msgstr")]


def entries(lines: Iterable[str | BadLine], file: str = "") -> Iterator[Entry]:
    """The entries of the lines of a catalog, in order; an invalid line is the fault of its entry.

    After a fault, the next keyword begins an entry, so that little text is lost. `places` are exact if lines have their
    line ends.
    """
    entry, place = Entry(), 0
    for number, whole in enumerate(lines, start=1):
        if isinstance(whole, BadLine):
            entry.fault = entry.fault or whole
            continue
        content, begin = whole.strip(), place
        place += len(whole)
        obsolete = content.startswith("#~") and not content.startswith("#~|")
        content = content.removeprefix("#~").lstrip() if obsolete else content
        if _begins_entry(entry, content):
            yield _ended(entry, file)
            entry = Entry(begin if content else place)
        entry.is_obsolete |= obsolete
        if content.startswith("#"):
            _add_comment(entry, content, begin, place, whole)
        elif content:
            fault = _add(entry, content, (begin, begin + len(whole.rstrip("\r\n"))), number)
            if fault and entry.fault is None:
                entry.fault = BadLine(file, number, fault)
    yield _ended(entry, file)


def _begins_entry(entry: Entry, content: str) -> bool:
    """Whether a line begins the next entry."""
    if not content:
        return bool(entry.forms)
    if entry.forms or entry.fault or "msgid" in entry.parts:
        return _BEGIN.match(content) is not None
    return content.startswith("msgctxt") and bool(entry.parts)


def _ended(entry: Entry, file: str) -> Entry:
    if entry.parts and not entry.forms and entry.fault is None:
        entry.fault = BadLine(file, entry.line, "an entry without msgstr; is the file cut off?")
    return entry


def _add_comment(entry: Entry, content: str, begin: int, end: int, whole: str) -> None:
    if content.startswith("#,"):
        entry.flags.append((begin, begin + len(whole.rstrip("\r\n")), content[2:]))
    elif content.startswith("#|"):
        entry.previous.append((begin, end))


def _add(entry: Entry, content: str, place: tuple[int, int], number: int) -> str:
    """Add a line with a string to an entry; returns what is wrong with the line, if anything is."""
    match = _KEYWORD.fullmatch(content)
    keyword = match[1] if match else entry.last
    string = _STRING.fullmatch(match[2] if match else content)
    entry.size += len(content)
    if entry.size > MAX_ENTRY:
        entry.parts = {name: [] for name in entry.parts}
        return f"an entry of more than {MAX_ENTRY:,} characters"
    if string is None or not keyword:
        return f"not a line of a PO file: {shown(content, 60)}"
    if match and keyword in entry.parts:
        return f"a second {keyword} in one entry"
    entry.parts.setdefault(keyword, []).append(_ESCAPE.sub(_unescaped, string[1]))
    entry.places[keyword] = (entry.places.get(keyword, place)[0], place[1])
    entry.last = keyword
    if entry.first < 0:
        entry.first = place[0]
    if match and (keyword == "msgid" or not entry.line):
        entry.line = number
    return ""


def _unescaped(match: re.Match[str]) -> str:
    code, octal, letter = match.groups()
    return chr(int(code, 16) if code else int(octal, 8)) if letter is None else ESCAPED.get(letter, letter)
