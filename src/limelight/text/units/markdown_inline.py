"""Inline markup of Markdown, with its places in the text.

markdown-it parses the text. Its tokens have no places, so its rules are wrapped, and record them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from limelight.text.found import Role
from limelight.text.units.unit import has_words

_MATH = re.compile(r"\$\$.+?\$\$|(?<![\w$])\$(?=[^\s{])[^$\n]+?(?<=\S)\$(?![\w${])", re.DOTALL)
_NOTE = re.compile(r"\[\^[^\]\s]+\]")
_VOID = frozenset(re.findall(r"\w+", "area base br col embed hr img input link meta source track wbr"))
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
    parser.inline.ruler.before("escape", "math", _recorded(_matching(_MATH, "$"), "math"))
    return parser


def _matching(expression: re.Pattern[str], first: str) -> Callable[[Any, bool], bool]:
    """A rule for text that a regular expression matches."""

    def rule(state: Any, silent: bool) -> bool:
        match = expression.match(state.src, state.pos, state.posMax) if state.src[state.pos] == first else None
        if match is None:
            return False
        if not silent:
            state.push("code_inline", "code", 0).content = match[0]
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
    elif "hardbreak" in kinds:
        spaces = len(source[:begin]) - len(source[:begin].rstrip(" "))
        yield base + begin - spaces, base + end, "hardbreak"
    elif name != "newline":
        yield base + begin, base + end, "html_inline" if name == "html_inline" else "code_inline"


def _named(text: str, found: list[tuple[int, int, str]]) -> Iterator[Markup]:
    """The markup with roles; a pair has a name of its own. What is inside another piece is left out."""
    opened, last = list[tuple[str, str]](), 0
    for begin, end, kind in found:
        if begin < last:
            continue
        last = end
        if kind == "html_inline":
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


def _tag(raw: str) -> tuple[Role, str]:
    """The role and name of a tag of HTML."""
    name = (re.match(r"</?([A-Za-z][\w-]*)", raw) or ["", "!"])[1].lower()
    if name == "br":
        return "break", "br"
    if raw.endswith("/>") or name in _VOID or name == "!":
        return "alone", f"<{name}"
    return "close" if raw.startswith("</") else "open", f"<{name}"
