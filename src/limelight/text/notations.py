"""The notations of variables, sections, escapes, commands, names and paths in the text of programs.

Each function finds the spans of one kind. `text/protectors.py` has them as protectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

Role = Literal["alone", "open", "close", "sequential", "break", "space"]
"""`open` and `close` for the tags of an element; `sequential` for a positional argument such as `%s`: several of them
have to keep their order; `break` for the end of a line (`<br>`), `{{else}}` or `|`, which no sentence crosses; `space`
for white space (`&nbsp;`), which separates words; `alone` for all others."""


class Found(NamedTuple):
    """A span of a text."""

    begin: int
    end: int
    role: Role = "alone"
    name: str = ""
    """The name of a tag, or the first two characters of a comment or declaration. Empty for other spans."""
    text: str = ""
    """What the translation has instead, such as a number in the notation of its language; empty for the span itself."""


class Protector(NamedTuple):
    """Finds spans; they may overlap those of other protectors."""

    name: str
    find: Callable[[str], Iterable[Found]]


CODES = "codes"
"""The name of the protector of the codes of a unit (`units/unit.py`)."""
SECTION = "{"
"""Begins the name of a span that opens or closes a section: `{{#if x}}`, `[b]`."""
_CODE = r"(?:[^{}]|\{[^{}]{0,200}\}){0,500}+"
"""The inside of a template, which may have braces."""
_TEMPLATE = re.compile(
    rf"\{{\{{\{{{_CODE}\}}\}}\}}"  # {{{ x }}}
    rf"|(?:(?<!\w)@)?\{{\{{{_CODE}\}}\}}"  # {{ x | date: 'short' }} @{{ x }}
    r"|\{%(?:(?!%\}).){0,500}+%\}"  # {% if x %}
    r"|\{#(?=[\s-])(?:(?!#\}).){0,500}+#\}"  # {# a comment #}
    r"|\{!!(?:(?!!!\}).){0,500}+!!\}"  # {!! x !!}
    r"|<%(?:(?!%>).){0,500}+%>"  # <%= x %>
    r"|<\?(?:=|php\b)(?:(?!\?>).){0,500}+\?>",  # <?= x ?> <?php echo $x->name ?>
    re.DOTALL,
)
_VARIABLE = re.compile(
    r"(?P<sequential>\{(?:[!:][^{}\s]{0,50})?\})"  # {} {:.2f}
    r"|(?:[$%#&]|(?<![\w!?.])[~^@!])?\{(?:"
    r"\s{0,9}(?:[\w.$@\[\]-]|\?\.){0,200}\s{0,9}(?:[!:|][^{}\s]{0,50})?"  # {x} {0:.2f} ${x} %{x} &{x} { $x } {x?.y}
    r"|\s{0,9}[$@#/:^&>=.~`\"'-](?:[^{}]|\{[^{}]{0,200}\}){0,300}+"  # {#if x} {/if} {...x} {"x"} { -term(case: "x") }
    r"|\s{0,9}[A-Za-z_][\w.]{0,60}\([^{}()]{0,200}\)\s{0,9}"  # { NUMBER($x) } {x.f(2)}
    r"|\s{0,9}[\w.()\[\]!]{1,60} (?:\??\?|[=!]==?|[<>]=?|&&|\|\||=>) [^{}]{0,200}"  # {n > 1 ? "a" : "b"}
    r"|[\w.]{1,60} [-+*/%] [\w.]{1,60}"  # {total - 1}
    r")\}"
    r"|\$\{[!#]?\w{1,60}(?:\[[^\[\]{}]{0,60}\])?(?:[:#%/^,@=?+-][^{}]{0,200})?\}"  # ${x%.txt} ${x:-$y} ${#x[@]}
)
_END_OF_SECTION = re.compile(r"\{\{?/\w+(?=\})")
_KIND = re.compile(r"\{\{|\{%|<%|\{")
_MIDDLE = frozenset(re.findall(r"\w+", "else elif elseif elsif empty when case plural"))

_ESCAPE = re.compile(
    r"\\(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[A-Za-z]{2,}\*?(?=[{\[])"
    r"|(?P<line>[nr])|[tfvb]|[A-Za-z]{2,}\*?|[\\0%&#_{}~$])"
)
_MATH = re.compile(
    r"\$\$[^$]{1,1000}\$\$|\\\((?:(?!\\\)).){1,500}\\\)|\\\[(?:(?!\\\]).){1,1000}\\\]"
    r"|(?<![\w$\\])\$(?!\{)(?:[A-Za-z]|(?=[^\s$])[^$\n]{0,200}[\\^_=+][^$\n]{0,200}(?<=\S))\$(?![\w${])"
)

DASHES = r"\-\u2010-\u2015\u2212"
"""Hyphens, dashes and the minus sign, for a character class: typesetting makes others of the hyphens of options."""
_NAME = re.compile(
    r"(?P<shell>(?<![\w$])\$[A-Za-z_]\w*+(?:(?:->|\.|::)[A-Za-z_]\w*)*(?:\(\))?(?!\w*[$^]))"  # $name $a->b
    r"|(?<![\w$])\$\((?:[^()]|\([^()]{0,200}\)){1,200}\)"  # $(date)
    r"|(?<![\w%])%[A-Za-z_]\w*(?:[.-]\w+)*%(?!\w)|(?<![\w%])%\d+%"  # %PATH% %1%
    r"|(?<!\w)#[A-Za-z_]\w*#(?!\w)"  # #name#
    r"|(?<![\w@])@[A-Za-z_]\w*@(?!\w)"  # @PREFIX@
    r"|(?<![\w|])\|[A-Za-z][\w-]*\|_{0,2}(?![\w|])"  # |name|
    r"|(?P<sign>[@#%]|(?<!\w)[!:_$])(?P=sign)[A-Za-z]\w{0,60}?(?P=sign){2}(?:(?<=[@#%])|(?!\w))"  # @@name@@ __name__
    r"|\[\[[\w.:/#-]{1,100}\]\]|\[[A-Z]\d{1,4}[A-Z]\]"  # [[name]] [X12X]
    r"|@(?:\.[a-z]{1,20})?:(?:\([\w.-]{1,200}\)|\w+(?:[.-]\w+)*)"  # @:key @.lower:key
    r"|(?:(?<!\w):[\w+.-]{1,40}:)?(?<!`)(?P<ticks>``?)(?!`)[^`\n]{1,200}(?<!`)(?P=ticks)(?!`)_{0,2}"  # `x` :ref:`x`
    r"|(?<![\w:]):[a-z_]\w+:(?![\w:/])"  # :smile:
    rf"|(?<![\w{DASHES}])[{DASHES}]{{2}}[a-z](?:[\w\-\u2010\u2011]*[a-z0-9])?(?:=[^\s,;\"']+)?(?![\w-])"  # --flag
    r"|(?<=[\s(\[`\"'])(?:[-\u2010\u2011\u2212][a-z]|[\u2012-\u2015][b-hj-np-xz])(?=[\s,;)\]`\"'])(?!\s-)"  # -v
    r"|(?<![\w.])(?:[A-Za-z_]\w{0,60}(?:\.|::|->)){0,8}[A-Za-z_]\w{0,60}\(\)"  # name()
    r"|(?<![\w.])(?:[a-z_]\w{0,60}\.){0,8}[a-z_]\w{0,60}\((?:'[^'()]{0,100}'|\"[^\"()]{0,100}\")\)"  # t('x')
    r"|(?<=[\"'“„`])[a-z_]\w{0,60}(?:\.[a-z_]\w{0,60}){1,8}(?=[\"'”“`])"  # "theme.inherit"
    r"|@[a-z]+\((?:'[^'()]{0,100}'|\"[^\"()]{0,100}\")\)"  # @lang('x')
)
_PART_OF_NAME = re.compile(rf"[$%#@|\[`_(]|:\w|!\w|[{DASHES}][{DASHES}a-z]|\w\.[a-z_]")
_ARGUMENT = re.compile(r"(?<![\w$])\$[1-9](?![\d.,]*\d)")

_SUFFIX = (
    "bat bin bmp bz2 c cfg conf cpp cs css csv dat db deb dll doc docx env exe gif go gz h hpp htm html ico ini java "
    "jpeg jpg js json jsx lock log lua md mo mp3 mp4 odt pdf php pl png po pot ppt pptx ps1 py rb rpm rs rst scss sh "
    "so sql svg tar tex tgz toml ts tsv tsx ttf txt vue wav webp xhtml xls xlsx xml yaml yml zip"
)
_PART_OF_PATH = re.compile(r"[/\\]|\.[a-z]")
_PATH = re.compile(
    r"(?<![\w.:/\\@-])(?:"
    r"[A-Za-z]:\\(?:[\w.()~ -]{1,100}\\)*[\w.()~-]*[\w)~-]\\?"  # C:\Windows\x.txt
    r"|\\\\[\w.$-]+\\[\w.$\\-]*[\w$]"  # \\server\share
    r"|(?:~|\.{1,2})/(?:[\w.@*-]+/)*[\w.@*-]*\w/?"  # ~/x ./x ../x
    r"|/(?:[\w.@*-]+/)+(?:[\w.@*-]*\w)?|/[a-z][\w-]{2,}(?![\w/'’])"  # /usr/bin /help
    rf"|(?:[\w@-]+[/.](?=[\w@-]))++(?<=\.)(?:{_SUFFIX.replace(' ', '|')})(?![\w/.@-]*\w)"  # src/main.c
    r")"
)
_BRACKET = re.compile(r"\[(?P<close>/?)(?P<name>[A-Za-z][\w-]{0,30})(?:[= ][^\[\]\n]{0,300})?\]")
_WIKI = re.compile(r"\[\[[^\[\]|\n]{1,200}\||\]\]")


def find_templates(text: str) -> Iterator[Found]:
    """Variables and sections of template languages: `{{x}}`, `{{#if x}}`, `{% if x %}`, `{# x #}`, `<%= x %>`."""
    if "{" in text or "<" in text:
        closed = _closed(text)
        yield from (_template(match, closed) for match in _TEMPLATE.finditer(text))


def find_variables(text: str) -> Iterator[Found]:
    """Variables in single braces: `{x}`, `{0:.2f}`, `${x}`, `%{x}`, `{ NUMBER($x) }`, `{/link}`."""
    if "{" in text:
        closed = _closed(text)
        for match in _VARIABLE.finditer(text):
            found = _template(match, closed)
            yield found._replace(role="sequential") if match["sequential"] is not None else found


def _closed(text: str) -> frozenset[str]:
    """The sections that end in a text, such as `{/link}`."""
    return frozenset(_END_OF_SECTION.findall(text)) if "{/" in text else frozenset()


def _template(match: re.Match[str], closed: frozenset[str]) -> Found:
    """A template with its role: a section has two tags."""
    begin, end = match.span()
    role, name = _section(match[0], closed)
    return Found(begin, end, role, name)


def _section(raw: str, closed: frozenset[str]) -> tuple[Role, str]:
    """The role and name of a template that begins, divides or ends a section; no name for others."""
    match = _KIND.match(raw)
    if match is None or raw.startswith(("{{{", "{{!", "{!", "{# ", "<%=", "<%#")):
        return "alone", ""
    kind = match[0]
    inner = raw[len(kind) :].strip("-~+_%> \t\r\n").removesuffix("}" * kind.count("{")).strip("-~+% \t\r\n")
    word = next(iter(re.findall(r"[\w.@]+", inner)), "")
    if word in _MIDDLE:
        return "break", f"{SECTION}else"
    if kind == "{%":
        return ("close", f"{SECTION}%{word[3:]}") if word.startswith("end") else ("open", f"{SECTION}%{word}")
    if kind == "<%":
        if inner.startswith("}") or inner == "end":
            return "close", f"{SECTION}<"
        opens = inner.endswith("{") or re.match(r"(?:if|unless|for|while|case)\b", inner) or re.search(r"\bdo\b", inner)
        return ("open", f"{SECTION}<") if opens else ("alone", "")
    if inner[:1] in ("#", "^", "/") and word:
        return "close" if inner[0] == "/" else "open", f"{SECTION}{kind}{word}"
    if f"{kind}/{inner}" in closed:
        return "open", f"{SECTION}{kind}{word}"
    return "alone", ""


def find_escapes(text: str) -> Iterator[Found]:
    """Escapes, of which `\\n` ends a line, and names of commands, such as those of LaTeX."""
    if "\\" in text:
        yield from (Found(*match.span(), "break" if match["line"] else "alone") for match in _ESCAPE.finditer(text))


def find_math(text: str) -> Iterator[Found]:
    """Formulas of LaTeX: `$x^2$`, `\\(x\\)`. A price such as `$5` is none."""
    if "$" in text or "\\" in text:
        yield from (Found(*match.span()) for match in _MATH.finditer(text))


def find_names(text: str) -> Iterator[Found]:
    """Names with signs: `$x`, `%PATH%`, `[[x]]`, `__X1__`, `@:key`, `:smile:`, `--flag`, `name()`; code in backticks,
    and `a.b` in quotes."""
    if not _PART_OF_NAME.search(text):
        return
    yield from (Found(*match.span()) for match in _NAME.finditer(text))
    arguments = list(_ARGUMENT.finditer(text)) if "$" in text else []
    if any(match[0] == "$1" for match in arguments):  # else they are prices
        yield from (Found(*match.span()) for match in arguments)


def find_paths(text: str) -> Iterator[Found]:
    """Paths and names of files: `/usr/bin`, `~/x`, `C:\\x`, `src/main.c`, `notes.txt`."""
    if _PART_OF_PATH.search(text):
        yield from (Found(*match.span()) for match in _PATH.finditer(text))


def find_brackets(text: str) -> Iterator[Found]:
    """Markup in brackets: `[b]` and `[/b]` where both are there, `[[page|` and `]]`."""
    if "[" not in text:
        return
    found = list(_BRACKET.finditer(text)) if "[/" in text else []
    closed = {match["name"].lower() for match in found if match["close"]}
    for match in found:
        if match["name"].lower() in closed:
            yield Found(*match.span(), "close" if match["close"] else "open", f"{SECTION}[{match['name'].lower()}")
    opened = 0
    for match in _WIKI.finditer(text) if "[[" in text else ():
        opens = match[0] != "]]"
        if opens or opened:
            yield Found(*match.span(), "open" if opens else "close", f"{SECTION}[[")
        opened += 1 if opens else -1 if opened else 0
