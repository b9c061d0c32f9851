"""Units of a gettext catalog: entries without a translation, and fuzzy ones; and accelerators, a sign before the letter
that activates an item of a menu: `&File`, `E&xit`, in GTK `_File`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from limelight.formats.plain import unwrapped
from limelight.formats.plurals import PluralForms, forms_of_header, forms_of_language
from limelight.formats.po import ESCAPED, Entry, entries
from limelight.formats.unit import FormatError, Splice, Unit, has_words, make_unit

MAX_LABEL = 60
"""Maximum number of characters of a text with an accelerator."""
_ACCELERATOR = re.compile(r"(?<![&\d])(?!(?<=[A-Z])&[A-Z])&(?=[A-Za-z])(?![A-Za-z]\w*;)")
_OF_GTK = re.compile(r"(?<!\S)_(?=[A-Za-z])|(?<=\b[A-Z])_(?=[a-z])|(?<=[a-z])_(?=[a-z](?!\w))")
"""At the beginning of a word, behind its first letter, or before its last one."""
_LABEL = re.compile(r"[^\W\d_]*[A-Z]|_[A-Z]")
"""How a text with the sign of GTK begins: `_name` and `file_name` are names."""
_NO_LABEL = re.compile(r"[<>=?]|://")
_LETTER = re.compile(r"[^\W\d_]")
_VARIABLE = re.compile(r"[{%$][\w{(%.}$)]*")


class Accelerator(NamedTuple):
    """The sign of an accelerator, and its letter; both are empty if there is none."""

    sign: str = ""
    letter: str = ""


def without_accelerator(text: str) -> tuple[str, Accelerator]:
    """The text without the sign of its accelerator."""
    if len(text) > MAX_LABEL or _NO_LABEL.search(text):
        return text, Accelerator()
    for sign, pattern in (("&", _ACCELERATOR), ("_", _OF_GTK)):
        match = pattern.search(text)
        if match and text.count(sign) == 1 and (sign == "&" or _LABEL.match(text)):
            return text[: match.start()] + text[match.end() :], Accelerator(sign, text[match.end()])
    return text, Accelerator()


def with_accelerator(text: str, accelerator: Accelerator) -> str:
    """The text with an accelerator: before the same letter at the beginning of a word, or anywhere; else before its
    first letter."""
    sign, letter = accelerator
    if not sign:
        return text
    kept = [match.span() for match in _VARIABLE.finditer(text)]
    letters = [match for match in _LETTER.finditer(text) if not any(b <= match.start() < e for b, e in kept)]
    same = [match.start() for match in letters if match[0].casefold() == letter.casefold()]
    first = [place for place in same if not text[place - 1 : place].isalnum()]
    places = first or same or [match.start() for match in letters[:1]] or [len(text)]
    return f"{text[: places[0]]}{sign}{text[places[0] :]}"


_CHARSET = re.compile(r"charset=([\w.-]+)")
_LANGUAGE = re.compile(r'"Language:\s*\\n"')
_OPEN_FORMS = re.compile(r"nplurals=INTEGER;\s*plural=EXPRESSION;")
_OPEN_CHARSET = re.compile(r"(?<=text/plain; )charset=CHARSET")


def po_units(text: str, language: str = "", *, everything: bool = False) -> list[Unit]:
    """Entries without a translation; with `everything` all entries. The singular is translated to the form for one, the
    plural to all other forms; the header determines the number of forms, else the language. Translated entries are
    marked `fuzzy`, for review. Missing header fields for language, plural forms and encoding are filled in.

    Raises `FormatError` for an invalid catalog.
    """
    units, plurals = list[Unit](), None
    for entry in _entries(text):
        if not entry.text("msgid"):
            if entry.text("msgstr") and "msgctxt" not in entry.parts:
                plurals = forms_of_header(entry.text("msgstr"))
            continue
        if not entry.forms:
            continue
        asked = everything or entry.is_fuzzy
        if "msgid_plural" in entry.parts:
            units += _plural(text, entry, plurals or forms_of_language(language), asked=asked)
        elif (asked or not entry.text(entry.forms[0])) and has_words(entry.text("msgid")):
            units.append(_unit(text, entry, "msgid", entry.forms))
    return _with_header(text, language, units)


def charset(data: bytes) -> str:
    """The encoding named in the header of a catalog; empty if there is none."""
    found = _CHARSET.search(data[:4000].decode("ascii", "replace"))
    return "" if found is None or found[1].upper() == "CHARSET" else found[1]


def _with_header(text: str, language: str, units: list[Unit]) -> list[Unit]:
    """The units, where the first one also fills in missing fields of the header."""
    forms = forms_of_language(language)
    given = ((_LANGUAGE, f'"Language: {language}\\n"' if language else ""), (_OPEN_FORMS, forms.rule if forms else ""),
             (_OPEN_CHARSET, "charset=UTF-8"))  # fmt: skip
    found = [(pattern.search(text), new) for pattern, new in given]
    named = [Splice(*match.span(), new) for match, new in found if match and new]
    if not (units and named):
        return units
    first, *others = units
    return [first._replace(write=lambda new: [*named, *first.write(new)]), *others]


def _plural(text: str, entry: Entry, plurals: PluralForms | None, *, asked: bool) -> Iterator[Unit]:
    """The units of a plural: singular for the form for one, plural for all others. Without `asked`, forms that have a
    translation are unchanged."""
    own = entry.forms
    plurals = plurals or PluralForms(len(own), 0 if len(own) > 1 else -1)
    wanted = [f"msgstr[{number}]" for number in range(plurals.total)]
    if own[0] == "msgstr" or any(f"msgstr[{number}]" != name for number, name in enumerate(own)):
        wanted, plurals = own, PluralForms(len(own), -1)  # numbered otherwise: as they are
    wanted = [name for name in wanted if asked or not entry.text(name)]
    singular = f"msgstr[{plurals.one}]"
    surplus = [name for name in own[plurals.total :] if asked or not entry.text(name)]
    sides = (("msgid", [name for name in wanted if name == singular]),
             ("msgid_plural", [name for name in wanted if name != singular]))  # fmt: skip
    for keyword, names in sides:
        if names and has_words(entry.text(keyword)):
            yield _unit(text, entry, keyword, names, surplus)


def _unit(text: str, entry: Entry, keyword: str, names: list[str], surplus: Sequence[str] = ()) -> Unit:
    """A unit of an entry, written to these forms. Units of the same entry write equal splices for shared parts."""
    last = entry.places[entry.forms[-1]][1]
    plain, accelerator = without_accelerator(entry.text(keyword))

    def write(new: str) -> Iterator[Splice]:
        end = "\r\n" if "\r\n" in text[entry.begin : last + 2] else "\n"
        for name in names:
            written = _written(name, with_accelerator(new, accelerator), end)
            yield Splice(*entry.places[name], written) if name in entry.places else Splice(last, last, end + written)
        for name in surplus:
            before = entry.places[entry.forms[entry.forms.index(name) - 1]][1]
            yield Splice(before, entry.places[name][1], "")
        yield from (Splice(begin, until, "") for begin, until in entry.previous)
        if not entry.flags:
            yield Splice(entry.first, entry.first, f"#, fuzzy{end}")
        elif not entry.is_fuzzy:
            begin, until, flags = entry.flags[-1]
            yield Splice(begin, until, f"#, fuzzy,{flags}")

    return make_unit([unwrapped(plain)], write, entry.line)


def _written(keyword: str, text: str, end: str) -> str:
    """The lines of a keyword: one, or one for each line of the text."""
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:] * bool(lines[-1] or len(lines) == 1)
    if len(lines) == 1:
        return f'{keyword} "{_escaped(lines[0])}"'
    return end.join([f'{keyword} ""', *(f'"{_escaped(line)}"' for line in lines)])


def _escaped(text: str) -> str:
    for letter, character in (("\\", "\\"), ('"', '"'), *ESCAPED.items()):
        text = text.replace(character, f"\\{letter}")
    return text


def _entries(text: str) -> Iterator[Entry]:
    """The entries that are not obsolete."""
    for entry in entries(re.findall(r"[^\n]*\n|[^\n]+\Z", text)):
        if entry.fault is not None and not entry.is_obsolete:
            raise FormatError(entry.fault.reason, entry.fault.line)
        if not entry.is_obsolete:
            yield entry
