"""Find spans that a translation must keep unchanged: tags, variables, addresses, matches of the user's patterns.

A protector finds spans in a text. `PROTECTORS` has the predefined ones; `pattern` makes others.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from limelight.errors import UserError
from limelight.text import notations
from limelight.text.checks import ADDRESS
from limelight.text.kept_signs import find_signs, find_unheld
from limelight.text.marking import MARK
from limelight.text.notations import CODES, DASHES, Found, Protector, Role
from limelight.text.numbers import carried_numbers

_TEMPLATE = (
    r"(?:\{\{[^{}]{0,200}\}\}|\$?\{[^{}]{0,200}\}|%\(\w{1,50}\)s|%\{\w{1,50}\}|\{%[^{}]{0,200}%\}"
    r"|<%(?:(?!%>).){0,200}%>|<\?(?:(?!\?>).){0,200}\?>)"
)
"""A variable among the attributes of a tag."""
_VALUE = (
    r"""(?:"[^"]{0,4000}"|'[^']{0,4000}'|\\"[^"\\]{0,4000}\\"|\\'[^'\\]{0,4000}\\'"""
    rf"""|(?:{_TEMPLATE}|[^\s"'<>=`{{}}\\])+)"""
)
_FLAGS = (
    "allowfullscreen async autofocus autoplay checked controls default defer disabled download formnovalidate hidden "
    "inert ismap itemscope loop multiple muted nomodule novalidate open playsinline readonly required reversed selected"
)
_NAME = r"[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?"
_ASSIGNED = rf"\s+[A-Za-z_@:#*(\[][\w.:@()\[\]-]*\s*=\s*{_VALUE}"
# An attribute without a value has to be one of HTML's: `a <b and c> d` is not a tag.
_ATTRIBUTE = rf"(?:{_ASSIGNED}|\s*{_TEMPLATE}[\w:.-]{{0,50}}|\s+(?:{_FLAGS.replace(' ', '|')})(?=[\s/>]))"
_TAG = re.compile(rf"<(?P<close>/?)(?P<name>{_NAME})(?:{_ATTRIBUTE}){{0,200}}\s*(?P<empty>/?)>")
_ANY_FLAG = re.compile(
    rf"<(?P<close>)(?P<name>{_NAME})(?:{_ATTRIBUTE}|\s+[A-Za-z_@:#*(\[][\w.:@()\[\]-]*){{1,50}}\s*(?P<empty>/?)>"
)
"""Its attributes may be any; it counts where the element is closed."""
_CLOSING = re.compile(r"</([\w.:-]+)>")
_NUMBERED = re.compile(r"<(?P<close>/?)(?P<name>\d{1,3})\s*(?P<empty>/?)>")
"""Tags of react-i18next."""
_DECLARATION = re.compile(r"<\?[A-Za-z][^<>]*\?>|<![A-Za-z][^<>]*>")
_CDATA = re.compile(r"<!\[CDATA\[|\]\]>")
"""Around text of applications, which is translated."""
_VOID = tuple("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
"""Elements of HTML that have no end."""

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_CONVERSION = r"[-+#0']{0,5}(?:\d{1,5}|\*)?(?:\.(?:\d{1,5}|\*))?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGaAcCsSpnr@]"
_PRINTF = re.compile(
    rf"%(?:\([\w. -]{{1,200}}\)|\d{{1,3}}\$|<\w{{1,50}}>){_CONVERSION}"  # %(x)s %1$s %<x>d
    r"|%(?:\d{1,3}\$)?#@\w{1,100}@"  # %#@dogs@
    rf"|(?P<sequential>(?<!\d)%{_CONVERSION})"  # %s; not 100%ig, nor 5 % der
    r"|(?<!\d)%L?[1-9]\d?(?![\d$])"  # %1, as Qt has it
    r"|%%"
)
_NESTED = re.compile(r"\$t\((?:[^()]|\([^()]*\)){0,500}\)")
_MESSAGE = re.compile(
    r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal|choice|number|date|time|spellout|ordinal|duration)\s*[,}]"
)
FLUENT = re.compile(r"\{\s*(?:\$?[A-Za-z][\w.-]*|[A-Z][A-Z0-9_-]*\([^{}()]{0,200}\))\s*->(?=[^{}]*\[)")
"""The beginning of a select of Fluent: `{ $count -> [one] ...`."""
BRACES = re.compile(r"[{}]|'[{}][^']*'")
"""Braces of ICU; what is quoted has none."""


def _tags(text: str) -> Iterator[Found]:
    """Tags of XML and HTML, comments, processing instructions."""
    if "<" not in text:
        return
    for match in _TAG.finditer(text):
        yield _tag(match)
    closed = set(_CLOSING.findall(text))
    for expression in (_ANY_FLAG, _NUMBERED):
        yield from (_tag(each) for each in expression.finditer(text) if each["empty"] or each["name"] in closed)
    yield from (Found(*match.span(), name=match[0][:2]) for match in _DECLARATION.finditer(text))
    begin = text.find("<!--")
    while begin >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        yield Found(begin, end + 3, name="<!--")
        begin = text.find("<!--", end)
    if "<![CDATA[" in text:
        for match in _CDATA.finditer(text):
            yield Found(*match.span(), "close" if match[0] == "]]>" else "open", "<![CDATA[")


def _tag(match: re.Match[str]) -> Found:
    name = match["name"]
    alone = match["empty"] or name.lower() in _VOID
    role: Role = "break" if name.lower() == "br" else "alone" if alone else "close" if match["close"] else "open"
    return Found(*match.span(), role, name)


def _printf_spans(text: str) -> Iterator[Found]:
    """Directives of printf."""
    if "%" in text:
        yield from _DIRECTIVES(text)


def _messages(text: str) -> Iterator[Found]:
    """ICU messages such as `{n, plural, one {# file} other {# files}}`, and selects of Fluent, each as a whole;
    `text/icu.py` finds the text in them."""
    found = (match for kind in (_MESSAGE, FLUENT) for match in kind.finditer(text)) if "{" in text else ()
    starts = [match.start() for match in found]
    ends, opened = dict[int, int](), list[int]()
    for brace in BRACES.finditer(text) if starts else ():
        if brace[0] == "{":
            opened.append(brace.start())
        elif brace[0] == "}" and opened:
            ends[opened.pop()] = brace.end()
    yield from (Found(start, ends[start]) for start in starts if start in ends)


def _by(expression: re.Pattern[str], needs: str = "") -> Callable[[str], Iterator[Found]]:
    """Non-empty matches of a regular expression; `sequential` if its group of this name matched. Each of them contains
    one of the characters of `needs`, if there are any: searching for these takes less time."""
    group = "sequential" if "sequential" in expression.groupindex else None

    def find(text: str) -> Iterator[Found]:
        if needs and not any(character in text for character in needs):
            return
        for match in expression.finditer(text):
            if match[0]:
                yield Found(*match.span(), "sequential" if group and match[group] else "alone")

    return find


def _addresses(text: str) -> Iterator[Found]:
    """Addresses, with the angle brackets around them."""
    if _PART_OF_ADDRESS.search(text):
        for expression in (_ANGLED, ADDRESS) if "<" in text else (ADDRESS,):
            yield from (Found(*match.span()) for match in expression.finditer(text))


_DIRECTIVES = _by(_PRINTF)
_PART_OF_ADDRESS = re.compile(r"://|@|\.\S")
_ANGLED = re.compile(rf"<(?:{ADDRESS.pattern})>")


PROTECTORS: dict[str, Protector] = {
    name: Protector(name, find)
    for name, find in {
        "tags": _tags,
        "entities": _by(_ENTITY, "&"),
        "templates": notations.find_templates,
        "variables": notations.find_variables,
        "printf": _printf_spans,
        "nested": _by(_NESTED, "$"),
        "messages": _messages,
        "addresses": _addresses,
        "escapes": notations.find_escapes,
        "math": notations.find_math,
        "names": notations.find_names,
        "paths": notations.find_paths,
        "brackets": notations.find_brackets,
    }.items()
}
"""`tags` of XML and HTML; `entities` (`&nbsp;`); `templates` (`{{x}}`, `{% if x %}`, `<%= x %>`); `variables` (`{x}`,
`${x}`, `%{x}`); `printf` (`%s`, `%(x)s`, `%1$s`, `%1`); `nested` (`$t(x)`); `messages` of ICU (plural, select);
`addresses` (URLs, e-mail, names of hosts); `escapes` (`\\n`) and names of commands (`\\emph`); `math` (`$x^2$`);
`names` (`$x`, `%PATH%`, `--flag`, `[[x]]`); `paths` (`/usr/bin`, `notes.txt`); `brackets` (`[b]`)."""

DEFAULT = tuple(PROTECTORS.values())
_PART_OF_SPAN = re.compile(rf"[<>&{{}}%$@\\|\[`_(#/]|\.\S|:\w|[{DASHES}](?<!\w.)[{DASHES}a-z]|{MARK.pattern}")
"""Every span of `DEFAULT` contains one of these, most sentences none."""


def pattern(expression: str) -> Protector:
    """A protector for the matches of a regular expression. A match of its group named `sequential`, if it has one, is
    `sequential`. Raises `UserError` for an invalid expression.

    Matching can take exponential time: use it only for trusted expressions.
    """
    try:
        return Protector(expression, _by(re.compile(expression)))
    except (re.error, OverflowError, RecursionError) as error:
        raise UserError(f"{expression!r} is not a valid regular expression: {error}") from None


def numbers(source: str, target: str, *, every: bool = False) -> Protector:
    """A protector for the numbers of a text, in the notation of the target language (`carried_numbers`)."""
    found = partial(carried_numbers, source=source, target=target, every=every)
    return Protector("numbers", lambda text: (Found(begin, end, text=new) for begin, end, new in found(text)))


def signs() -> Protector:
    """A protector for signs between spaces."""
    return spans_by(find_signs)


def unheld(is_held: Callable[[str], bool], languages: tuple[str, str]) -> Protector:
    """A protector for what the vocabulary or both languages lack, and for signs beyond ASCII between spaces, which are
    rare in training text."""

    def find(text: str) -> Iterator[tuple[int, int]]:
        yield from (span for span in find_signs(text) if not text[slice(*span)].isascii())
        yield from find_unheld(text, is_held, languages)

    return spans_by(find)


def outside(protector: Protector, spans: Callable[[str], Iterable[tuple[Any, ...]]]) -> Protector:
    """The spans of a protector that do not overlap others, such as terms of a glossary: tuples of begin, end, ..."""

    def find(text: str) -> Iterator[Found]:
        kept = [each[:2] for each in spans(text)]
        for found in protector.find(text):
            if not any(begin < found.end and found.begin < end for begin, end in kept):
                yield found

    return protector._replace(find=find)


def spans_by(find: Callable[[str], Iterable[tuple[int, int]]]) -> Protector:
    """A protector for the spans that a function finds."""
    return Protector("spans", lambda text: (Found(*span) for span in find(text)))


def find_spans(text: str, protectors: Sequence[Protector]) -> list[Found]:
    """The spans of a text in order, without overlaps: the first to begin takes precedence, then the longest.

    Characters of the text that would be interpreted as marks are always spans. A span ends before a code
    (`units/unit.py`) whose partner is outside, so that pairs of tags are not divided.
    """
    found, codes = list[Found](), list[Found]()
    is_plain = not _PART_OF_SPAN.search(text)
    for protector in protectors:
        own = [] if is_plain and protector in DEFAULT else list(protector.find(text))
        found += own
        codes += [each for each in own if protector.name == CODES and each.role != "alone"]
    found += (Found(*match.span()) for match in MARK.finditer(text))  # of equal spans the first ones are taken
    spans: list[Found] = []
    trimmed = _Trimmed(codes)
    for span in sorted(found, key=lambda each: (each.begin, -each.end)):
        if not spans or span.begin >= spans[-1].end:
            span = trimmed(span)
            spans += [span] if span.begin < span.end else []
    return spans


class _Trimmed:
    """Truncates spans before a code whose partner is outside."""

    def __init__(self, codes: Sequence[Found]) -> None:
        self._codes, self._begins = codes, [code.begin for code in codes]
        self._depths = [0, *accumulate(1 if code.role == "open" else -1 for code in codes)]

    def __call__(self, span: Found) -> Found:
        first, last = (bisect_left(self._begins, place) for place in (span.begin, span.end))
        if first == last or span == self._codes[first]:
            return span
        is_whole = self._codes[first].role == "open" and self._depths[first] == self._depths[last]
        return span if is_whole else span._replace(end=self._begins[first], text="")
