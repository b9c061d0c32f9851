"""The notations of variables, sections, escapes, commands, names and paths in the text of programs.

Each function finds the spans of one kind. `text/protectors.py` has them as protectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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


class Protector(NamedTuple):
    """Finds spans; they may overlap those of other protectors."""

    name: str
    find: Callable[[str], Iterable[Found]]


CODES = "codes"
"""The name of the protector of the codes of a unit (`units/unit.py`)."""
SECTION = "{"
"""Begins the name of a span that opens or closes a section: `{{#if x}}`, `[b]`, `\\textbf{`."""
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
_GLUED_LEFT = re.compile(r"(?<![\w}%$&\\/.])[A-Za-z_]{1,3}\Z")
_GLUED_RIGHT = re.compile(r"[A-Za-z0-9_]{1,3}(?![\w{])")

_LIKE_ESCAPES = frozenset(
    re.findall(r"\w+", "nabla neg neq newline newpage nmid noindent nu theta tan tau textrm times to top rangle rho")
)
"""Commands of LaTeX that begin like an escape."""
_ESCAPE = re.compile(
    r"\\(?:(?P<code>u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2})"
    r"|(?P<command>[A-Za-z]+\*?(?=(?P<braced>[{\[])?))"
    r"|(?P<sign>[\\0%&#_{}~$]))"
)
_TEXT_COMMANDS = frozenset(
    re.findall(
        r"\w+",
        "textbf textit textsf textsc textrm textsl emph underline text section subsection subsubsection chapter "
        "paragraph part caption title author footnote mbox",
    )
)
"""Commands of LaTeX whose argument is text."""
_GROUP = re.compile(r"(?<!\\)[{}\[\]]")
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
    r"|(?P<twice>(?<!\w)(?P<sign>[@#%!:_$])(?P=sign)[A-Za-z]\w{0,60}?(?P=sign){2}(?!\w))"  # @@name@@ __name__
    r"|\[\[[\w.:/#-]{1,100}\]\]|\[[A-Z]\d{1,4}[A-Z]\]"  # [[name]] [X12X]
    r"|@(?:\.[a-z]{1,20})?:(?:\([\w.-]{1,200}\)|\w+(?:[.-]\w+)*)"  # @:key @.lower:key
    r"|(?:(?<!\w):[\w+.-]{1,40}:)?(?<!`)(?P<ticks>``?)(?!`)[^`\n]{1,200}(?<!`)(?P=ticks)(?!`)_{0,2}"  # `x` :ref:`x`
    r"|(?<![\w:/.@)\]}\"'*`-]):[A-Za-z_]\w+:?(?![\w:])"  # :name :smile:
    rf"|(?<![\w{DASHES}])[{DASHES}]{{2}}[a-z](?:[\w\-\u2010\u2011]*[a-z0-9])?(?:=[^\s,;\"']+)?(?![\w-])"  # --flag
    r"|(?<=[\s(\[`\"'])(?:[-\u2010\u2011\u2212][a-z]{1,3}|[\u2012-\u2015][b-hj-np-xz])(?=[\s,;)\]`\"'])(?!\s-)"  # -v
    r"|(?<![\w.])(?:[A-Za-z_]\w{0,60}(?:\.|::|->)){0,8}[A-Za-z_]\w{0,60}\(\)"  # name()
    r"|(?<![\w.])(?:[a-z_]\w{0,60}\.){0,8}[a-z_]\w{0,60}\((?:'[^'()]{0,100}'|\"[^\"()]{0,100}\")\)"  # t('x')
    r"|(?<=[\"'“„`])[a-z_]\w{0,60}(?:\.[a-z_]\w{0,60}){1,8}(?=[\"'”“`])"  # "theme.inherit"
    r"|@[a-z]+\((?:'[^'()]{0,100}'|\"[^\"()]{0,100}\")\)"  # @lang('x')
    r"|(?<![\w@])@(?=[^\s@])[^@\n]{1,200}(?<=\S)@(?![\w@])"  # @x y@
    r"|(?<![\w!])![\w./:%-]{1,200}\.(?:gif|jpe?g|png|svg|webp)(?:\([^()\n]{0,200}\))?!(?::[^\s,;\"']*[\w/])?"  # !x.png!
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
_LINK = re.compile(r'(?<![\w"])"(?=\S)[^"\n]{1,300}(?P<to>":(?:https?://|mailto:|[/#])(?:[^\s<>"]*[\w/])?)')
_BLOCK = re.compile(r"\s*(?:(?:h[1-6]|bq|fn\d)(?=[.({<>=])|p(?=[({]))(?:\([^()]*\)|\{[^{}]*\}|[<>=])*\.\.? (?=\S)")
"""The beginning of a heading, a quotation or a paragraph of Textile."""
_SIGN = re.compile(r"[-&<>=!|→←↑↓↔⇒•·](?:\s|\Z)|\|")
_SIGNS = re.compile(
    r"(?<!\S)(?:&|<|>|<=|>=|==|!=|->|<-|=>|<->|→|←|↑|↓|↔|⇒|•|·|\||\|\||&&)(?!\S)"
    r"|(?<=[\w.!?…])\|(?=[A-Z\u00c0-\u00de{\[:])"
)


def find_templates(text: str) -> Iterator[Found]:
    """Variables and sections of template languages: `{{x}}`, `{{#if x}}`, `{% if x %}`, `{# x #}`, `<%= x %>`."""
    if "{" in text or "<" in text:
        closed = _closed(text)
        yield from (_template(match, text, closed) for match in _TEMPLATE.finditer(text))


def find_variables(text: str) -> Iterator[Found]:
    """Variables in single braces: `{x}`, `{0:.2f}`, `${x}`, `%{x}`, `{ NUMBER($x) }`, `{/link}`."""
    if "{" in text:
        closed = _closed(text)
        for match in _VARIABLE.finditer(text):
            found = _template(match, text, closed)
            yield found._replace(role="sequential") if match["sequential"] is not None else found


def _closed(text: str) -> frozenset[str]:
    """The sections that end in a text, such as `{/link}`."""
    return frozenset(_END_OF_SECTION.findall(text)) if "{/" in text else frozenset()


def _template(match: re.Match[str], text: str, closed: frozenset[str]) -> Found:
    """A template with its role: a section has two tags."""
    begin, end = match.span()
    role, name = _section(match[0], closed)
    return Found(begin, end, role, name) if name else glued(text, begin, end)


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


def glued(text: str, begin: int, end: int) -> Found:
    """A variable with up to three letters or digits that are written together with it: `{n}px`, `v{x}`."""
    left = _GLUED_LEFT.search(text[max(0, begin - 4) : begin])
    right = _GLUED_RIGHT.match(text, end)
    return Found(begin - len(left[0]) if left else begin, right.end() if right else end)


def find_escapes(text: str) -> Iterator[Found]:
    """Escapes, of which `\\n` ends a line, and commands of LaTeX; the argument of `\\textbf` and others is text."""
    if "\\" not in text:
        return
    closing, groups = dict[int, int](), _groups(text)
    for match in _ESCAPE.finditer(text):
        begin, end = match.span()
        command = match["command"]
        if command is None:
            yield Found(begin, end)
        elif command in _LIKE_ESCAPES or command[0] not in "nrtfvb" or (match["braced"] and len(command) > 1):
            yield from _command(text, begin, end, command, groups, closing)
        else:
            yield Found(begin, begin + 2, "break" if command[0] in "nr" else "alone")
    yield from (Found(place, place + 1, "close", f"{SECTION}\\{opened}") for place, opened in closing.items())


def _groups(text: str) -> dict[int, int]:
    """Where each group in braces or brackets ends."""
    ends, opened = dict[int, int](), list[int]()
    for match in _GROUP.finditer(text):
        if match[0] in "{[":
            opened.append(match.start())
        elif opened and (text[opened[-1]] == "{") == (match[0] == "}"):
            ends[opened.pop()] = match.end()
    return ends


def _command(
    text: str, begin: int, end: int, command: str, groups: Mapping[int, int], closing: dict[int, int]
) -> Iterator[Found]:
    """A command of LaTeX with its arguments; if the last one is text, that is outside, and its end is noted."""
    while end in groups:
        if command.rstrip("*") in _TEXT_COMMANDS and text[end] == "{":
            closing[groups[end] - 1] = begin
            yield Found(begin, end + 1, "open", f"{SECTION}\\{begin}")
            return
        end = groups[end]
    if end - begin > 2 or text[begin:end] in ("\\%", "\\&"):
        yield Found(begin, end)


def find_math(text: str) -> Iterator[Found]:
    """Formulas of LaTeX: `$x^2$`, `\\(x\\)`. A price such as `$5` is none."""
    if "$" in text or "\\" in text:
        yield from (Found(*match.span()) for match in _MATH.finditer(text))


def find_names(text: str) -> Iterator[Found]:
    """Names with signs: `$x`, `%PATH%`, `[[x]]`, `__X1__`, `@:key`, `:name`, `--flag`, `name()`; code in backticks, and
    `a.b` in quotes."""
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
    """Markup in brackets: `[b]` and `[/b]` where both are there, `[[page|` and `]]`; links and beginnings of blocks of
    Textile: `"text":https://a.org`, `h1. `."""
    for match in _LINK.finditer(text) if '":' in text else ():
        yield Found(match.start(), match.start() + 1, "open", f'{SECTION}"')
        yield Found(*match.span("to"), "close", f'{SECTION}"')
    if ". " in text and (block := _BLOCK.match(text)):
        yield Found(*block.span(), name="textile")
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


def is_sign(text: str) -> bool:
    """Whether a span is a sign between words, such as an arrow."""
    return _SIGNS.fullmatch(text) is not None


def find_signs(text: str) -> Iterator[Found]:
    """Signs between spaces: `&`, `>`, `->`, an arrow; `|`, which divides the forms of a plural or the parts of a title,
    also without spaces before a capital or a bracket."""
    if _SIGN.search(text):
        for match in _SIGNS.finditer(text):
            yield Found(*match.span(), "break" if match[0] == "|" else "alone")
