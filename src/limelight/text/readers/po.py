"""Segments of a gettext catalog (PO): translated entries that are neither fuzzy nor obsolete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from limelight.errors import shown
from limelight.text.open_text import open_segments
from limelight.text.pair import BadLine
from limelight.text.plurals import PluralForms, forms_of_header, forms_of_language
from limelight.text.readers.lines import MAX_LINE_BYTES, scan_lines
from limelight.text.readers.segments import Segment, Variant

_KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[(\d{1,2})\])?)\s*(".*")')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
FUZZY = "fuzzy"
_UTF8 = ("utf-8", "utf8", "us-ascii", "ascii", "charset")  # the last one stands in templates


@dataclass(slots=True)
class _Entry:
    line: int = 0
    """The line of its msgid."""
    flags: set[str] = field(default_factory=set)
    obsolete: bool = False
    texts: dict[str, list[str]] = field(default_factory=dict)
    """By keyword: `msgid`, `msgid_plural`, `msgstr`, `msgstr[1]`."""
    last: str = ""
    """The keyword to which a continuation string belongs."""
    size: int = 0
    fault: BadLine | None = None

    def text(self, keyword: str) -> str:
        return "".join(self.texts.get(keyword, ()))

    @property
    def is_complete(self) -> bool:
        return any(name.startswith("msgstr") for name in self.texts)


def scan_po(path: str | Path) -> Iterator[Segment | BadLine]:
    """The entries of a catalog. The source language is the header's X-Source-Language, if it has one.

    An entry with a plural is one or two segments: the singular with the form for one (`text/plurals.py`), and the
    plural with the last form, the general one in nearly all languages.
    """
    file, source, target, plurals = str(path), "", "", None
    for entry in _entries(path):
        if isinstance(entry, BadLine):
            yield entry
        elif entry.fault is not None:
            yield entry.fault
        elif "msgid" not in entry.texts:
            continue
        elif not entry.text("msgid") and "msgctxt" not in entry.texts:
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


def _unused(entry: _Entry, keyword: str) -> str:
    """Why a translation is not used."""
    if entry.obsolete:
        return "obsolete"
    if not entry.text(keyword).strip():
        return "not translated"
    return FUZZY if "fuzzy" in entry.flags else ""


def _sides(entry: _Entry, plurals: PluralForms | None) -> list[tuple[str, str]]:
    """The keywords of source and target."""
    if "msgid_plural" not in entry.texts:
        return [("msgid", "msgstr")]
    forms = sorted(name for name in entry.texts if name.startswith("msgstr["))
    last = [("msgid_plural", forms[-1])] if forms else []
    one = f"msgstr[{plurals.one if plurals and plurals.total == len(forms) else 0 if len(forms) == 2 else -1}]"
    return [("msgid", one), *last] if one in forms and one != forms[-1] else last


def _header(text: str) -> dict[str, str]:
    fields = (line.partition(":") for line in text.split("\n"))
    return {name.strip().lower(): value.strip() for name, _, value in fields}


def _entries(path: str | Path) -> Iterator[_Entry | BadLine]:
    """The entries in order; a faulty line makes its entry a `BadLine`."""
    file, entry = str(path), _Entry()
    with open_segments(path, xml=False) as stream:
        for number, line in enumerate(scan_lines(stream, file), start=1):
            if isinstance(line, BadLine):
                if line.fatal:
                    yield line
                    return
                entry.fault = entry.fault or line
                continue
            content = line.strip()
            obsolete = content.startswith("#~") and not content.startswith("#~|")
            content = content.removeprefix("#~").lstrip() if obsolete else content
            if _begins_entry(entry, content):
                yield _ended(entry, file)
                entry = _Entry()
            entry.obsolete |= obsolete
            _add(entry, content, file, number)
        yield _ended(entry, file)


def _begins_entry(entry: _Entry, content: str) -> bool:
    """Whether a line begins the next entry. The next keyword after a fault does, so that little text is lost."""
    if not content:
        return entry.is_complete
    if entry.is_complete or entry.fault or "msgid" in entry.texts:
        return re.match(r"#|msgctxt\b|msgid\b", content) is not None
    return content.startswith("msgctxt") and bool(entry.texts)


def _ended(entry: _Entry, file: str) -> _Entry:
    if entry.texts and not entry.is_complete and entry.fault is None:
        entry.fault = BadLine(file, entry.line, "an entry without msgstr; is the file cut off?")
    return entry


def _add(entry: _Entry, content: str, file: str, number: int) -> None:
    """Add a line to an entry."""
    if content.startswith("#,"):
        entry.flags |= {flag.strip() for flag in content[2:].split(",")}
    if not content or content.startswith("#"):
        return
    match = _KEYWORD.fullmatch(content)
    keyword = match[1] if match else entry.last
    string = _STRING.fullmatch(match[3] if match else content)
    entry.size += len(content)
    if entry.size > MAX_LINE_BYTES:
        entry.texts = {name: [] for name in entry.texts}
        fault = f"an entry of more than {MAX_LINE_BYTES:,} characters"
    elif string is None or not keyword:
        fault = f"not a line of a PO file: {shown(content, 60)}"
    elif match and keyword in entry.texts:
        fault = f"a second {keyword} in one entry"
    else:
        fault = ""
        entry.texts.setdefault(keyword, []).append(_ESCAPE.sub(_unescaped, string[1]))
        entry.last = keyword
        if match and (keyword == "msgid" or not entry.line):
            entry.line = number
    if fault and entry.fault is None:
        entry.fault = BadLine(file, number, fault)


def _unescaped(match: re.Match[str]) -> str:
    code, octal, letter = match.groups()
    return chr(int(code, 16) if code else int(octal, 8)) if letter is None else _ESCAPED.get(letter, letter)
