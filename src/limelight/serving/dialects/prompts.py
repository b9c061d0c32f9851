"""What a conversation with a language model asks for: which texts, between which languages, with which terms, and in
which form they are to come back.

Programs that translate through chat completions put this into words. What is recognized here is recognized strictly,
and anything else is text: a JSON list or object of strings, also in a fenced block; Weblate's JSON with `strings`, or
its texts between lines `==WEBLATE_PART==`; an instruction before the text, in its first line or up to `Source text:`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from limelight.serving.refusal import bad_request
from limelight.text.languages import code_of, english_names

MAX_PROMPT = 20_000
"""Characters of the messages of the system that are read."""
MAX_INSTRUCTION, MAX_END = 2000, 60
"""Characters in which an instruction before a text is looked for, and a label after it."""
MAX_TERMS = 1000
MAX_TERM = 200
"""Characters of a side of a term; longer ones are texts, and not used."""
SEPARATOR = "\n==WEBLATE_PART==\n"
_SEPARATOR = re.compile(r"\r?\n[ \t]*==WEBLATE_PART==[ \t]*\r?\n")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FENCE = re.compile(r"\s*```(?:json)?[ \t]*\n(.*?)\n?```\s*", re.DOTALL)
_REPHRASE = re.compile(r"existing\s+translation\s+strings")
_GLOSSARY = re.compile(r"following\s+glossary\b[^\n]*:[ \t]*\n(?P<rows>(?:[^\n]*\t[^\n]*\n?|[ \t]*\n)+)", re.IGNORECASE)
_VERB = re.compile(r"\btranslat|übersetz|\btradui", re.IGNORECASE)
_WORDS = (
    "the this that these following below next given entire whole all of user's users user my source input text texts "
    "sentence sentences paragraph paragraphs message messages content string strings word words phrase phrases sie "
    "passage document title subtitle subtitles html markdown json it den die das diesen dieses folgenden folgende satz "
    "la le les ce cette texte suivant suivante"
)
"""What an instruction may call the text, beside the names of languages."""
_OBJECT = "|".join((*_WORDS.split(), *(name.lower() for name in english_names().values() if name.isalpha())))
_INSTRUCTION = re.compile(
    rf"\s*(?:please[,:]?[ \t]+)?(?:translate|übersetze?n?|traduisez|traduis)(?:[ \t]+(?:{_OBJECT})\b)*[ \t]+"
    r"(?:(?:into|to|in|ins|auf|en|from|aus|du|de)\b|[\"“„'])",
    re.IGNORECASE,
)
_POINTING = re.compile(r"following|below|next|this|given|these|folgend|suivant", re.IGNORECASE)
_INTO = re.compile(r"\b(?:into|to|ins|auf|en)[ \t-]+", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|aus[ \t]+dem|du|de[ \t]+l['’])[ \t]*", re.IGNORECASE)
_NAMED_TARGET = re.compile(r"\btarget[ _-]?lang(?:uage)?\b(?:\s+(?:is|code))?\s*[:=]?\s*", re.IGNORECASE)
_NAMED_SOURCE = re.compile(r"\bsource[ _-]?lang(?:uage)?\b(?:\s+(?:is|code))?\s*[:=]?\s*", re.IGNORECASE)
_LABEL = re.compile(r"(?im)^[ \t]*(?:source|original|input)?[ _]?(?:text|sentence)[ \t]*:[ \t]*\n?")
_END_LABEL = re.compile(
    r"(?i)\s*\n[ \t]*(?:translated[ _]?(?:text|sentence)?|translation|target[ _]?(?:text)?|output)[ \t]*:\s*\Z"
)
_BETWEEN = re.compile(r"\b([^\W\d_]{2,30})[ \t-]{1,3}(?:(?:in)?to|→|->)[ \t-]{1,3}(?=[A-Z])")
_NAME = re.compile(r"(?:the[ \t]+)?(?:(?:target|source)[ \t]+)?(?:language[ \t]*:?[ \t]*)?[\"'“‘`*]*"
                   r"((?:[^\W\d_][\w@-]*)(?:[ \t]+[^\W\d_][\w@-]*){0,2})")  # fmt: skip
_SAID = re.compile(r"language|[\"'“‘`*]", re.IGNORECASE)
"""What says that a language is named, also by its code."""
_AFTER_NAME = re.compile(r"[\"'”’`*]*(?:[ \t]*\([^()\n]{1,60}\))?")
_CODE = re.compile(r"[A-Za-z]{2,3}(?:[-_@][A-Za-z]{2,8}){0,2}")
_QUALIFIER = re.compile(
    r"(?:simplified|traditional|brazilian|european|british|american|canadian|swiss|austrian|mexican|formal|informal|"
    r"standard|modern|natural|fluent|idiomatic|correct)[ \t]+",
    re.IGNORECASE,
)
_CAPITALIZED = re.compile(r"[A-Z][\w-]*(?: [A-Z][\w-]*)?(?=[ \t]*(?:[.,:;]|\n|\Z))")


class Prompt(NamedTuple):
    """A parsed prompt."""

    texts: tuple[str, ...]
    shape: str = "text"
    """Form of the answer: `text`, `parts` between separators, a JSON `list`, a JSON `object` with `keys`, or `nested`
    JSON."""
    keys: tuple[str, ...] = ()
    form: Any = None
    """The JSON whose strings are the texts."""
    source: str = ""
    targets: tuple[str, ...] = ()
    """The languages that the prompt says to translate into, each once; mostly one, or none."""
    terms: tuple[tuple[str, str], ...] = ()

    def value(self, texts: Sequence[str]) -> Any:
        """The answer made of these translations: JSON like that of the message, or a text."""
        if self.shape in ("text", "parts"):
            return SEPARATOR.join(texts)
        given = iter(texts)
        return list(texts) if self.form is None else with_strings(self.form, lambda _: next(given))


def read_prompt(system: str, text: str) -> Prompt:
    """What the messages of the system and the last one of the user ask for.

    Raises `Refusal` for other tasks than translation, for an instruction with an unknown target language, and for more
    terms than are used.
    """
    system, cut = system[:MAX_PROMPT], len(system) > MAX_PROMPT
    source, targets, rest = _instructed(text)
    found = _of_json(rest) or _of_parts(system, rest) or Prompt((rest,))
    terms = (*found.terms, *_glossary_of(system, cut=cut))
    if len(terms) > MAX_TERMS:
        raise bad_request(
            f"messages: the glossary has {len(terms):,} terms, and at most {MAX_TERMS:,} are used: send those that are "
            "in the texts"
        )
    if not (targets or found.targets):
        source, targets = _languages_of(system)
    return found._replace(source=found.source or source, targets=found.targets or targets, terms=terms)


# ---- the texts of a message


def _of_json(text: str) -> Prompt | None:
    """A JSON message; None for others."""
    fenced = _FENCE.fullmatch(text)
    text = fenced[1] if fenced else text
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise bad_request("messages: the JSON has half of a surrogate pair, which is not a character")
    if isinstance(value, dict) and isinstance(value.get("target_language"), str):
        return _of_weblate(value)
    texts, keys = list[str](), tuple(value) if isinstance(value, dict) else ()

    def kept(text: str) -> str:
        texts.append(text)
        return text

    with_strings(value, kept)
    flat = len(texts) == len(value)
    return Prompt(tuple(texts), ("object" if keys else "list") if flat else "nested", keys, value) if texts else None


def with_strings(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value with other strings; names of fields do not change."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {name: with_strings(each, change) for name, each in value.items()}
    return [with_strings(each, change) for each in value] if isinstance(value, list) else value


def _of_weblate(value: Mapping[str, Any]) -> Prompt:
    """`{"source_language", "target_language", "glossary", "strings": [{"source", ...}]}`, whose answer is a list.
    Raises `Refusal` for an object with other strings or another glossary, which would be lost."""
    strings = value.get("strings")
    if strings is None and "units" in value:
        raise bad_request("messages: the evaluation of translations is not supported, only translation")
    if not isinstance(strings, list) or not all(
        isinstance(each, dict) and isinstance(each.get("source"), str) for each in strings
    ):
        raise bad_request('messages: JSON with target_language needs strings, a list of objects: [{"source": "..."}]')
    if not strings:
        raise bad_request("messages: there are no strings")
    glossary = value.get("glossary") or []
    if not isinstance(glossary, list) or not all(isinstance(each, dict) for each in glossary):
        raise bad_request('messages: glossary must be a list of objects: [{"source": "...", "target": "..."}]')
    source = value.get("source_language")
    return Prompt(
        tuple(each["source"] for each in strings),
        "list",
        source=source if isinstance(source, str) else "",
        targets=(value["target_language"],),
        terms=tuple(_terms((each.get("source"), each.get("target")) for each in glossary)),
    )


def _of_parts(system: str, text: str) -> Prompt | None:
    """Texts between separators. A translation that follows its source, to be rephrased, is replaced by a new one."""
    parts = tuple(_SEPARATOR.split(text))
    if len(parts) == 1:
        return None
    return Prompt(parts[:1]) if _REPHRASE.search(system) else Prompt(parts, "parts")


def _glossary_of(system: str, *, cut: bool) -> Iterator[tuple[str, str]]:
    """The rows of a table behind `Use the following glossary`. Raises `Refusal` for one that is cut off."""
    for match in _GLOSSARY.finditer(system):
        if cut and "\n" not in system[match.end() :]:
            raise bad_request(
                f"messages: the glossary goes on behind the first {MAX_PROMPT:,} characters of the messages of the "
                "system, which alone are read: send the terms that are in the texts"
            )
        yield from _terms(row.split("\t")[:2] for row in match["rows"].splitlines() if "\t" in row)


def _terms(rows: Any) -> Iterator[tuple[str, str]]:
    """The rows that are terms: two short texts of one line."""
    for source, target in rows:
        if isinstance(source, str) and isinstance(target, str):
            pair = source.strip(), target.strip()
            if all(0 < len(each) <= MAX_TERM and "\n" not in each for each in pair):
                yield pair


# ---- languages and instructions


def language_of(name: str, *, codes: bool = False) -> str:
    """The code of a language named in a prompt: `German`, `Brazilian Portuguese`, `Deutsche`, and with `codes` also
    `de`, `de_AT` and `de@formal`; empty for anything else."""
    name = name.strip()
    if codes and _CODE.fullmatch(name) and re.split("[-_@]", name)[0].lower() in english_names():
        return name.replace("@", "-")
    while match := _QUALIFIER.match(name):
        name = name[match.end() :]
    return code_of(name) or (code_of(name[:-1]) if name.endswith("e") else "")


def _language_at(text: str, place: int, *, codes: bool) -> tuple[str, int]:
    """The language whose name is at a place of a text, and where the name ends; empty for something else."""
    match = _NAME.match(text, place)
    codes = codes or bool(match and _SAID.search(text, match.start(), match.start(1)))
    for end in reversed([word.end() for word in re.finditer(r"[\w@-]+", match[1])] if match else []):
        if match and (found := language_of(match[1][:end], codes=codes)):
            after = _AFTER_NAME.match(text, match.start(1) + end)
            return found, after.end() if after else match.start(1) + end
    return "", place


def _named(text: str, before: re.Pattern[str], *, codes: bool) -> list[tuple[str, int]]:
    """The languages named behind a pattern, with the ends of their names."""
    found = (_language_at(text, match.end(), codes=codes) for match in before.finditer(text))
    return [each for each in found if each[0]]


def _instructed(text: str) -> tuple[str, tuple[str, ...], str]:
    """The source and the target language of an instruction before the text, and the text without it. The instruction is
    the first line, up to a colon behind a language, or all before `Source text:`."""
    if not _INSTRUCTION.match(text):
        return "", (), text
    label, tail = _LABEL.search(text, 0, MAX_INSTRUCTION), max(0, len(text) - MAX_END)
    end = _END_LABEL.search(text, tail)
    line = text.partition("\n")[0]
    head = text[: label.start()] if label else line[:MAX_INSTRUCTION]
    sources = _named(head, _FROM, codes=True)
    targets = [each for each in _named(head, _INTO, codes=True) if not sources or each[0] != sources[0][0]]
    if label and targets:
        return _first(sources), (targets[0][0],), text[label.end() : end.start() if end else None]
    if not targets:
        into = _INTO.search(line)
        unknown = _CAPITALIZED.match(line, into.end()) if into else None
        if unknown and line[unknown.end() :].lstrip().startswith(":") and text[unknown.end() :].strip(" :\n"):
            raise bad_request(f"{unknown[0][:40]}: the language of the instruction is not known", "language")
        return "", (), text
    target, place = targets[0]
    before, colon, behind = line[place:].partition(":")
    follows = text[len(line) :].lstrip("\r\n")
    quoted = re.fullmatch(r"\s*\w+[ \t]+[\"“„'](.+)[\"”“'][ \t]+\w+[ \t]+", line[: _start(line, place)])
    if colon and not before.strip():
        rest = behind.lstrip() + text[len(line) :] if behind.strip() else follows
    elif quoted and not line[place:].strip(" .!"):
        rest = quoted[1]
    else:
        ends = not before.strip(" .!") or _POINTING.search(line, 0, place)
        rest = follows if ends and not line[:place].count('"') else ""
    return (_first(sources), (target,), rest) if rest.strip() else ("", (), text)


def _start(line: str, end: int) -> int:
    """Where the name of the language begins that ends at a place."""
    return max((match.end() for match in _INTO.finditer(line) if match.end() < end), default=end)


def _first(found: Sequence[tuple[str, int]]) -> str:
    return found[0][0] if found else ""


def _languages_of(system: str) -> tuple[str, tuple[str, ...]]:
    """The source, if it is one, and the targets that the messages of the system say to translate between."""
    spoken = "\n\n".join(each for each in re.split(r"(?<=[.!?])\s+|\n{2,}", system) if _VERB.search(each))
    targets = _named(system, _NAMED_TARGET, codes=True) or _named(spoken, _INTO, codes=False)
    sources = _named(system, _NAMED_SOURCE, codes=True) or _named(spoken, _FROM, codes=False)
    names = dict.fromkeys(name for name, _ in sources) or dict.fromkeys(
        filter(None, map(language_of, _BETWEEN.findall(spoken)))
    )
    if not targets:
        for into in re.finditer(r"\b[Tt]ranslate\b[^\n.]{0,80}?[ \t](?:in)?to[ \t]+", spoken):
            if unknown := _CAPITALIZED.match(spoken, into.end()):
                raise bad_request(
                    f"{unknown[0][:40]}: the language in the message of the system is not known", "language"
                )
    return next(iter(names)) if len(names) == 1 else "", tuple(dict.fromkeys(name for name, _ in targets))
