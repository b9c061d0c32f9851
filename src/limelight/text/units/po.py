"""Units of a gettext catalog: entries without a translation, and fuzzy ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from limelight.errors import shown
from limelight.text.plurals import PluralForms, forms_of_header, forms_of_language
from limelight.text.units.accelerators import with_accelerator, without_accelerator
from limelight.text.units.plain import unwrapped
from limelight.text.units.unit import FormatError, Splice, Unit, has_words, make_unit

_KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)\s*(".*")')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CHARSET = re.compile(r"charset=([\w.-]+)")
_LANGUAGE = re.compile(r'"Language:\s*\\n"')
_OPEN_FORMS = re.compile(r"nplurals=INTEGER;\s*plural=EXPRESSION;")
_OPEN_CHARSET = re.compile(r"(?<=text/plain; )charset=CHARSET")


@dataclass(slots=True)
class _Entry:
    begin: int
    line: int
    texts: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Begin and end of the lines of each keyword, without the last line end."""
    flags: tuple[int, int, str] | None = None
    previous: list[tuple[int, int]] = field(default_factory=list)
    """Lines of `#|`, with their line ends."""
    first: int = -1
    """The begin of the first line that is not a comment."""

    @property
    def is_fuzzy(self) -> bool:
        return self.flags is not None and "fuzzy" in re.split(r"[\s,]+", self.flags[2])

    @property
    def forms(self) -> list[str]:
        return [name for name in self.texts if name.startswith("msgstr")]


def po_units(text: str, language: str = "", *, everything: bool = False) -> list[Unit]:
    """Entries without a translation; with `everything` all entries. The singular is translated to the form for one, the
    plural to all other forms; the header determines the number of forms, else the language. Translated entries are
    marked `fuzzy`, for review. Missing header fields for language, plural forms and encoding are filled in.

    Raises `FormatError` for an invalid catalog.
    """
    units, plurals = list[Unit](), None
    for entry in _entries(text):
        if not entry.texts.get("msgid"):
            if entry.texts.get("msgstr") and "msgctxt" not in entry.texts:
                plurals = forms_of_header(entry.texts["msgstr"])
            continue
        if not entry.forms:
            continue
        asked = everything or entry.is_fuzzy
        if "msgid_plural" in entry.texts:
            units += _plural(text, entry, plurals or forms_of_language(language), asked=asked)
        elif (asked or not entry.texts[entry.forms[0]]) and has_words(entry.texts["msgid"]):
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


def _plural(text: str, entry: _Entry, plurals: PluralForms | None, *, asked: bool) -> Iterator[Unit]:
    """The units of a plural: singular for the form for one, plural for all others. Without `asked`, forms that have a
    translation are unchanged."""
    own = entry.forms
    plurals = plurals or PluralForms(len(own), 0 if len(own) > 1 else -1)
    wanted = [f"msgstr[{number}]" for number in range(plurals.total)]
    if own[0] == "msgstr" or any(f"msgstr[{number}]" != name for number, name in enumerate(own)):
        wanted, plurals = own, PluralForms(len(own), -1)  # numbered otherwise: as they are
    wanted = [name for name in wanted if asked or not entry.texts.get(name)]
    singular = f"msgstr[{plurals.one}]"
    surplus = [name for name in own[plurals.total :] if asked or not entry.texts[name]]
    sides = (("msgid", [name for name in wanted if name == singular]),
             ("msgid_plural", [name for name in wanted if name != singular]))  # fmt: skip
    for keyword, names in sides:
        if names and has_words(entry.texts[keyword]):
            yield _unit(text, entry, keyword, names, surplus)


def _unit(text: str, entry: _Entry, keyword: str, names: list[str], surplus: Sequence[str] = ()) -> Unit:
    """A unit of an entry, written to these forms. Units of the same entry write equal splices for shared parts."""
    last = entry.places[entry.forms[-1]][1]
    plain, letter = without_accelerator(entry.texts[keyword])

    def write(new: str) -> Iterator[Splice]:
        end = "\r\n" if "\r\n" in text[entry.begin : last + 2] else "\n"
        for name in names:
            written = _written(name, with_accelerator(new, letter), end)
            yield Splice(*entry.places[name], written) if name in entry.places else Splice(last, last, end + written)
        for name in surplus:
            before = entry.places[entry.forms[entry.forms.index(name) - 1]][1]
            yield Splice(before, entry.places[name][1], "")
        yield from (Splice(begin, until, "") for begin, until in entry.previous)
        if entry.flags is None:
            yield Splice(entry.first, entry.first, f"#, fuzzy{end}")
        elif not entry.is_fuzzy:
            yield Splice(entry.flags[0], entry.flags[1], f"#, fuzzy,{entry.flags[2]}")

    return make_unit([unwrapped(plain)], write, entry.line)


def _written(keyword: str, text: str, end: str) -> str:
    """The lines of a keyword: one, or one for each line of the text."""
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:] * bool(lines[-1] or len(lines) == 1)
    if len(lines) == 1:
        return f'{keyword} "{_escaped(lines[0])}"'
    return end.join([f'{keyword} ""', *(f'"{_escaped(line)}"' for line in lines)])


def _escaped(text: str) -> str:
    for letter, character in (("\\", "\\"), ('"', '"'), *_ESCAPED.items()):
        text = text.replace(character, f"\\{letter}")
    return text


def _entries(text: str) -> Iterator[_Entry]:
    """The entries that are not obsolete."""
    entry, last, place = _Entry(0, 1), "", 0
    for number, whole in enumerate(_lines(text), start=1):
        line, begin = whole.strip(), place
        place += len(whole)
        end = begin + len(whole.rstrip("\r\n"))
        if not line or line.startswith("#~"):
            if entry.forms:
                yield entry
                entry, last = _Entry(place, number + 1), ""
            continue
        match = _KEYWORD.fullmatch(line)
        if entry.forms and (line.startswith("#") or (match and match[1] in ("msgid", "msgctxt"))):
            yield entry
            entry, last = _Entry(begin, number), ""
        if line.startswith("#,"):
            entry.flags = (begin, end, whole.strip()[2:])
        elif line.startswith("#|"):
            entry.previous.append((begin, place))
        if line.startswith("#"):
            continue
        last = match[1] if match else last
        string = _STRING.fullmatch(match[2] if match else line)
        if string is None or not last or (match and last in entry.texts):
            raise FormatError(f"not a line of a PO file: {shown(line, 60)}", number)
        if entry.first < 0:
            entry.first = begin
        if match and last == "msgid":
            entry.line = number
        entry.texts[last] = entry.texts.get(last, "") + _ESCAPE.sub(_unescaped, string[1])
        entry.places[last] = (entry.places.get(last, (begin, 0))[0], end)
    if entry.forms:
        yield entry
    elif entry.texts:
        raise FormatError("an entry without msgstr; is the file cut off?", entry.line)


def _lines(text: str) -> Iterable[str]:
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)


def _unescaped(match: re.Match[str]) -> str:
    code, octal, letter = match.groups()
    return chr(int(code, 16) if code else int(octal, 8)) if letter is None else _ESCAPED.get(letter, letter)
