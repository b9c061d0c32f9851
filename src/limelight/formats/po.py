"""Entries of a gettext catalog (PO), with the places of their strings: the parser of readers and of documents. Readers
take translated entries that are neither fuzzy nor obsolete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from limelight.errors import shown
from limelight.formats.lines import scan_lines
from limelight.formats.opening import open_segments
from limelight.formats.plurals import PluralForms, forms_of_header, forms_of_language
from limelight.formats.segments import Segment, Variant
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


FUZZY = "fuzzy"
_UTF8 = ("utf-8", "utf8", "us-ascii", "ascii", "charset")  # the last one stands in templates


def scan_po(path: str | Path) -> Iterator[Segment | BadLine]:
    """The entries of a catalog. The source language is the header's X-Source-Language, if it has one.

    An entry with a plural is one or two segments: the singular with the form for one (`formats/plurals.py`), and the
    plural with the last form, the general one in nearly all languages.
    """
    file, source, target, plurals = str(path), "", "", None
    for entry in _entries(path):
        if isinstance(entry, BadLine):
            yield entry
        elif entry.fault is not None:
            yield entry.fault
        elif "msgid" not in entry.parts:
            continue
        elif not entry.text("msgid") and "msgctxt" not in entry.parts:
            header = _header(entry.text("msgstr"))
            coding = re.search(r"charset=([^\s;]+)", header.get("content-type", ""), re.IGNORECASE)
            if coding and coding[1].lower() not in _UTF8:
                reason = (
                    f"the catalog is in {shown(coding[1], 30)}, and only UTF-8 is read; convert it: msgconv "
                    "--to-code=UTF-8"
                )
                yield BadLine(file, entry.line, reason, fatal=True)
                return
            source, target = header.get("x-source-language", ""), header.get("language", "")
            plurals = forms_of_header(entry.text("msgstr")) or forms_of_language(target)
        else:
            for left, right in _sides(entry, plurals):
                variants = [Variant(source, [entry.text(left)]), Variant(target, [entry.text(right)])]
                unused = _unused(entry, right)
                yield Segment(entry.line, variants, unused=unused, is_draft=unused == FUZZY)


def _unused(entry: Entry, keyword: str) -> str:
    """Why a translation is not used."""
    if entry.is_obsolete:
        return "obsolete"
    if not entry.text(keyword).strip():
        return "not translated"
    return FUZZY if entry.is_fuzzy else ""


def _sides(entry: Entry, plurals: PluralForms | None) -> list[tuple[str, str]]:
    """The keywords of source and target."""
    if "msgid_plural" not in entry.parts:
        return [("msgid", "msgstr")]
    forms = sorted(name for name in entry.forms if name != "msgstr")
    last = [("msgid_plural", forms[-1])] if forms else []
    one = f"msgstr[{plurals.one if plurals and plurals.total == len(forms) else 0 if len(forms) == 2 else -1}]"
    return [("msgid", one), *last] if one in forms and one != forms[-1] else last


def _header(text: str) -> dict[str, str]:
    fields = (line.partition(":") for line in text.split("\n"))
    return {name.strip().lower(): value.strip() for name, _, value in fields}


def _entries(path: str | Path) -> Iterator[Entry | BadLine]:
    """The entries in order; at last the fault of a file that cannot be read to its end."""
    fatal = list[BadLine]()

    def lines() -> Iterator[str | BadLine]:
        for line in scan_lines(stream, str(path)):
            if isinstance(line, BadLine) and line.fatal:
                fatal.append(line)
            else:
                yield line

    with open_segments(path, xml=False) as stream:
        for entry in entries(lines(), str(path)):
            yield fatal[0] if fatal else entry
