"""Find spans that a translation must keep unchanged: tags, variables, addresses, matches of the user's patterns.

A protector finds spans in a text. `PROTECTORS` has the predefined ones; `pattern` makes others. Where an expression has
a group with the name of a role, its matches with this group have this role.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, cast, get_args

from limelight.errors import UserError
from limelight.text.checks import ADDRESS
from limelight.text.marking import CODES, MARK, Found, Protector, Role, mark_number

SECTION = "{"
"""Begins the name of a span that opens or closes a section: `{{#if x}}`, `[b]`."""
# Templates and variables. Groups are atomic: before Python 3.11.5, possessive quantifiers of groups do not match
# (CPython issue 106052).

_CODE = r"(?>(?:[^{}]|\{[^{}]{0,200}\}){0,500})"
"""The inside of a template, which may have braces."""
_TEMPLATE = re.compile(
    rf"\{{\{{\{{{_CODE}\}}\}}\}}"  # {{{ x }}}
    rf"|(?:(?<!\w)@)?\{{\{{{_CODE}\}}\}}"  # {{ x | date: 'short' }} @{{ x }}
    r"|\{%(?>(?:(?!%\}).){0,500})%\}"  # {% if x %}
    r"|\{#(?=[\s-])(?>(?:(?!#\}).){0,500})#\}"  # {# a comment #}
    r"|\{!!(?>(?:(?!!!\}).){0,500})!!\}"  # {!! x !!}
    r"|<%(?>(?:(?!%>).){0,500})%>"  # <%= x %>
    r"|<\?(?:=|php\b)(?>(?:(?!\?>).){0,500})\?>",  # <?= x ?> <?php echo $x->name ?>
    re.DOTALL,
)
_VARIABLE = re.compile(
    r"(?P<sequential>\{(?:[!:][^{}\s]{0,50})?\})"  # {} {:.2f}
    r"|(?:[$%#&]|(?<![\w!?.])[~^@!])?\{(?:"
    r"\s{0,9}(?:[\w.$@\[\]-]|\?\.){0,200}\s{0,9}(?:[!:|][^{}\s]{0,50})?"  # {x} {0:.2f} ${x} %{x} &{x} { $x } {x?.y}
    r"|\s{0,9}[$@#/:^&>=.~`\"'-](?>(?:[^{}]|\{[^{}]{0,200}\}){0,300})"  # {#if x} {/if} {...x} { -term(case: "x") }
    r"|\s{0,9}[A-Za-z_][\w.]{0,60}\([^{}()]{0,200}\)\s{0,9}"  # { NUMBER($x) } {x.f(2)}
    r"|\s{0,9}[\w.()\[\]!]{1,60} (?:\??\?|[=!]==?|[<>]=?|&&|\|\||=>) [^{}]{0,200}"  # {n > 1 ? "a" : "b"}
    r"|[\w.]{1,60} [-+*/%] [\w.]{1,60}"  # {total - 1}
    r")\}"
    r"|\$\{[!#]?\w{1,60}(?:\[[^\[\]{}]{0,60}\])?(?:[:#%/^,@=?+-][^{}]{0,200})?\}"  # ${x%.txt} ${x:-$y} ${#x[@]}
)
_SECTION = re.compile(r"(?P<kind>\{\{?|\{%)[-+~]?\s*(?P<sign>[#^/](?=\w)|end(?=\w))?\s*(?P<name>[\w.@]+)")
_ENDS = re.compile(r"\{/[\w.@]+\}"), re.compile(r"\{\{/[\w.@]+\}\}")
_MIDDLE = frozenset(re.findall(r"\w+", "else elif elseif elsif empty when case plural"))
"""Words that divide a section."""

# Escapes, names and paths.

_ESCAPE = re.compile(
    r"\\(?:u[0-9A-Fa-f]{4}|u\{[0-9A-Fa-f]{1,6}\}|U[0-9A-Fa-f]{8}|x[0-9A-Fa-f]{2}|[A-Za-z]{2,}\*?(?=[{\[])"
    r"|(?P<break>[nr])|[tfvb]|[A-Za-z]{2,}\*?|[\\0%&#_{}~$])"
)
_MATH = re.compile(
    r"\$\$[^$]{1,1000}\$\$|\\\((?:(?!\\\)).){1,500}\\\)|\\\[(?:(?!\\\]).){1,1000}\\\]"
    r"|(?<![\w$\\])\$(?!\{)(?:[A-Za-z]|(?=[^\s$])[^$\n]{0,200}[\\^_=+][^$\n]{0,200}(?<=\S))\$(?![\w${])"
)

_DASHES = r"\-\u2010-\u2015\u2212"
"""Hyphens, dashes and the minus sign, for a character class: typesetting makes others of the hyphens of options."""
_NAME = re.compile(
    r"(?P<shell>(?<![\w$])\$[A-Za-z_]\w*+(?:(?:->|\.|::)[A-Za-z_]\w*+)*(?:\(\))?(?!\w*[$^]))"  # $name $a->b
    r"|(?<![\w$\\])\$[A-Za-z]\w{1,60}\$(?![\w$])"  # $USER$
    r"|(?<![\w$])\$\((?:[^()]|\([^()]{0,200}\)){1,200}\)"  # $(date)
    r"|(?<![\w%])%[A-Za-z_]\w*(?:[.-]\w+)*%(?!\w)|(?<![\w%])%\d+%"  # %PATH% %1%
    r"|(?<!\w)#[A-Za-z_]\w*#(?!\w)"  # #name#
    r"|(?<![\w@])@[A-Za-z_]\w*@(?!\w)"  # @PREFIX@
    r"|(?<![\w|])\|[A-Za-z][\w-]*\|_{0,2}(?![\w|])"  # |name|
    r"|(?P<sign>[@#%]|(?<!\w)[:_$])(?P=sign)[A-Za-z]\w{0,60}?(?P=sign){2}(?:(?<=[@#%])|(?!\w))"  # @@name@@ __name__
    r"|\[\[[\w.:/#-]{1,100}\]\]|\[[A-Z]\d{1,4}[A-Z]\]"  # [[name]] [X12X]
    r"|@(?:\.[a-z]{1,20})?:(?:\([\w.-]{1,200}\)|\w+(?:[.-]\w+)*)"  # @:key @.lower:key
    r"|(?:(?<!\w):[\w+.-]{1,40}:)?(?<!`)(?P<ticks>``?)(?!`)[^`\n]{1,200}(?<!`)(?P=ticks)(?!`)_{0,2}"  # `x` :ref:`x`
    r"|(?<![\w:]):[a-z_]\w+:(?![\w:/])"  # :smile:
    rf"|(?<![\w{_DASHES}])[{_DASHES}]{{2}}[a-z](?:[\w\-\u2010\u2011]*[a-z0-9])?(?:=[^\s,;\"']+)?(?![\w-])"  # --flag
    r"|(?<=[\s(\[`\"'])(?:[-\u2010\u2011\u2212][a-z]|[\u2012-\u2015][b-hj-np-xz])(?=[\s,;)\]`\"'])(?!\s-)"  # -v
    r"|(?<![\w.])(?:[A-Za-z_]\w{0,60}(?:\.|::|->)){0,8}[A-Za-z_]\w{0,60}\(\)"  # name()
    r"|(?<![\w.])(?:[a-z_]\w{0,60}\.){0,8}[a-z_]\w{0,60}\((?:'[^'()]{0,100}'|\"[^\"()]{0,100}\")\)"  # t('x')
    r"|(?<=[\"'“„`])[a-z_]\w{0,60}(?:\.[a-z_]\w{0,60}){1,8}(?=[\"'”“`])"  # "theme.inherit"
    r"|@[a-z]+\((?:'[^'()]{0,100}'|\"[^\"()]{0,100}\")\)"  # @lang('x')
)
_ARGUMENT = re.compile(r"(?<![\w$])\$[1-9](?![\d.,]*\d)|(?<![\d%])%[1-9]\d?(?![\d$])")
_FIRST_ARGUMENT = re.compile(r"(?<![\w$])\$1(?![\d.,]*\d)|%L?1(?![\d$])")

_SUFFIX = (
    "bat bin bmp bz2 c cfg conf cpp cs css csv dat db deb dll doc docx env exe gif go gz h hpp htm html ico ini java "
    "jpeg jpg js json jsx lock log lua md mo mp3 mp4 odt pdf php pl png po pot ppt pptx ps1 py rb rpm rs rst scss sh "
    "so sql svg tar tex tgz toml ts tsv tsx ttf txt vue wav webp xhtml xls xlsx xml yaml yml zip"
)
_PATH = re.compile(
    r"(?<![\w.:/\\@-])(?:"
    r"[A-Za-z]:\\(?:[\w.()~ -]{1,100}\\)*[\w.()~-]*[\w)~-]\\?"  # C:\Windows\x.txt
    r"|\\\\[\w.$-]+\\[\w.$\\-]*[\w$]"  # \\server\share
    r"|(?:~|\.{1,2})/(?:[\w.@*-]+/){0,40}[\w.@*-]*\w/?"  # ~/x ./x ../x
    r"|/(?:[\w.@*-]+/)+(?:[\w.@*-]*\w)?|(?<![€$£¥])/[a-z][\w-]{2,}(?![\w/'’])"  # /usr/bin /help
    rf"|(?>(?:[\w@-]+[/.](?=[\w@-]))+)(?<=\.)(?:{_SUFFIX.replace(' ', '|')})(?![\w/.@-]*\w)"  # src/main.c
    r")"
)
_BRACKET = re.compile(r"\[(?P<close>/?)(?P<name>[A-Za-z][\w-]{0,30})(?:[= ][^\[\]\n]{0,300})?\]")
_WIKI = re.compile(r"\[\[[^\[\]|\n]{1,200}\||\]\]")


# Tags, directives and messages.

_IN_TAG = (
    r"(?:\{\{[^{}]{0,200}\}\}|\$?\{[^{}]{0,200}\}|%\(\w{1,50}\)s|%\{\w{1,50}\}|\{%[^{}]{0,200}%\}"
    r"|<%(?:(?!%>).){0,200}%>|<\?(?:(?!\?>).){0,200}\?>)"
)
"""A variable among the attributes of a tag."""
_VALUE = (
    r"""(?:"[^"]{0,4000}"|'[^']{0,4000}'|\\"[^"\\]{0,4000}\\"|\\'[^'\\]{0,4000}\\'"""
    rf"""|(?:{_IN_TAG}|[^\s"'<>=`{{}}\\])+)"""
)
_FLAGS = (
    "allowfullscreen async autofocus autoplay checked controls default defer disabled download formnovalidate hidden "
    "inert ismap itemscope loop multiple muted nomodule novalidate open playsinline readonly required reversed selected"
)
_TAG_NAME = r"[A-Za-z_][\w.-]*(?::[A-Za-z_][\w.-]*)?"
_ASSIGNED = rf"\s+[A-Za-z_@:#*(\[][\w.:@()\[\]-]*\s*=\s*{_VALUE}"
# An attribute without a value has to be one of HTML's: `a <b and c> d` is not a tag.
_ATTRIBUTE = rf"(?:{_ASSIGNED}|\s*{_IN_TAG}[\w:.-]{{0,50}}|\s+(?:{_FLAGS.replace(' ', '|')})(?=[\s/>]))"
_TAG = re.compile(rf"<(?P<close>/?)(?P<name>{_TAG_NAME})(?>(?:{_ATTRIBUTE}){{0,200}})\s*(?P<empty>/?)>")
_ANY_FLAG = re.compile(
    rf"<(?P<close>)(?P<name>{_TAG_NAME})(?>(?:{_ATTRIBUTE}|\s+[A-Za-z_@:#*(\[][\w.:@()\[\]-]*){{1,50}})\s*(?P<empty>/?)>"
)
"""Its attributes may be any; it counts where the element is closed."""
_CLOSING = re.compile(r"</([\w.:-]+)>")
_NUMBERED = re.compile(r"<(?P<close>/?)(?P<name>\d{1,3})\s*(?P<empty>/?)>")
"""Tags of react-i18next."""
_DECLARATION = re.compile(r"<\?[A-Za-z][^<>]*\?>|<![A-Za-z][^<>]*>")
_CDATA = re.compile(r"(?P<open><!\[CDATA\[)|(?P<close>\]\]>)")
"""Around text of applications, which is translated."""
VOID = tuple("area base br col embed hr img input link meta param source track wbr".split())  # noqa: SIM905
"""Elements of HTML that have no end."""

_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_CONVERSION = r"[-+#0']{0,5}(?:\d{1,5}|\*)?(?:\.(?:\d{1,5}|\*))?(?:hh?|ll?|[Lqjzt])?[diouxXeEfFgGaAcCsSpnr@]"
_PRINTF = re.compile(
    rf"%(?:\([\w. -]{{1,200}}\)|\d{{1,3}}\$|<\w{{1,50}}>){_CONVERSION}"  # %(x)s %1$s %<x>d
    r"|%(?:\d{1,3}\$)?#@\w{1,100}@"  # %#@dogs@
    rf"|(?P<sequential>(?<!\d)%(?!-[A-Za-z]){_CONVERSION})"  # %s; not 100%ig, nor 5 % der
    r"|(?<!\d)%L[1-9]\d?(?![\d$])"  # %L1, as Qt has it
    r"|%%"
)
_NESTED = re.compile(r"\$t\((?:[^()]|\([^()]*\)){0,500}\)")
_FORMATTED = re.compile(
    r"\{\s*[\w.-]+\s*,\s*(?:choice|number|date|time|spellout|ordinal|duration)\s*(?:,(?>(?:[^{}]|\{[^{}]*\}){0,500}))?\}"
)
MESSAGE = re.compile(r"\{\s*[\w.-]+\s*,\s*(?:plural|select|selectordinal)\s*,\s*(?:offset:\s*\d+\s*)?")
_BRANCH = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
_END = re.compile(r"\s*\}")
_BRACES = re.compile(r"[{}]|'[{}][^']*'")
"""Braces of ICU; what is quoted has none."""
_IN_BRANCHES = re.compile(r"'[{}#|][^']*'|#")


def _by(expression: re.Pattern[str], name: str = "") -> Protector:
    """Non-empty matches of a regular expression."""
    roles = sorted(expression.groupindex.keys() & {*get_args(Role)})

    def find(text: str) -> Iterator[Found]:
        for match in expression.finditer(text):
            if match[0]:
                role = next((role for role in roles if match[role]), "alone")
                yield Found(*match.span(), cast(Role, role), name)

    return find


def _by_all(*protectors: Protector) -> Protector:
    """The spans of several protectors."""
    return lambda text: (span for find in protectors for span in find(text))


def _tags(text: str) -> Iterator[Found]:
    """Tags of XML and HTML."""
    closed = set(_CLOSING.findall(text))
    for expression in (_TAG, _ANY_FLAG, _NUMBERED):
        for match in expression.finditer(text):
            name = match["name"]
            alone = match["empty"] or name.lower() in VOID
            role: Role = (
                "break" if name.lower() == "br" else "alone" if alone else "close" if match["close"] else "open"
            )
            if expression is _TAG or match["empty"] or name in closed:
                yield Found(*match.span(), role, name)


def _comments(text: str) -> Iterator[Found]:
    """Comments, declarations and processing instructions."""
    yield from (Found(*match.span(), name=match[0][:2]) for match in _DECLARATION.finditer(text))
    begin = text.find("<!--")
    while begin >= 0 and (end := text.find("-->", begin + 4)) >= 0:
        yield Found(begin, end + 3, name="<!--")
        begin = text.find("<!--", end)


def _templates(expression: re.Pattern[str]) -> Protector:
    """Variables and sections; a section has two tags, and perhaps others between them."""

    def find(text: str) -> Iterator[Found]:
        closings = {closing for end in _ENDS for closing in end.findall(text)}
        for span in _by(expression)(text):
            section = _SECTION.match(text, span.begin, span.end)
            if section is None or span.role != "alone":
                yield span
                continue
            kind, sign, name = section["kind"], section["sign"], section["name"]
            closing = f"{kind}/{name}{'}' * len(kind)}"
            is_open = sign in ("#", "^") or (kind == "{%" and not sign) or (not sign and closing in closings)
            if name in _MIDDLE and not sign:
                yield span._replace(role="break", name=f"{SECTION}else")
            elif sign in ("/", "end") or is_open:
                yield span._replace(role="open" if is_open else "close", name=SECTION + kind + name)
            else:
                yield span

    return find


def _messages(text: str) -> Iterable[Found]:
    """The syntax of ICU messages around their branches, whose text is translated: `{n, plural, one {`, `} other {` and
    `}}` around `# file` and `# files`. No sentence crosses it."""
    ends, opened, spans = dict[int, int](), list[int](), list[Found]()
    heads = list(MESSAGE.finditer(text))
    for brace in _BRACES.finditer(text) if heads else ():
        if brace[0] == "{":
            opened.append(brace.end())
        elif brace[0] == "}" and opened:
            ends[opened.pop()] = brace.start()
    for head in heads:
        begin, position, own = head.start(), head.end(), list[Found]()
        while (branch := _BRANCH.match(text, position)) and branch.end() in ends:
            own.append(Found(begin, branch.end(), "break"))
            begin = ends[branch.end()]
            position = begin + 1
        if own and (end := _END.match(text, position)):
            spans += [*own, Found(begin, end.end(), "break")]
    return [*spans, *(_by(_IN_BRANCHES)(text) if spans else ())]


def _arguments(text: str) -> Iterable[Found]:
    """`$1`, `$2`, `%1`, `%2`; where there is no first one, they are prices and shares."""
    spans = list(_by(_ARGUMENT)(text))
    return spans if _FIRST_ARGUMENT.search(text) else ()


def _brackets(text: str) -> Iterator[Found]:
    """Markup in brackets: `[b]` and `[/b]` where both are there, `[[page|` and `]]`."""
    matches = list(_BRACKET.finditer(text))
    closed = {match["name"].lower() for match in matches if match["close"]}
    for match in matches:
        if match["name"].lower() in closed:
            yield Found(*match.span(), "close" if match["close"] else "open", f"{SECTION}[{match['name'].lower()}")
    opened = 0
    for match in _WIKI.finditer(text):
        opens = match[0] != "]]"
        if opens or opened:
            yield Found(*match.span(), "open" if opens else "close", f"{SECTION}[[")
            opened += 1 if opens else -1


PROTECTORS: dict[str, Protector] = {
    "tags": _by_all(_tags, _comments, _by(_CDATA, "<![CDATA[")),
    "entities": _by(_ENTITY),
    "templates": _templates(_TEMPLATE),
    "variables": _templates(_VARIABLE),
    "printf": _by(_PRINTF),
    "nested": _by(_NESTED),
    "messages": _by_all(_messages, _by(_FORMATTED)),
    "addresses": _by_all(_by(ADDRESS), _by(re.compile(f"<(?:{ADDRESS.pattern})>"))),
    "escapes": _by(_ESCAPE),
    "math": _by(_MATH),
    "names": _by_all(_by(_NAME), _arguments),
    "paths": _by(_PATH),
    "brackets": _brackets,
}
"""`tags` of XML and HTML; `entities` (`&nbsp;`); `templates` (`{{x}}`, `{% if x %}`, `<%= x %>`); `variables` (`{x}`,
`${x}`, `%{x}`); `printf` (`%s`, `%(x)s`, `%1$s`); `nested` (`$t(x)`); `messages` of ICU (plural, select, date);
`addresses` (URLs, e-mail, names of hosts); `escapes` (`\\n`) and names of commands (`\\emph`); `math` (`$x^2$`);
`names` (`$x`, `%1`, `%PATH%`, `--flag`, `[[x]]`); `paths` (`/usr/bin`, `notes.txt`); `brackets` (`[b]`)."""

DEFAULT = tuple(PROTECTORS.values())
_PART_OF_SPAN = re.compile(rf"[<>&{{}}%$@\\|\[`_(#/]|\.\S|:\w|[{_DASHES}](?<!\w.)[{_DASHES}a-z]|{MARK.pattern}")
"""Every span of `DEFAULT` contains one of these, most sentences none."""


def pattern(expression: str) -> Protector:
    """A protector for the matches of a regular expression. A match of its group named `sequential`, if it has one, is
    `sequential`. Raises `UserError` for an invalid expression.

    Matching can take exponential time: use it only for trusted expressions.
    """
    try:
        return _by(re.compile(expression))
    except (re.error, OverflowError, RecursionError) as error:
        raise UserError(f"{expression!r} is not a valid regular expression: {error}") from None


def codes(kinds: Sequence[tuple[Role, str]]) -> Protector:
    """A protector for the codes of a unit (`formats/unit.py`), given the role and the name of each."""

    def find(text: str) -> Iterator[Found]:
        for match in CODES.finditer(text):
            number = mark_number(match[0])
            if number < len(kinds):
                yield Found(*match.span(), *kinds[number])

    return find


def outside(protector: Protector, spans: Callable[[str], Iterable[tuple[Any, ...]]]) -> Protector:
    """The spans of a protector that do not overlap others, such as terms of a glossary: tuples of begin, end, ..."""
    return lambda text: without_overlaps(protector(text), spans(text))


def without_overlaps(spans: Iterable[Found], others: Iterable[tuple[Any, ...]]) -> list[Found]:
    """The spans that do not overlap others: tuples of begin, end, ..."""
    covered = {position for begin, end, *_ in others for position in range(begin, end)}
    return [span for span in spans if covered.isdisjoint(range(span.begin, span.end))]


def find_spans(text: str, protectors: Sequence[Protector]) -> list[Found]:
    """The spans of a text in order, without overlaps: the first to begin takes precedence, then the longest.

    Characters of the text that would be interpreted as marks are always spans. A span that contains one code of a pair
    (`formats/unit.py`) without the other is left out, so that pairs of tags are not divided.
    """
    candidates = list[Found]()
    is_plain = not _PART_OF_SPAN.search(text)
    for protector in protectors:
        candidates += () if is_plain and protector in DEFAULT else protector(text)
    codes = [span for span in candidates if span.role != "alone" and CODES.fullmatch(text, span.begin, span.end)]
    candidates += (Found(*match.span()) for match in MARK.finditer(text))  # of equal spans the first ones are taken
    spans, begins = list[Found](), [code.begin for code in codes]
    for span in sorted(candidates, key=lambda span: (span.begin, -span.end)):
        inside = codes[bisect_left(begins, span.begin) : bisect_left(begins, span.end)]
        depths = [0, *accumulate(1 if code.role == "open" else -1 for code in inside)]
        is_whole = inside == [span] or min(depths) == depths[-1] == 0
        if is_whole and (not spans or span.begin >= spans[-1].end):
            spans.append(span)
    return spans
