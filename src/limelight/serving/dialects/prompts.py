"""What a conversation with a language model asks for: which texts, between which languages, with which terms, and in
which form they are to come back.

Programs that translate through chat completions put this into words. What is recognized here is recognized strictly,
and anything else is text: JSON with strings, also in a fenced block; Weblate's JSON with `strings`, or its texts
between lines `==WEBLATE_PART==`; an instruction before the text, in its first line or up to `Source text:`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import Field
from pydantic_core import from_json

from limelight.serving.call import Asked
from limelight.serving.fields import read_form
from limelight.serving.refusal import bad_request
from limelight.text.languages import CODES_OF_NAMES, ENGLISH_NAMES, code_of

MAX_PROMPT = 20_000
"""Maximum characters of the messages of the system."""
MAX_INSTRUCTION = 2000
"""Characters in which an instruction before a text is looked for."""
MAX_TERMS = 1000
MAX_TERM = 200
"""Characters of a side of a term; longer ones are texts, and not used."""
SEPARATOR = "\n==WEBLATE_PART==\n"
_SEPARATOR = re.compile(r"\r?\n[ \t]*==WEBLATE_PART==[ \t]*\r?\n")
_FENCE = re.compile(r"\s*```(?:json)?[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
_GLOSSARY = re.compile(r"following\s+glossary\b[^\n]*:[ \t]*\n(?P<rows>(?:[^\n]*\t[^\n]*\n?|[ \t]*\n)+)", re.IGNORECASE)
_LABEL = re.compile(r"(?im)^[ \t]*(?:source|original|input)?[ _]?(?:text|sentence)[ \t]*:[ \t]*\n?")
_END_LABEL = re.compile(
    r"(?i)\s*\n[ \t]*(?:translated[ _]?(?:text|sentence)?|translation|target[ _]?(?:text)?|output)[ \t]*:\s*\Z"
)

# ---- words of instructions

_KNOWN = "|".join(sorted(map(re.escape, CODES_OF_NAMES), key=len, reverse=True))
_LANGUAGE = (
    r"(?:the[ \t])?(?:(?:target|source)[ \t])?(?P<said>language[ \t]?:?[ \t]?)?(?P<quoted>[\"'“‘`*]{1,3})?"
    r"(?:(?:simplified|traditional|brazilian|european|british|american|canadian|swiss|austrian|mexican)[ \t])?"
    rf"(?:(?P<name>{_KNOWN})|(?P<code>(?:{'|'.join(ENGLISH_NAMES)})(?:[-_@][a-z]{{2,8}}){{0,2}}))(?!\w)"
    r"[\"'”’`*]{0,3}(?:[ \t]?\([^()\n]{1,60}\))?"
)
"""A language by its name or its code, with a region in brackets."""
_INTO, _FROM = (
    re.compile(
        rf"(?:\b(?:{words})[ \t-]{{1,3}}|\b(?P<named>{side}[ _-]?lang(?:uage)?\b(?:\s+(?:is|code))?\s*(?:[:=]\s*)?))"
        rf"{_LANGUAGE}",
        re.IGNORECASE,
    )
    for words, side in (("into|to", "target"), ("from", "source"))
)
"""`to German`, or `target language: de`."""
_OBJECTS = (
    "the this that these following below next given entire whole all of user's users user my source input text texts "
    "sentence sentences paragraph paragraphs message messages content string strings word words phrase phrases "
    "passage segment segments document title subtitle subtitles html markdown json it"
)
"""What an instruction may call the text, beside the names of languages."""
_INSTRUCTION = re.compile(
    rf"\s*(?:please[,:]?[ \t]+)?translate(?:[ \t]+(?:{_OBJECTS.replace(' ', '|')}|{_KNOWN})\b)*"
    r"[ \t]+(?:into|to|from)\b",
    re.IGNORECASE,
)
_POINTING = re.compile(r"following|below|next|this|given|these", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"\b[Tt]ranslate\b[^\n.]{0,80}?[ \t](?:in)?to[ \t]+(?P<name>[A-Z][\w-]*(?: [A-Z][\w-]*)?)[ \t]*(?:[.,:;]|\n|\Z)"
)
"""A language that is not known, behind an instruction."""


class Prompt(NamedTuple):
    """A parsed prompt."""

    texts: tuple[str, ...]
    form: Any = None
    """The JSON whose strings are the texts; None for texts between separators."""
    source: str = ""
    targets: tuple[str, ...] = ()
    """The languages that the prompt says to translate into, each once; mostly one, or none."""
    terms: tuple[tuple[str, str], ...] = ()

    def value(self, texts: Sequence[str]) -> Any:
        """The answer made of these translations: JSON like the message's, or a text."""
        if self.form is None:
            return SEPARATOR.join(texts)
        remaining = iter(texts)
        return with_strings(self.form, lambda _: next(remaining))


class Weblate(Asked):
    """The JSON of Weblate, whose answer is a list."""

    class String(Asked):
        """A text."""

        source: str

    target_language: str
    source_language: str = ""
    glossary: list[dict[str, Any]] = Field([])
    strings: list[String]


def read_prompt(system: str, text: str) -> Prompt:
    """What the messages of the system and the last one of the user ask for.

    Raises `Refusal` for an instruction with an unknown target language, and for too long messages of the system.
    """
    if len(system) > MAX_PROMPT:
        raise bad_request(f"messages: the system messages have more than {MAX_PROMPT:,} characters: send less")
    source, targets, rest = _instructed(text)
    prompt = _of_json(rest) or Prompt(tuple(_SEPARATOR.split(rest)))
    table = [row.split("\t")[:2] for match in _GLOSSARY.finditer(system) for row in match["rows"].splitlines()]
    terms = (*prompt.terms, *_terms(row for row in table if len(row) == 2))
    if len(terms) > MAX_TERMS:
        raise bad_request(
            f"messages: the glossary has {len(terms):,} terms, and at most {MAX_TERMS:,} are used: send those that are "
            "in the texts"
        )
    if not (targets or prompt.targets):
        source, targets = _languages_of(system)
    return prompt._replace(source=prompt.source or source, targets=prompt.targets or targets, terms=terms)


# ---- the texts of a message


def _of_json(text: str) -> Prompt | None:
    """A JSON message with strings; None for others. Raises `Refusal` for one of Weblate with other fields than those,
    whose texts or terms would be lost."""
    fenced = _FENCE.fullmatch(text)
    try:
        value = from_json(fenced[1] if fenced else text)
    except ValueError:
        return None
    if isinstance(value, dict) and isinstance(value.get("target_language"), str):
        form = read_form(Weblate, value)
        strings, terms = (
            [string.source for string in form.strings],
            _terms((term.get("source"), term.get("target")) for term in form.glossary),
        )
        return Prompt(tuple(strings), strings, form.source_language, (form.target_language,), tuple(terms))
    texts = list[str]()
    if isinstance(value, dict | list):
        with_strings(value, texts.append)
    return Prompt(tuple(texts), value) if texts else None


def with_strings(value: Any, change: Callable[[str], Any]) -> Any:
    """A JSON value with other strings; names of fields do not change."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: with_strings(item, change) for name, item in value.items()}
    return [with_strings(item, change) for item in value] if isinstance(value, list) else value


def _terms(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[str, str]]:
    """The rows that are terms: two short texts of one line."""
    for row in rows:
        source, target = (term.strip() if isinstance(term, str) else "" for term in row)
        if all(0 < len(term) <= MAX_TERM and "\n" not in term for term in (source, target)):
            yield source, target


# ---- languages and instructions


def _languages(text: str, pattern: re.Pattern[str], *, codes: bool) -> dict[str, int]:
    """The languages that a pattern finds, with the ends of the first one's name. Codes alone count with `codes`: `it`
    is a word, too."""
    ends: dict[str, int] = {}
    for match in pattern.finditer(text):
        if match["name"]:
            ends.setdefault(code_of(match["name"]), match.end())
        elif codes or match["named"] or match["said"] or match["quoted"]:
            ends.setdefault(match["code"].replace("@", "-"), match.end())
    return ends


def _instructed(text: str) -> tuple[str, tuple[str, ...], str]:
    """The source and the target language of an instruction before the text, and the text without it. The instruction is
    the first line, up to a colon behind a language, or all before `Source text:`."""
    if not _INSTRUCTION.match(text):
        return "", (), text
    label = _LABEL.search(text, 0, MAX_INSTRUCTION)
    head = text[: label.start()] if label else text.partition("\n")[0][:MAX_INSTRUCTION]
    source = next(iter(_languages(head, _FROM, codes=True)), "")
    targets = {name: end for name, end in _languages(head, _INTO, codes=True).items() if name != source}
    if not targets:
        before, colon, _ = head.partition(":")
        _refuse_unknown(before + colon if colon else "")
        return "", (), text
    target, end = next(iter(targets.items()))
    after_language, rest = head[end:].strip(" .!"), ""
    if label:
        end_label = _END_LABEL.search(text, max(label.end(), len(text) - 60))
        rest = text[label.end() : end_label.start() if end_label else None]
    elif after_language.startswith(":"):
        rest = text[end:].partition(":")[2]
    elif not after_language or _POINTING.search(head, 0, end):
        rest = text[len(head) :]
    return (source, (target,), rest.lstrip()) if rest.strip() else ("", (), text)


def _languages_of(system: str) -> tuple[str, tuple[str, ...]]:
    """The source, if it is one, and the targets that the messages of the system say to translate between."""
    sentences = re.split(r"(?<=[.!?])\s+|\n{2,}", system)
    relevant = "\n\n".join(sentence for sentence in sentences if re.search("translat|lang", sentence, re.IGNORECASE))
    targets, sources = (_languages(relevant, pattern, codes=False) for pattern in (_INTO, _FROM))
    if not targets:
        _refuse_unknown(relevant)
    return next(iter(sources)) if len(sources) == 1 else "", tuple(targets)


def _refuse_unknown(text: str) -> None:
    if unknown := _UNKNOWN.search(text):
        raise bad_request(f"{unknown['name'][:40]}: the language of the instruction is not known", "language")
