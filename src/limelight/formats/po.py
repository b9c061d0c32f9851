"""Gettext catalogs (PO): translated entries as pairs; entries without a translation, and fuzzy ones, as units."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from limelight.errors import shown
from limelight.formats.accelerators import label_parts, with_accelerator
from limelight.formats.lines import read_stream
from limelight.formats.opening import open_segments
from limelight.formats.plain import unwrapped
from limelight.formats.plurals import PluralForms, forms_of_header, forms_of_language
from limelight.formats.segments import Segment, Variant
from limelight.formats.unit import (
    FormatError,
    Options,
    Splice,
    Unit,
    has_words,
    located,
    make_unit,
    with_codes,
    with_splices,
)

MAX_ENTRY = 1_000_000
"""Maximum number of characters of an entry."""
FUZZY = "fuzzy"

_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
"""Characters by the letter that stands for them after a backslash."""
_ESCAPES = str.maketrans({character: f"\\{letter}" for letter, character in {**_ESCAPED, "\\": "\\", '"': '"'}.items()})
_KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)\s*(".*")')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))")
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_LANGUAGE = re.compile(r"^Language:[ \t]*(.*)", re.MULTILINE | re.IGNORECASE)
_OPEN_LANGUAGE = re.compile(r'"Language:\s*\\n"')
_OPEN_FORMS = re.compile(r"nplurals=INTEGER;\s*plural=EXPRESSION;")
_OPEN_CHARSET = re.compile(r"(?<=text/plain; )charset=CHARSET")


@dataclass(slots=True)
class Entry:
    """A message with its translations. Positions are in the catalog, exact if lines have their line ends."""

    line: int = 0
    """The line of its msgid; of its first keyword if there is none."""
    parts: dict[str, str] = field(default_factory=dict)
    """The strings by keyword: `msgid`, `msgid_plural`, `msgstr`, `msgstr[1]`."""
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Begin and end of the lines of each keyword, without the last line end."""
    flags: list[tuple[int, int, str]] = field(default_factory=list)
    """Begin, end and text of each line of flags (`#,`)."""
    last: str = ""
    """The keyword to which a continuation string belongs."""
    size: int = 0

    def text(self, keyword: str) -> str:
        """The text of a keyword; empty if the entry does not have it."""
        return self.parts.get(keyword, "")

    @property
    def is_header(self) -> bool:
        """Whether it has the metadata of the catalog."""
        return self.text("msgid") == "" and "msgctxt" not in self.parts

    @property
    def is_fuzzy(self) -> bool:
        """Whether its translation has to be reviewed."""
        return any(FUZZY in re.split(r"[\s,]+", flags) for _, _, flags in self.flags)

    @property
    def forms(self) -> list[str]:
        """The keywords of its translations, in the order of the catalog."""
        return [name for name in self.parts if name.startswith("msgstr")]

    def add(self, content: str, begin: int, end: int, number: int) -> None:
        """Add a line with a string. Raises `FormatError` if it is not one of an entry."""
        match = _KEYWORD.fullmatch(content)
        self.last = match[1] if match else self.last
        string = _STRING.fullmatch(match[2] if match else content)
        self.size += len(content)
        if self.size > MAX_ENTRY:
            raise FormatError(f"an entry of more than {MAX_ENTRY:,} characters", number)
        if string is None or not self.last:
            raise FormatError(f"not a line of a PO file: {shown(content, 60)}", number)
        if match and self.last in self.parts:
            raise FormatError(f"a second {self.last} in one entry", number)
        self.parts[self.last] = self.text(self.last) + _ESCAPE.sub(_unescaped, string[1])
        self.spans[self.last] = self.spans.get(self.last, (begin, end))[0], end
        if match and (self.last == "msgid" or not self.line):
            self.line = number


def _unescaped(match: re.Match[str]) -> str:
    code, octal, letter = match.groups()
    return chr(int(code, 16) if code else int(octal, 8)) if letter is None else _ESCAPED.get(letter, letter)


def entries(lines: Iterable[str]) -> Iterator[Entry]:
    """The entries of the lines of a catalog, in order. Obsolete entries (`#~`) are comments. Raises `FormatError`."""
    entry, position = Entry(), 0
    for number, line in enumerate(lines, start=1):
        content, begin, end = line.strip(), position, position + len(line.rstrip("\r\n"))
        position += len(line)
        is_full = entry.forms or (content and "msgid" in entry.parts)
        if is_full and (not content or content.startswith(("#", "msgctxt", "msgid ", 'msgid"'))):
            yield _checked(entry)
            entry = Entry()
        if content.startswith("#,"):
            entry.flags.append((begin, end, content[2:]))
        elif content.startswith("#~"):
            entry.flags.clear()  # they belong to the obsolete entry
        elif content and not content.startswith("#"):
            entry.add(content, begin, end, number)
    yield _checked(entry)


def _checked(entry: Entry) -> Entry:
    if entry.parts and not entry.forms:
        raise FormatError("an entry without msgstr; is the file cut off?", entry.line)
    return entry


def _sides(entry: Entry, plurals: PluralForms | None) -> list[tuple[str, list[str]]]:
    """The keyword of each source text with the keywords of its translations: the singular has the form for one, the
    plural all others."""
    if "msgid_plural" not in entry.parts:
        return [("msgid", entry.forms)]
    count = len(entry.forms)
    plurals = plurals or PluralForms(count, 0 if count == 2 else -1)
    forms = [f"msgstr[{number}]" for number in range(plurals.total)]
    one = [forms[plurals.one]] if plurals.one >= 0 else []
    return [("msgid", one), ("msgid_plural", [form for form in forms if form not in one])]


def scan_po(path: str | Path) -> Iterator[Segment]:
    """The entries of a catalog, whose header names only the target language. A line that is not valid raises
    `UserError`.

    An entry with a plural is one or two segments: the singular with the form for one (`formats/plurals.py`), and the
    plural with the last form, the general one in nearly all languages.
    """
    file, language, plurals = str(path), "", None
    with open_segments(path) as stream, located(file):
        for entry in entries(read_stream(stream, file)):
            if not entry.is_header:
                known = plurals if plurals and plurals.total == len(entry.forms) else None
                yield from _segments(entry, known, language)
                continue
            header = entry.text("msgstr")
            match = _LANGUAGE.search(header)
            language = match[1].strip() if match else ""
            plurals = forms_of_header(header) or forms_of_language(language)


def _segments(entry: Entry, plurals: PluralForms | None, language: str) -> Iterator[Segment]:
    for keyword, forms in _sides(entry, plurals):
        translation = entry.text(forms[-1]) if forms else ""
        variants = [Variant("", [entry.text(keyword)]), Variant(language, [translation])]
        unused = "not translated" if not translation.strip() else FUZZY if entry.is_fuzzy else ""
        if forms:
            yield Segment(entry.line, variants, unused=unused)


def po_units(text: str, options: Options) -> list[Unit]:
    """Entries without a translation; with `options.everything` all entries. The header determines the number of plural
    forms, else the language. Translated entries are marked `fuzzy`, for review. Missing header fields for language,
    plural forms and encoding are filled in.

    Raises `FormatError` for an invalid catalog.
    """
    units, language = list[Unit](), options.target
    rule = plurals = forms_of_language(language)
    for entry in entries(_LINE.findall(text)):
        if entry.is_header:
            plurals = forms_of_header(entry.text("msgstr")) or plurals
            continue
        sides = _sides(entry, plurals)
        is_open = options.everything or entry.is_fuzzy
        open_forms = [name for name in entry.forms if is_open or not entry.text(name)]
        known = [form for _, forms in sides for form in forms]
        surplus = [name for name in open_forms if name not in known]
        for keyword, forms in sides:
            wanted = [form for form in forms if form in open_forms or form not in entry.parts]
            if wanted and has_words(entry.text(keyword)):
                units.append(_unit(text, entry, keyword, wanted, surplus))
    headers = (
        (_OPEN_LANGUAGE, f'"Language: {language}\\n"' if language else ""),
        (_OPEN_FORMS, rule.rule if rule else ""),
        (_OPEN_CHARSET, "charset=UTF-8"),
    )
    return with_splices(
        units, [Splice(*match.span(), new) for pattern, new in headers if new and (match := pattern.search(text))]
    )


def _unit(text: str, entry: Entry, keyword: str, names: list[str], surplus: Sequence[str]) -> Unit:
    """A unit of an entry, written to these forms. Units of the same entry write equal splices for shared parts."""
    first, last = min(entry.spans.values())[0], entry.spans[entry.forms[-1]][1]
    parts, letter = label_parts(unwrapped(entry.text(keyword)))
    keywords = list(entry.spans)

    def write(new: str) -> Iterator[Splice]:
        end = "\r\n" if "\r\n" in text[first : last + 2] else "\n"
        for name in names:
            written = _with_keyword(name, with_codes(with_accelerator(new, letter), unit.codes), end)
            yield Splice(*entry.spans[name], written) if name in entry.spans else Splice(last, last, end + written)
        for name in surplus:
            before = entry.spans[keywords[keywords.index(name) - 1]][1]
            yield Splice(before, entry.spans[name][1], "")
        if not entry.flags:
            yield Splice(first, first, f"#, fuzzy{end}")
        elif not entry.is_fuzzy:
            begin, until, flags = entry.flags[-1]
            yield Splice(begin, until, f"#, fuzzy,{flags}")

    unit = make_unit(parts, write, entry.line)
    return unit


def _with_keyword(keyword: str, text: str, end: str) -> str:
    """A keyword with its text: one string, or an empty one and a string for each line."""
    lines = [line.translate(_ESCAPES) for line in _LINE.findall(text)] or [""]
    if len(lines) == 1:
        return f'{keyword} "{lines[0]}"'
    return end.join([f'{keyword} ""', *(f'"{line}"' for line in lines)])
