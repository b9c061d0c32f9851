"""Units of Markdown: headings, paragraphs, list items, table cells. Inline markup becomes codes and is unchanged.

markdown-it parses the text. Its inline tokens have no places, so its rules are wrapped, and record them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from limelight.formats.html import VOID, html_units, is_opaque
from limelight.formats.tags import scan_tags
from limelight.formats.unit import Code, Splice, Unit, has_words, make_unit, parts_of
from limelight.text.notations import Role

_MATH = re.compile(r"\$\$.+?\$\$|(?<![\w$])\$(?=[^\s{])[^$\n]+?(?<=\S)\$(?![\w${])", re.DOTALL)
_NOTE = re.compile(r"\[\^[^\]\s]+\]")
_WIKI = re.compile(r"(\[\[[^\[\]|\n]+\|?)[^\[\]\n]*\]\]")
_MARKED = re.compile(r"(==)(?=[^\s=])[^=\n*_`\[\]<\\]+(?<=\S)==(?!=)")
_PAIRS = {"em": 1, "strong": 2, "s": 2}
"""Emphasis, and the number of characters that open it."""


class Markup(NamedTuple):
    """Markup at a place of a text."""

    begin: int
    end: int
    kind: str
    """The type of the token of markdown-it: `em_open`, `code_inline`, `image_close`."""
    role: Role = "alone"
    name: str = "code"


def find_markup(text: str, environment: Mapping[str, Any]) -> list[Markup]:
    """The markup of a paragraph in order; places between are text. A link around nothing but images is one piece.

    Args:
        environment: what markdown-it found in the document: the addresses of references.
    """
    recorder = {**environment, "places": [], "bases": [0]}
    _parser().inline.parse(text, _parser(), recorder, [])
    found = sorted({each for record in recorder["places"] for each in _markup(*record)}, key=lambda each: each[:2])
    return list(_named(text, found))


def structure(text: str, environment: Mapping[str, Any]) -> Counter[str]:
    """The tags of a text, each with those around it and its address, without the text."""

    def walk(tokens: list[Any], around: tuple[str, ...]) -> Iterator[str]:
        for token in tokens:
            if token.nesting < 0:
                around = around[:-1]
            elif token.type not in ("text", "softbreak", "text_special"):
                own = f"{token.type} {token.content if not token.children else ''} {sorted(token.attrs.items())}"
                yield " > ".join((*around, own))
                around = (*around, own) if token.nesting > 0 else around
                yield from walk(token.children or [], (*around, own))

    return Counter(walk(_parser().inline.parse(text, _parser(), {**environment, "places": [], "bases": [0]}, []), ()))


@cache
def _parser() -> Any:
    """markdown-it with rules that record the places of their tokens."""
    from markdown_it import MarkdownIt
    from markdown_it import rules_inline as rules

    parser = MarkdownIt("commonmark").enable("strikethrough")
    own = {
        "newline": rules.newline, "escape": rules.escape, "backticks": rules.backtick, "autolink": rules.autolink,
        "strikethrough": rules.strikethrough.tokenize, "emphasis": rules.emphasis.tokenize, "link": rules.link,
        "image": rules.image, "html_inline": rules.html_inline, "entity": rules.entity,
    }  # fmt: skip
    for name, rule in own.items():
        parser.inline.ruler.at(name, _recorded(rule, name))
    parser.inline.ruler.before("link", "note", _recorded(_matching(_NOTE, "["), "note"))
    parser.inline.ruler.before("link", "wiki", _recorded(_matching(_WIKI, "["), "wiki"))
    parser.inline.ruler.before("escape", "math", _recorded(_matching(_MATH, "$"), "math"))
    parser.inline.ruler.before("escape", "marked", _recorded(_matching(_MARKED, "="), "marked"))
    return parser


def _matching(expression: re.Pattern[str], first: str) -> Callable[[Any, bool], bool]:
    """A rule for text that a regular expression matches; its group, if it has one, opens markup around text."""

    def rule(state: Any, silent: bool) -> bool:
        match = expression.match(state.src, state.pos, state.posMax) if state.src[state.pos] == first else None
        if match is None:
            return False
        if not silent:
            state.push("code_inline", "code", 0).content = match[1] if expression.groups else match[0]
        state.pos = match.end()
        return True

    return rule


def _recorded(rule: Callable[[Any, bool], bool], name: str) -> Callable[[Any, bool], bool]:
    """A rule that also records the places of its tokens in the environment."""

    def run(state: Any, silent: bool) -> bool:
        if silent:
            return rule(state, True)
        begin, bases = state.pos, state.env["bases"]
        label = begin + (name == "image")
        is_label = name in ("link", "image") and state.src[label : label + 1] == "["
        closed = state.md.helpers.parseLinkLabel(state, label, name == "link") if is_label else -1
        bases.append(bases[-1] + label + 1 if name == "image" else bases[-1])  # its text is parsed on its own
        first = len(state.tokens) + bool(state.pending and name == "link")
        done = rule(state, False)
        bases.pop()
        if done:
            state.env["places"].append((name, state.tokens[first:], bases[-1], begin, closed, state.pos, state.src))
        return done

    return run


def _markup(
    name: str, tokens: list[Any], base: int, begin: int, closed: int, end: int, source: str
) -> Iterator[tuple[int, int, str]]:
    """Begin, end and kind of the markup of a rule. Emphasis is only known after the whole text was parsed."""
    kinds = [token.type for token in tokens]
    if name in ("emphasis", "strikethrough"):
        step = 1 if name == "emphasis" else 2
        places = range(end, begin, -step)
        for token, place in zip(reversed(tokens), places, strict=False):
            kind, _, side = token.type.rpartition("_")
            if kind == "strong":
                yield (base + place - 2, base + place, token.type) if side == "open" else (
                    base + place - 1, base + place + 1, token.type,
                )  # fmt: skip
            elif kind in _PAIRS:
                yield base + place - step, base + place, token.type
    elif name in ("link", "image"):
        images = [token for token in tokens if token.type == "image"]
        others = [token for token in tokens if token.type not in ("image", "link_open", "link_close", "softbreak")]
        is_whole = bool(images) and not any(has_words(token.content) for token in others) and name == "link"
        if is_whole or (name == "image" and not has_words(source[begin:closed])):
            yield base + begin, base + end, "image"
        else:
            yield base + begin, base + begin + 1 + (name == "image"), f"{name}_open"
            yield base + closed, base + end, f"{name}_close"
    elif name in ("wiki", "marked") and (name == "marked" or "|" in source[begin:end]):
        opened = begin + 2 if name == "marked" else source.index("|", begin) + 1
        yield base + begin, base + opened, f"{name}_open"
        yield base + end - 2, base + end, f"{name}_close"
    elif "hardbreak" in kinds:
        spaces = len(source[:begin]) - len(source[:begin].rstrip(" "))
        yield base + begin - spaces, base + end, "hardbreak"
    elif name != "newline":
        yield base + begin, base + end, "html_inline" if name == "html_inline" else "code_inline"


def _named(text: str, found: list[tuple[int, int, str]]) -> Iterator[Markup]:
    """The markup with roles; a pair has a name of its own. What is inside another piece is left out."""
    opened, last = list[tuple[str, str]](), 0
    for number, (begin, end, kind) in enumerate(found):
        if begin < last:
            continue
        last = end
        if kind == "html_inline" and (closing := _end_of_opaque(text, found[number:])):
            last = closing
            yield Markup(begin, closing, kind)
        elif kind == "html_inline":
            yield Markup(begin, end, kind, *_tag(text[begin:end]))
        elif kind == "hardbreak":
            yield Markup(begin, end, kind, "break", "br")
        elif kind.endswith("_open"):
            opened.append((kind[:-5], f"{kind[:-5]}{begin}"))
            yield Markup(begin, end, kind, "open", opened[-1][1])
        elif kind.endswith("_close") and opened and opened[-1][0] == kind[:-6]:
            yield Markup(begin, end, kind, "close", opened.pop()[1])
        else:
            yield Markup(begin, end, kind, "alone", "image" if kind == "image" else "code")


def _end_of_opaque(text: str, found: list[tuple[int, int, str]]) -> int:
    """Where an element ends that begins with the first of these tags and is not translated; 0 if there is none."""
    begin, end, _ = found[0]
    tag = next(scan_tags(text[begin:end], html=True), None)
    if tag is None or tag.kind != "open" or not is_opaque(tag) or tag.name in VOID:
        return 0
    closing = f"</{tag.name}>"
    return next((end for begin, end, _ in found[1:] if text[begin:end].lower().replace(" ", "") == closing), 0)


def _tag(raw: str) -> tuple[Role, str]:
    """The role and name of a tag of HTML."""
    name = (re.match(r"</?([A-Za-z][\w-]*)", raw) or ["", "!"])[1].lower()
    if name == "br":
        return "break", "br"
    if raw.endswith("/>") or name in VOID or name == "!":
        return "alone", f"<{name}"
    return "close" if raw.startswith("</") else "open", f"<{name}"


_FRONT = re.compile(r"\A---[ \t]*\r?\n.*?\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_REFERENCE = re.compile(r"\s*\[(?:x|X| )\]\s+|\s*\[!\w+\]\s*")
_LINES = re.compile(r"(?:\A|\n|(?<=\n)):{3,}[^\n]*(?:\n|\Z)|\n:[ \t]+")
"""What other dialects than CommonMark have on lines of their own: containers (`:::tip`) and definitions (`: text`)."""
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_TAG_OR_CELL = re.compile(r"<(?=[A-Za-z/!?])|\|")
_SPECIAL = re.compile(r"[*_`\[\]<~\\|$]|&(?=#?\w+;)")
"""Characters that may be markup."""
_MARKUP = re.compile(r"[*_`\[\]<~\\!&$\n]")
_LIST_MARK = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*")
_LINE_MARK = re.compile(r"\n[ \t>]*")
_BLOCK_MARK = re.compile(
    r"(\d{1,9}(?=[.)](?:\s|\Z))|)(?=[-+*][ \t]|#{1,6}[ \t]|[>|]|~~~|`{3}|=+[ \t]*(?:\n|\Z)|[.)](?:\s|\Z))"
)
"""What would begin a list or a heading at the begin of a line."""


def markdown_units(text: str) -> list[Unit]:
    """The blocks of a file. Code, addresses and the metadata between `---` are not translated."""
    from markdown_it import MarkdownIt

    front = _FRONT.match(text)
    hidden = _FRONT.sub(lambda match: "\n" * match[0].count("\n"), text) if front else text
    offset = len(text) - len(hidden)
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    starts = _line_starts(hidden)
    units, taken = list[Unit](), 0
    environment: dict[str, Any] = {}
    for token in parser.parse(hidden, environment):
        if token.map is None:
            continue
        begin, end = (starts[min(line, len(starts) - 1)] for line in token.map)
        if token.type == "html_block":
            units += _shifted(html_units(hidden[begin:end]), begin + offset, token.map[0])
        elif token.type == "inline" and has_words(token.content):
            places = _find(hidden, token, max(begin, taken), end)
            if places:
                taken = places[-1][1]
                block = _Block(hidden, places, environment)
                if any(has_words(part) for part in block.parts if isinstance(part, str)):
                    units.append(block.unit(offset, token.map[0] + 1))
    return units


def _line_starts(text: str) -> list[int]:
    """Line starts as markdown-it counts lines, and the end of the text."""
    return [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text)), len(text)]


def _find(text: str, token: Any, begin: int, end: int) -> list[tuple[int, int]]:
    """Places of the lines of a block's content in the text; empty if they are not found."""
    places, place = list[tuple[int, int]](), begin
    for line in token.content.split("\n"):
        line = line.strip()
        if not line:
            continue
        found = text.find(line, place, end)
        if found < 0:
            found = text.find(line.replace("|", "\\|"), place, end)  # in tables
            line = line.replace("|", "\\|")
        if found < 0:
            return []
        place = found + len(line)
        places.append((found, place))
    return places


class _Block:
    """The text of a block and its inline markup."""

    def __init__(self, text: str, places: list[tuple[int, int]], environment: Mapping[str, Any]) -> None:
        self.environment = environment
        self.begin, self.end = places[0][0], places[-1][1]
        self._text, self._places = text, places
        lines = [text[first:last] for first, last in places]
        gaps = [text[last:place] for (_, last), (place, _) in pairwise(places)]
        lines = [
            line + gap[: len(gap) - len(gap.lstrip(" "))] + "\n" for line, gap in zip(lines, gaps, strict=False)
        ] + lines[-1:]
        self.source = "".join(lines)
        """The text as markdown-it reads it, without the marks of quotations and lists before its lines."""
        self._starts = [0, *accumulate(map(len, lines))][:-1]
        self._labels = dict[str, str]()
        """References with text, and how the file writes them if their text is their name."""
        head = _REFERENCE.match(self.source)
        self.parts = list(self._parts(head.end() if head else 0))
        start = text[text.rfind("\n", 0, self.begin) + 1 : self.begin]
        self.is_cell = "|" in start or "|" in text[self.end : self.end + 3]
        self.is_line = _LIST_MARK.fullmatch(start) is not None

    def _parts(self, head: int) -> Iterator[str | Code]:
        if head:
            yield Code(self._raw(0, head))
        place, opened = head, list[int]()
        for each in find_markup(self.source, self.environment):
            if each.begin >= place:
                yield from self._text_parts(place, each.begin)
                raw = self._raw(each.begin, each.end)
                if each.kind in ("link_open", "image_open"):
                    opened.append(each.end)
                elif each.kind in ("link_close", "image_close") and raw in ("]", "][]"):
                    label = self._raw(opened.pop(), each.begin)  # which is also the name of the address
                    self._labels[f"[{label}][{label}]"] = f"[{label}{raw}"
                    raw = f"][{label}]"
                elif each.kind in ("link_close", "image_close"):
                    opened.pop()
                yield Code(raw, each.role, each.name)
                place = each.end
        yield from self._text_parts(place, len(self.source))

    def _text_parts(self, begin: int, end: int) -> Iterator[str | Code]:
        """The text between two places, in one line but for lines that have to stay lines."""
        for match in _LINES.finditer(self.source, begin, end):
            yield self.source[begin : match.start()].replace("\n", " ")
            yield Code(self._raw(*match.span()), "break", "br")
            begin = match.end()
        yield self.source[begin:end].replace("\n", " ")

    def _raw(self, begin: int, end: int) -> str:
        """The text of the file for a part of the source."""
        return self._text[self._at(begin) : self._at(end)]

    def _at(self, place: int) -> int:
        line = bisect_right(self._starts, place) - 1
        return self._places[line][0] + place - self._starts[line]

    def unit(self, offset: int, line: int) -> Unit:
        """The unit of the block, which begins at a line of the file."""

        def write(new: str) -> Iterator[Splice]:
            yield Splice(self.begin + offset, self.end + offset, self._written(new, unit.codes))

        def limits(new: str) -> Iterator[str]:
            if not self._keeps_structure(self._written(new, unit.codes)):
                yield "markup changed"

        unit = make_unit(self.parts, write, line, limits)
        return unit

    def _written(self, text: str, codes: Sequence[Code]) -> str:
        """A translation with its markup. Where characters of its text would be further markup, they are escaped."""
        parts = list(parts_of(text, codes))
        plain = self._joined(parts, _TAG_OR_CELL if self.is_cell else _TAG)
        if self._keeps_structure(plain):
            return plain
        escaped = self._joined(parts, _SPECIAL)
        return escaped if self._keeps_structure(escaped) else plain

    def _joined(self, parts: list[str | Code], special: re.Pattern[str]) -> str:
        """The parts with certain characters of the text escaped."""
        whole = "".join(special.sub(r"\\\g<0>", each) if isinstance(each, str) else each.raw for each in parts)
        for full, short in self._labels.items():
            whole = whole.replace(full, short)
        begins_block = self.is_line and not (parts and isinstance(parts[0], Code))
        return _BLOCK_MARK.sub(r"\1\\", whole, count=1) if begins_block and _BLOCK_MARK.match(whole) else whole

    def _keeps_structure(self, text: str) -> bool:
        if not (_MARKUP.search(text) or _MARKUP.search(self.source)):
            return True  # saves two parses of plain text
        return structure(_LINE_MARK.sub("\n", text), self.environment) == self._own_structure

    @cached_property
    def _own_structure(self) -> Counter[str]:
        return structure(self.source, self.environment)


def _shifted(units: list[Unit], offset: int, lines: int) -> list[Unit]:
    def moved(unit: Unit) -> Unit:
        return unit._replace(
            line=unit.line + lines,
            write=lambda new: [Splice(begin + offset, end + offset, text) for begin, end, text in unit.write(new)],
        )

    return [moved(unit) for unit in units]
