"""Units of Markdown: headings, paragraphs, list items, table cells. Inline markup becomes codes and is unchanged.

markdown-it parses the text. Its inline tokens have no positions, so its rules are wrapped, and add them.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from itertools import accumulate
from typing import Any

from limelight.formats.html import FRONT, html_units, scan_tags
from limelight.formats.unit import Code, Splice, Unit, has_words, make_unit, parts_of
from limelight.text.marking import Found

_KEPT = re.compile(
    r"\$\$.+?\$\$|(?<![\w$])\$(?=[^\s{])[^$\n]+?(?<=\S)\$(?![\w${])|\[\^[^\[\]\s]+\]|\[\[[^\[\]\n]+\]\]", re.DOTALL
)
"""Formulas, notes and wiki links, which CommonMark does not have."""
_HIGHLIGHT = re.compile(
    r"^(\{[%{][<%]?)[ \t]*highlight\b(?:(?!^\1[ \t]*highlight\b).)*?^\1[ \t]*(?:/[ \t]*|end)highlight\b[^\n]*",
    re.DOTALL | re.MULTILINE,
)
"""Code of Jekyll and Hugo."""
_CONTAINER = re.compile(
    r"^(?P<fence>`{3,}+(?![^\n]*`)|~{3,}+)[^\n]*+\n(?>(?:(?! {0,3}(?P=fence))[^\n]*\n)*)[^\n]*"
    r"|^(?P<head>(?:(?:!!!|\?{3}\+?|===\+?|:)[ \t]|\[\^[^\[\]\s]+\]:)[^\n]*\n)"
    r"(?P<body>(?:(?: {4}|\t)[^\n]*\n?|[ \t]*\r?\n)+)",
    re.MULTILINE,
)
"""Code between fences; or a container of MkDocs, a definition or a note, and its indented text, else read as code."""
_IMAGE = re.compile(r"!\[(?:[^\[\]\\]|\\.|\[[^\[\]]*\])*+\](?:\((?:[^()]|\([^()]*\))*+\)|\[[^\[\]]*\])?")
_NOTE = re.compile(r"\[\^[^\[\]\s]+\]:")
"""Begins a footnote, which needs a line of its own."""
_HEAD = re.compile(r"\s*\[(?:x|X| )\]\s+|\s*\[!\w+\]\s*")
"""The box of a task, and the kind of an alert."""
_LINES = re.compile(
    r"(?:\A|\n|(?<=\n)):{3,}[^\n]*(?:\n|\Z)|\n:[ \t]+"
    r"|\A(?:!!!|\?{3}\+?|===\+?)[ \t][^\n]*(?:\n|\Z)|\n\{:?[ \t]*[.#:][^\n{}]*\}[ \t]*(?=\n|\Z)"
)
"""Lines that CommonMark does not have: containers (`:::tip`, `!!! note`), definitions (`: text`) and attributes."""
_SPECIAL = re.compile(r"[*_`\[\]<~\\|$]|&(?=#?\w+;)")
"""Characters that may be markup."""
_LIST_MARK = re.compile(r"(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*")
_LINE_MARK = re.compile(r"\r?\n[ \t>]*")
_BLOCK_MARK = re.compile(
    r"(\d{1,9}(?=[.)](?:\s|\Z))|)(?=[-+*][ \t]|#{1,6}[ \t]|[>|]|~~~|`{3}|=+[ \t]*(?:\n|\Z)|[.)](?:\s|\Z))"
)
"""What would begin a list or a heading at the begin of a line."""


def _unindented(match: re.Match[str]) -> str:
    """A container with its text as other text."""
    return match[0] if match["fence"] else match["head"] + re.sub(r"(?m)^(?: {4}|\t)", "", match["body"])


def markdown_units(text: str) -> list[Unit]:
    """The blocks of a file. Code, addresses and the metadata at the beginning are not translated."""
    from markdown_it import MarkdownIt

    hidden = text
    for expression in (FRONT, _HIGHLIGHT):
        hidden = expression.sub(lambda match: re.sub(r"[^\r\n]", " ", match[0]), hidden)
    hidden = _CONTAINER.sub(_unindented, hidden)
    starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", text)), len(text)]
    units, taken, environment = list[Unit](), 0, dict[str, Any]()
    for token in MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(hidden, environment):
        if token.map is None:
            continue
        begin, end = (starts[min(line, len(starts) - 1)] for line in token.map)
        if token.type == "html_block":
            is_quoted = ">" in text[begin : text.find("<", begin)]
            units += (unit for unit in html_units(text, span=(begin, end)) if not (is_quoted and ">" in unit.text))
        elif token.type == "inline" and has_words(token.content):
            places = _find_lines(text, token.content, max(begin, taken), end)
            if places:
                taken = places[-1][1]
                unit = _Block(text, places, environment).unit(token.map[0] + 1)
                units += [unit] * has_words(unit.text)
    return units


def _find_lines(text: str, content: str, begin: int, end: int) -> list[tuple[int, int]]:
    """Begin and end of each line of a block's content in the text; empty if a line is not found."""
    places = list[tuple[int, int]]()
    for line in filter(None, map(str.lstrip, content.split("\n"))):
        match = re.compile(re.escape(line).replace(r"\|", r"\\?\|")).search(text, begin, end)
        if match is None:
            return []
        places.append(match.span())
        begin = match.end()
    return places


class _Block:
    """The text of a block and its inline markup."""

    def __init__(self, text: str, places: list[tuple[int, int]], environment: Mapping[str, Any]) -> None:
        self._text, self._places, self._environment = text, places, environment
        self.begin, self.end = places[0][0], places[-1][1]
        self.source = "\n".join(text[first:last] for first, last in places)
        """The text as markdown-it reads it, without the marks of quotations and lists before its lines."""
        self._starts = [0, *accumulate(last - first + 1 for first, last in places)][:-1]
        self.parts = list(self._parts())
        start = text[text.rfind("\n", 0, self.begin) + 1 : self.begin]
        self.is_cell = "|" in start or "|" in text[self.end : self.end + 3]
        self.is_line = _LIST_MARK.fullmatch(start) is not None

    def _parts(self) -> Iterator[str | Code]:
        head, opened = _HEAD.match(self.source), dict[str, int]()
        position = head.end() if head else 0
        if head:
            yield Code(self._raw(0, position))
        for markup in find_markup(self.source, self._environment):
            if markup.begin < position:
                continue
            yield from self._text_parts(position, markup.begin)
            raw, position = self._raw(markup.begin, markup.end), markup.end
            if markup.role == "open":
                opened[markup.name] = position
            elif markup.name in opened and raw in ("]", "][]"):  # the text also names the address, which stays
                raw = f"][{self._raw(opened[markup.name], markup.begin)}]"
            yield Code(raw, markup.role, markup.name or "code")
        yield from self._text_parts(position, len(self.source))

    def _text_parts(self, begin: int, end: int) -> Iterator[str | Code]:
        """The text between two positions, in one line but for lines that have to stay lines."""
        for match in _LINES.finditer(self.source, begin, end):
            yield self.source[begin : match.start()].replace("\n", " ")
            yield Code(self._raw(*match.span()), "break", "br")
            begin = match.end()
        is_next = self.source[begin:end].endswith("\n") and _NOTE.match(self.source, end)
        last = end - 1 if is_next else end
        yield self.source[begin:last].replace("\n", " ")
        if is_next:
            yield Code(self._raw(last, end), "break", "br")

    def _raw(self, begin: int, end: int) -> str:
        """The text of the file for a part of the source."""
        return self._text[self._file_position(begin) : self._file_position(end)]

    def _file_position(self, position: int) -> int:
        line = bisect_right(self._starts, position) - 1
        return self._places[line][0] + position - self._starts[line]

    def unit(self, line: int) -> Unit:
        """The unit of the block, which begins at a line of the file."""

        def write(new: str) -> Iterator[Splice]:
            yield Splice(self.begin, self.end, self._written(new, unit.codes))

        def limits(new: str) -> Iterator[str]:
            if not self._keeps_structure(self._written(new, unit.codes)):
                yield "markup changed"

        unit = make_unit(self.parts, write, line)
        return unit._replace(limits=limits)

    def _written(self, text: str, codes: Sequence[Code]) -> str:
        """A translation with its markup. Where characters of its text would be further markup, they are escaped."""
        parts = list(parts_of(text, codes))
        plain = self._joined(parts, lambda part: part.replace("|", "\\|") if self.is_cell else part)
        if self._keeps_structure(plain):
            return plain
        escaped = self._joined(parts, lambda part: _SPECIAL.sub(r"\\\g<0>", part))
        return escaped if self._keeps_structure(escaped) else plain

    def _joined(self, parts: list[str | Code], escape: Callable[[str], str]) -> str:
        joined = "".join(escape(part) if isinstance(part, str) else part.raw for part in parts)
        begins_block = self.is_line and _BLOCK_MARK.match(joined) and isinstance(parts[0], str)
        return _BLOCK_MARK.sub(r"\1\\", joined, count=1) if begins_block else joined

    def _keeps_structure(self, text: str) -> bool:
        return structure(_LINE_MARK.sub("\n", text), self._environment) == self._structure

    @cached_property
    def _structure(self) -> Counter[str]:
        return structure(self.source, self._environment)


def structure(text: str, environment: Mapping[str, Any]) -> Counter[str]:
    """The tags of a text, each with the tags around it and its addresses, without the text."""

    def walk(tokens: list[Any], around: tuple[str, ...]) -> Iterator[str]:
        for token in tokens:
            if token.nesting < 0:
                around = around[:-1]
            elif token.type not in ("text", "softbreak", "text_special"):
                own = f"{token.type} {token.content} {sorted(token.attrs.items())}"
                yield " > ".join((*around, own))
                around = (*around, own) if token.nesting > 0 else around

    return Counter(walk(_parsed(text, environment), ()))


def find_markup(text: str, environment: Mapping[str, Any]) -> Iterator[Found]:
    """The markup of a paragraph in order, with roles; between them is text. Both parts of a pair have the same name,
    which begins with the kind: `em`, `link`.

    Args:
        environment: what markdown-it found in the document: the addresses of references.
    """
    spans, last = list[tuple[int, int, str]](), 0
    tokens = (token for token in _parsed(text, environment) if token.meta)
    for begin, end, kind in sorted((*token.meta["span"], token.meta["kind"] or token.type) for token in tokens):
        if kind not in ("text", "softbreak") and begin >= last:
            spans.append((begin - (kind == "strong_open"), end + (kind == "strong_close"), kind))
            last = spans[-1][1]
    ends, opened = dict[str, int](), list[str]()
    tags = {begin: _tag(text, begin, end, ends) for begin, end, kind in reversed(spans) if kind == "html_inline"}
    for begin, end, kind in spans:
        name, _, side = kind.rpartition("_")
        if kind == "html_inline":
            yield tags[begin]
        elif kind == "hardbreak":
            yield Found(begin, end, "break", "br")
        elif side == "open":
            opened.append(f"{name}{begin}")
            yield Found(begin, end, "open", opened[-1])
        elif side == "close" and opened:
            yield Found(begin, end, "close", opened.pop())
        else:
            yield Found(begin, end)


def _tag(text: str, begin: int, end: int, ends: dict[str, int]) -> Found:
    """A tag of HTML, or all of its element if that is not translated. `ends` are the ends of the next closing tags by
    name; a closing tag is added to them."""
    tag = next(scan_tags(text[begin:end], html=True), None)
    if tag is not None and tag.name == "br":
        return Found(begin, end, "break", "br")
    if tag is None or tag.kind not in ("open", "close"):
        return Found(begin, end)
    if tag.kind == "open" and tag.is_opaque:
        return Found(begin, ends.get(tag.name, end))
    if tag.kind == "close":
        ends[tag.name] = end
    return Found(begin, end, "close" if tag.kind == "close" else "open", f"<{tag.name}")


def _parsed(text: str, environment: Mapping[str, Any]) -> list[Any]:
    """The tokens of a text. Tokens of markup have their positions."""
    tokens = list[Any]()
    _parser().inline.parse(text, _parser(), environment, tokens)
    return tokens


@cache
def _parser() -> Any:
    """markdown-it with rules that add the positions of their tokens."""
    from markdown_it import MarkdownIt
    from markdown_it import rules_inline as rules

    parser = MarkdownIt("commonmark").enable("strikethrough")
    ruler = parser.inline.ruler
    ruler.before("escape", "dialect", _dialect)
    ruler.at("link", _link)
    ruler.at("image", partial(_link, opened="!["))  # so that its text has places in the same text
    for name, rule in (("emphasis", rules.emphasis.tokenize), ("strikethrough", rules.strikethrough.tokenize)):
        ruler.at(name, _located(rule, _locate_signs))
    kept = {
        "backticks": rules.backtick,
        "autolink": rules.autolink,
        "html_inline": rules.html_inline,
        "newline": rules.newline,
        "escape": rules.escape,
        "entity": rules.entity,
    }
    for name, rule in kept.items():
        ruler.at(name, _located(rule, _locate))
    return parser


Rule = Callable[[Any, bool], bool]


def _located(rule: Rule, locate: Callable[[Any, int, int], None]) -> Rule:
    def run(state: Any, silent: bool) -> bool:
        begin, tokens = state.pos, len(state.tokens)
        done = rule(state, silent)
        if done and not silent and len(state.tokens) > tokens:
            locate(state, begin, tokens)
        return done

    return run


def _mark(token: Any, begin: int, end: int, kind: str = "") -> None:
    """Set the position of a token, and its kind, by default its type, which emphasis gets only at the end."""
    token.meta = {"span": (begin, end), "kind": kind}


def _locate(state: Any, begin: int, _tokens: int) -> None:
    """All text of a rule is markup, with the spaces before the end of a line."""
    token = state.tokens[-1]
    if token.type == "hardbreak":
        begin = len(state.src[:begin].rstrip(" "))
    _mark(token, begin, state.pos, "code" if token.type == "link_close" else "")


def _locate_signs(state: Any, begin: int, tokens: int) -> None:
    """Every sign of emphasis is markup."""
    position = state.pos
    for token in reversed(state.tokens[tokens:]):
        if position > begin:
            _mark(token, position - len(token.content), position)
            position -= len(token.content)


def _link(state: Any, silent: bool, opened: str = "[") -> bool:
    from markdown_it.rules_inline import link

    begin = state.pos
    if not state.src.startswith(opened, begin):
        return False
    tokens, label = len(state.tokens), begin + len(opened)
    state.pos = label - 1
    if not link(state, silent):
        state.pos = begin
        return False
    if not silent:
        closed = state.md.helpers.parseLinkLabel(state, label - 1, True)
        first = next(token for token in state.tokens[tokens:] if token.type == "link_open")
        first.attrs["opened"] = opened
        if not has_words(_IMAGE.sub("", state.src[label:closed])):  # or only images with an address
            _mark(first, begin, state.pos, "code")
        else:
            _mark(first, begin, label)
            _mark(state.tokens[-1], closed, state.pos)
    return True


def _dialect(state: Any, silent: bool) -> bool:
    match = _KEPT.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("code", "", 0)
        token.content = match[0]
        _mark(token, *match.span())
    state.pos = match.end()
    return True
