"""Units of a gettext catalog: entries without a translation, and fuzzy ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from limelight.text.units.plain import unwrapped
from limelight.text.units.unit import FormatError, Splice, Unit, has_words, make_unit
from limelight.untrusted import shown

_KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d{1,2}\])?)\s*(".*")')
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_CHARSET = re.compile(r"charset=([\w.-]+)")
_LANGUAGE = re.compile(r'"Language:\s*\\n"')


@dataclass(slots=True)
class _Entry:
    begin: int
    line: int
    texts: dict[str, str] = field(default_factory=dict)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Where the lines of a keyword are, without the last line end."""
    flags: tuple[int, int, str] | None = None
    previous: list[tuple[int, int]] = field(default_factory=list)
    """Lines of `#|`, with their line ends."""
    first: int = -1
    """Where the first line that is no comment begins."""

    @property
    def is_fuzzy(self) -> bool:
        return self.flags is not None and "fuzzy" in re.split(r"[\s,]+", self.flags[2])

    @property
    def forms(self) -> list[str]:
        return [name for name in self.texts if name.startswith("msgstr")]


def po_units(text: str, language: str = "", *, everything: bool = False) -> list[Unit]:
    """Entries to be translated; with `everything` those that have a translation too. A plural is translated once, and
    stands in all forms. What is translated becomes `fuzzy`, so that somebody looks at it. An empty field `Language` of
    the header gets the `language`.

    Raises `FormatError` for what is no catalog.
    """
    units = list[Unit]()
    for entry in _entries(text):
        if not entry.texts.get("msgid"):
            continue
        missing = [name for name in entry.forms if not entry.texts[name]]
        if not (missing or entry.is_fuzzy or everything) or not entry.forms:
            continue
        if "msgid_plural" in entry.texts:
            units += _plural(text, entry)
        elif has_words(entry.texts["msgid"]):
            units.append(_unit(text, entry, "msgid", entry.forms))
    return [*_header(text, language, units), *units]


def charset(data: bytes) -> str:
    """The encoding that the header of a catalog names; empty for none."""
    found = _CHARSET.search(data[:4000].decode("ascii", "replace"))
    return "" if found is None or found[1].upper() == "CHARSET" else found[1]


def _header(text: str, language: str, units: list[Unit]) -> list[Unit]:
    """The first unit also names the language, where the header leaves it empty."""
    field_ = _LANGUAGE.search(text)
    if not (units and language and field_):
        return []
    first, named = units.pop(0), Splice(*field_.span(), f'"Language: {language}\\n"')
    return [first._replace(write=lambda new: [named, *first.write(new)])]


def _plural(text: str, entry: _Entry) -> Iterator[Unit]:
    """Two forms are singular and plural; of another number, all are what the plural becomes."""
    forms = entry.forms
    if len(forms) == 2 and has_words(entry.texts["msgid"]):
        yield _unit(text, entry, "msgid", forms[:1])
        forms = forms[1:]
        entry.flags, entry.previous = _DONE, []
    if has_words(entry.texts["msgid_plural"]):
        yield _unit(text, entry, "msgid_plural", forms)


_DONE = (0, 0, "fuzzy")
"""The flags of an entry whose first unit writes them."""


def _unit(text: str, entry: _Entry, keyword: str, forms: list[str]) -> Unit:
    source = entry.texts[keyword]
    flags, previous = entry.flags, list(entry.previous)

    def write(new: str) -> Iterator[Splice]:
        end = "\r\n" if "\r\n" in text[entry.begin : entry.places[forms[0]][1] + 2] else "\n"
        for name in forms:
            yield Splice(*entry.places[name], _written(name, new, end))
        yield from (Splice(begin, until, "") for begin, until in previous)
        if flags is None:
            yield Splice(entry.first, entry.first, f"#, fuzzy{end}")
        elif flags is not _DONE and not entry.is_fuzzy:
            yield Splice(flags[0], flags[1], f"#, fuzzy,{flags[2]}")

    return make_unit([unwrapped(source)], write, entry.line)


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
