"""Commands of a shell and statements of SQL in running text, which a translation keeps: `git rebase -i HEAD~3`,
`SELECT * FROM users`.

Words of a sentence may follow them, so they are recognized by their grammar: a command is one of the names below with
one of its subcommands or an option, and a statement begins with keywords in capitals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from limelight.text.notations import Found

_SUBCOMMANDS = {
    "git": "add am apply bisect blame branch checkout cherry-pick clean clone commit config diff fetch grep init log "
    "merge mv pull push rebase reflog remote reset restore revert rm show stash status submodule switch tag worktree",
    "p?npm": "add ci install publish remove run start test uninstall update",
    "pip3?": "freeze install list uninstall update",
    "docker|kubectl": "apply build compose delete exec get images logs ps pull push rm run start stop",
    "apt(?:-get)?": "install remove update upgrade",
    "systemctl": "daemon-reload disable enable reload restart start status stop",
}
_WITH_OPTIONS = "ls|rm|cp|mv|grep|chmod|chown|tar|ssh|scp|curl|wget|mkdir|ps|df|du|python3?|gcc|bash|java"
"""Commands that are only sure with an option, as some of them are words."""
_ARGUMENT = (
    r"(?:-{1,2}[A-Za-z][\w-]{0,40}(?:=[^\s,;]{1,100})?|(?:HEAD|origin|upstream)(?:[~^/@][\w~^/.{}-]{0,60})?(?<![.])"
    r"|main(?!\w)|master(?!\w)|--(?!\S))"
)
_NAMED = "|".join(
    rf"(?:{names}) (?:{'|'.join(sorted(words.split(), key=len, reverse=True))})(?![\w-])"
    for names, words in _SUBCOMMANDS.items()
)
_COMMAND = re.compile(
    rf"(?<![\w./-])(?:sudo )?(?:(?:{_NAMED})(?: {_ARGUMENT}){{0,8}}"
    rf"|(?:{_WITH_OPTIONS})(?: -{{1,2}}[\w-]{{1,40}}){{1,8}})"
)

_OPTION = re.compile(r"[a-z3] -{1,2}\w")
_ITEM = r"(?:\*|[\w.]{1,60}(?:\([^()\n]{0,60}\))?)"
_ITEMS = rf"{_ITEM}(?:, ?{_ITEM}){{0,20}}"
_VALUE = r"(?:'[^'\n]{0,60}'|\"[^\"\n]{0,60}\"|\([^()\n]{0,60}\)|[\w%]{1,60}(?:\.\w{1,60})?)"
_CONDITION = rf"{_ITEM} ?(?:[<>=!]{{1,2}}|(?:NOT )?(?:LIKE|IN)|IS(?: NOT)?) ?{_VALUE}"
_CONDITIONS = rf"{_CONDITION}(?: (?:AND|OR) {_CONDITION}){{0,8}}"
_JOIN = r"(?:(?:LEFT|RIGHT|FULL|INNER|CROSS) )?(?:OUTER )?JOIN"
_CLAUSES = (
    rf"(?: {_JOIN} \w{{1,60}}(?: ON {_CONDITION})?){{0,5}}(?: WHERE {_CONDITIONS})?(?: GROUP BY {_ITEMS})?"
    rf"(?: HAVING {_CONDITION})?(?: ORDER BY {_ITEMS}(?: ASC| DESC)?)?(?: LIMIT \d{{1,9}})?;?"
)
_TABLE = r"[\w.]{0,60}\w"
_STATEMENT = re.compile(
    r"(?<!\w)(?:"
    rf"SELECT (?:DISTINCT )?{_ITEMS} FROM {_TABLE}{_CLAUSES}"
    rf"|INSERT INTO(?: {_TABLE} ?\([^()\n]{{1,200}}\)(?: VALUES ?\([^()\n]{{1,200}}\))?|(?!\w))"
    rf"|UPDATE {_TABLE} SET {_ITEM} ?= ?{_VALUE}(?: WHERE {_CONDITIONS})?"
    rf"|DELETE FROM {_TABLE}(?: WHERE {_CONDITIONS})?"
    r"|(?:CREATE|DROP|ALTER|TRUNCATE) TABLE(?: IF (?:NOT )?EXISTS)?"
    rf"(?: {_TABLE}(?=[.,;:!?)]|\Z))?(?!\w)"
    rf"|{_JOIN}(?!\w)|(?:ORDER|GROUP|PARTITION) BY(?!\w)(?: \w*_\w*)?"
    r"|(?:PRIMARY|FOREIGN) KEY(?!\w)|(?:IS )?NOT NULL(?!\w)"
    r")"
)


def find_commands(text: str) -> Iterator[Found]:
    """Commands of a shell and statements of SQL; a text in capitals is a statement as a whole, or has none."""
    if _may_be_command(text):
        yield from (Found(*match.span()) for match in _COMMAND.finditer(text))
    if _may_be_statement(text) and (not text.isupper() or _STATEMENT.fullmatch(text.strip())):
        yield from (Found(*match.span()) for match in _STATEMENT.finditer(text))


def may_have_command(text: str) -> bool:
    """Whether a text can have a command or a statement. To look for one string after another takes less time than an
    expression for all of them."""
    return _may_be_command(text) or _may_be_statement(text)


def _may_be_command(text: str) -> bool:
    return (
        (" -" in text and _OPTION.search(text) is not None)
        or "git " in text
        or "npm " in text
        or "pip " in text
        or "pip3 " in text
        or "docker " in text
        or "ctl " in text
        or " apt" in text
    )


def _may_be_statement(text: str) -> bool:
    return (
        "JOIN" in text
        or " BY" in text
        or "FROM" in text
        or "INTO" in text
        or "TABLE" in text
        or " SET " in text
        or " KEY" in text
        or " NULL" in text
    )
