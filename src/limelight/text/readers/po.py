"""Segments of a gettext catalog (PO): translated entries that are neither fuzzy nor obsolete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from limelight.errors import shown
from limelight.text.open_text import open_segments
from limelight.text.pair import BadLine
from limelight.text.plurals import PluralForms, forms_of_header, forms_of_language
from limelight.text.po import Entry, entries
from limelight.text.readers.lines import scan_lines
from limelight.text.readers.segments import Segment, Variant

FUZZY = "fuzzy"
_UTF8 = ("utf-8", "utf8", "us-ascii", "ascii", "charset")  # the last one stands in templates


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
