"""What a conversation with a language model asks for: which texts, between which languages, with which terms, and in
which form they are to come back.

Programs that translate through chat completions put this into words. What is recognized here is recognized strictly,
and anything else is text. The contracts are those of Weblate (a JSON object with `strings`, or texts between lines
`==WEBLATE_PART==`), of programs that send a JSON array or object of strings, and an instruction before the text, as
Nextcloud writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from limelight.serving.refusal import bad_request
from limelight.text.languages import NAMES, code_of

MAX_PROMPT = 20_000
"""Characters of the messages of the system that are read; the time of some patterns is quadratic in them."""
MAX_TERMS = 1000
MAX_DEPTH = 32
"""Lists and objects within each other in a JSON message."""
MAX_NAME = 200
"""Characters in which the name of a language is looked for."""
MAX_TERM = 200
"""Characters of a side of a term; longer ones are texts, and not used."""
SEPARATOR = "\n==WEBLATE_PART==\n"
_SEPARATOR = re.compile(r"\r?\n[ \t]*==WEBLATE_PART==[ \t]*\r?\n")
_SURROGATE = re.compile("[\ud800-\udfff]")
_REPHRASE = re.compile(r"existing\s+translation\s+strings")
_GLOSSARY = re.compile(r"following\s+glossary\b[^\n]*:[ \t]*\n(?P<rows>(?:[^\n]*\t[^\n]*\n?|[ \t]*\n)+)", re.IGNORECASE)

_TRANSLATE = re.compile(r"translat|übersetz|tradui|traduct", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n{2,}")
_INTO = re.compile(r"\b(?:into|to|ins|auf|en)(?:\s+|-)", re.IGNORECASE)
_FROM = re.compile(r"\b(?:from|aus\s+dem|du|de\s+l['’])\s*", re.IGNORECASE)
_TARGET = re.compile(r"\btarget[ _-]?lang(?:uage)?\b(?:\s+(?:is|code))?\s*[:=]?\s*", re.IGNORECASE)
_SOURCE = re.compile(r"\bsource[ _-]?lang(?:uage)?\b(?:\s+(?:is|code))?\s*[:=]?\s*", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"\b[Tt]ranslate\b(?:[ \t]+[\w'’]+){0,8}?[ \t]+(?:in)?to[ \t]+(?P<name>[A-Z][a-z]{2,})(?=[ \t]*(?:[.,:;]|\n|\Z))"
)
"""A language with an unknown name: a capital letter, and the end of a clause behind it."""

_WORDS = (
    "the this that these following below next given entire whole all of user's users user my source input text texts "
    "sentence sentences paragraph paragraphs message messages content string strings word words phrase phrases "
    "passage document title subtitle subtitles html markdown it den die das diesen dieses folgenden folgende folgendes "
    "satz le la les ce cette texte suivant suivante phrase"
)
_OBJECT = "|".join((*_WORDS.split(), *(name.lower() for name in NAMES.values() if name.isalpha())))
_VERB = r"(?:please[,:]?[ \t]+)?(?:translate|übersetzen[ \t]+sie|übersetze|übersetz|traduisez|traduis|traduire)"
_INSTRUCTION = re.compile(rf"\s*{_VERB}(?P<object>(?:[ \t]+(?:{_OBJECT})\b)*)[ \t]+", re.IGNORECASE)
_PREPOSITION = re.compile(r"(?:into|to|in|ins|auf|en)[ \t]+", re.IGNORECASE)
_FROM_HERE = re.compile(r"(?:from|aus\s+dem|du|de\s+l['’])[ \t]+", re.IGNORECASE)
_POINTING = re.compile(r"following|below|next|this|given|these|folgend|suivant", re.IGNORECASE)
_QUOTED = re.compile(
    rf"\s*{_VERB}[ \t]+(?:\"(?P<a>[^\"\n]+)\"|“(?P<b>[^”\n]+)”|'(?P<c>[^'\n]+)'|„(?P<d>[^“”\n]+)[“”])"
    r"[ \t]+(?:into|to|ins|auf|en)[ \t]+",
    re.IGNORECASE,
)
_BEFORE_NAME = re.compile(
    r"(?:the[ \t]+)?(?:(?:target|source)[ \t]+)?(?P<said>language[ \t]*:?[ \t]*)?(?P<quote>[\"'“‘`*]*)", re.IGNORECASE
)
_NAME_WORDS = re.compile(r"[^\W\d_][\w@-]*(?:[ \t]+[^\W\d_][\w@-]*){0,2}")
_AFTER_NAME = re.compile(r"[\"'”’`*]*(?:[ \t]*\([^()\n]{1,60}\))?")
_CODE = re.compile(r"[A-Za-z]{2,3}(?:[-_@][A-Za-z]{2,8}){0,2}")
_QUALIFIER = re.compile(
    r"(?:simplified|traditional|brazilian|european|british|american|canadian|swiss|austrian|mexican|formal|informal|"
    r"standard|modern|natural|fluent|idiomatic|correct)[ \t]+",
    re.IGNORECASE,
)


class Decimal(NamedTuple):
    """A number of a JSON message, as it is written there."""

    text: str


class Prompt(NamedTuple):
    """A parsed prompt."""

    texts: tuple[str, ...]
    shape: str = "text"
    """Form of the answer: `text`, `parts` between separators, a JSON `list`, a JSON `object` with `keys`, or `nested`
    JSON like `form`."""
    keys: tuple[str, ...] = ()
    form: Any = None
    """A JSON value whose strings are the texts; everything else in it stays."""
    source: str = ""
    targets: tuple[str, ...] = ()
    """The languages that the prompt says to translate into, each once; mostly one, or none."""
    terms: tuple[tuple[str, str], ...] = ()

    def value(self, texts: Sequence[str]) -> Any:
        """The answer made of these translations: a list, an object, or a text, as nested JSON is."""
        if self.shape == "text":
            return texts[0]
        if self.shape == "parts":
            return SEPARATOR.join(texts)
        if self.shape == "nested":
            return _written(self.form, iter(texts))
        return list(texts) if self.shape == "list" else dict(zip(self.keys, texts, strict=True))


def read_prompt(system: str, text: str) -> Prompt:
    """What the messages of the system and the last one of the user ask for.

    Raises `Refusal` for other tasks than translation, for an instruction with a target language of unknown name, and
    for more terms than are used.
    """
    whole, system = system, system[:MAX_PROMPT]
    found = _of_json(text)
    if found is None:
        found = _of_parts(system, text)
    if found is None:
        source, target, rest = _instructed(text)
        found = Prompt((rest,), source=source, targets=(target,) if target else ())
    terms = (*found.terms, *_glossary_of(system, cut=len(system) < len(whole)))
    if len(terms) > MAX_TERMS:
        raise bad_request(
            f"messages: the glossary has {len(terms):,} terms, and at most {MAX_TERMS:,} are used: send those that are "
            "in the texts"
        )
    if found.targets:
        return found._replace(terms=terms)
    source, targets = _languages_of(system)
    return found._replace(source=found.source or source, targets=targets, terms=terms)


# ---- JSON


def _of_json(text: str) -> Prompt | None:
    """A JSON message; None for others."""
    if not text.lstrip().startswith(("[", "{")):
        return None
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return None
    if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise bad_request("messages: the JSON has half of a surrogate pair, which is not a character")
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return Prompt(tuple(value), "list")
    if isinstance(value, dict) and isinstance(value.get("target_language"), str):
        return _of_weblate(value)
    if isinstance(value, dict) and value and all(isinstance(each, str) for each in value.values()):
        return Prompt(tuple(value.values()), "object", tuple(value))
    texts = tuple(_strings(value))
    return Prompt(texts, "nested", form=value) if texts else None


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """The strings in a JSON value, names of fields not counted. Raises `Refusal` for one that is too deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        if depth == MAX_DEPTH:
            raise bad_request(f"messages: the JSON has more than {MAX_DEPTH} levels: send its texts in a flat object")
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each, depth + 1)


def _written(value: Any, texts: Iterator[str]) -> str:
    """The JSON of a value with these texts in place of its strings, and with its numbers as they were written."""
    if isinstance(value, str):
        return json.dumps(next(texts), ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join([_written(each, texts) for each in value])}]"
    if isinstance(value, dict):
        fields = [f"{json.dumps(name, ensure_ascii=False)}: {_written(each, texts)}" for name, each in value.items()]
        return f"{{{', '.join(fields)}}}"
    return value.text if isinstance(value, Decimal) else json.dumps(value)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Raises `Refusal` where two of its fields have the same key: the texts of one would be lost."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise bad_request(f"messages: the JSON has the key {key[:40]!r} twice: give each text a key of its own")
        found[key] = value
    return found


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
    rows = [(each.get("source"), each.get("target")) for each in glossary]
    source = value.get("source_language")
    return Prompt(
        tuple(each["source"] for each in strings),
        "list",
        source=source if isinstance(source, str) else "",
        targets=(value["target_language"],),
        terms=tuple(_terms(rows)),
    )


def _of_parts(system: str, text: str) -> Prompt | None:
    """Texts between separators. A translation that follows its source, to be rephrased, is replaced by a new one."""
    parts = tuple(_SEPARATOR.split(text))
    if len(parts) == 1:
        return None
    return Prompt(parts[:1]) if _REPHRASE.search(system) else Prompt(parts, "parts")


# ---- terms


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
    `de_AT` and `de@formal`; empty for anything else."""
    name = name.strip()
    if codes and _CODE.fullmatch(name) and re.split("[-_@]", name)[0].lower() in NAMES:
        return name.replace("@", "-")
    while match := _QUALIFIER.match(name):
        name = name[match.end() :]
    return code_of(name) or (code_of(name[:-1]) if name.endswith("e") else "")


def _leading(text: str, *, codes: bool = False) -> tuple[str, int]:
    """The language that a text begins with, and where its name ends; empty where it begins with something else."""
    head = _BEFORE_NAME.match(text)
    words = _NAME_WORDS.match(text, head.end()) if head else None
    if head is None or words is None:
        return "", 0
    codes = codes or bool(head["said"] or head["quote"])
    ends = [match.end() for match in re.finditer(r"[\w@-]+", words[0])]
    for end in reversed(ends):
        found = language_of(words[0][:end], codes=codes)
        if found:
            after = _AFTER_NAME.match(text, head.end() + end)
            return found, after.end() if after else head.end() + end
    return "", 0


def _instructed(text: str) -> tuple[str, str, str]:
    """The source and the target language of an instruction before the text, and the text without it."""
    quoted = _QUOTED.match(text)
    if quoted:
        target, end = _leading(text[quoted.end() : quoted.end() + MAX_NAME], codes=True)
        if target and not text[quoted.end() + end :].strip(" \t\r\n.!:"):
            return "", target, next(filter(None, quoted.groups()))
    match = _INSTRUCTION.match(text)
    if match is None:
        return "", "", text
    place, source = match.end(), ""
    if here := _FROM_HERE.match(text, place):
        source, end = _leading(text[here.end() : here.end() + MAX_NAME], codes=True)
        place = here.end() + end
        place += len(text[place:]) - len(text[place:].lstrip(" \t"))
    into = _PREPOSITION.match(text, place)
    if into is None:
        return "", "", text
    target, end = _leading(text[into.end() : into.end() + MAX_NAME], codes=True)
    if not target:
        return "", "", _known(text, into.end())
    rest = _behind(text[into.end() + end :], pointing=bool(_POINTING.search(match["object"])))
    return (source, target, rest) if rest else ("", "", text)


def _known(text: str, place: int) -> str:
    """The text. Raises `Refusal` where its first line is an instruction for a language without a known name."""
    match = re.match(r"(?P<name>[A-Z][\w-]*(?: [A-Z][\w-]*)?)[ \t]*:[ \t]*(?=\S|\n\s*\S)", text[place:])
    if match:
        raise bad_request(f"{match['name'][:40]}: the language of the instruction is not known", "language")
    return text


def _behind(text: str, *, pointing: bool) -> str:
    """What stands behind the language of an instruction, if that is its end: a colon, a line, or, where the instruction
    points to what follows, more sentences in its line and an empty one. Empty where it is not."""
    line, _, rest = text.partition("\n")
    tail = line.strip()
    if tail.startswith(":"):
        return tail[1:].lstrip() + ("\n" + rest if rest else "") if tail[1:].strip() else rest.lstrip("\r\n")
    ends = tail in ("", ".", "!") or tail.endswith(":")
    if ends or (pointing and tail[0] in ".,;(" and not rest.partition("\n")[0].strip()):
        return rest.lstrip("\r\n") if rest.strip() else ""
    return ""


def _languages_of(system: str) -> tuple[str, tuple[str, ...]]:
    """The source, where it is one, and the targets that the messages of the system say to translate between."""
    spoken = "\n\n".join(each for each in _SENTENCE_END.split(system) if _TRANSLATE.search(each))
    targets = dict.fromkeys(_named(system, _TARGET, codes=True)) or dict.fromkeys(_named(spoken, _INTO))
    sources = dict.fromkeys(_named(system, _SOURCE, codes=True)) or dict.fromkeys(_named(spoken, _FROM))
    if not sources:
        before = re.findall(r"\b([^\W\d_]{1,30})[ \t-]{1,3}(?:(?:in)?to|→|->)[ \t-]{1,3}[A-Z]", spoken)
        sources = dict.fromkeys(filter(None, map(language_of, before)))
    if not targets and (unknown := _UNKNOWN.search(spoken)):
        name = unknown["name"][:40]
        raise bad_request(f"{name}: the language in the message of the system is not known", "language")
    return next(iter(sources)) if len(sources) == 1 else "", tuple(targets)


def _named(text: str, before: re.Pattern[str], *, codes: bool = False) -> Iterator[str]:
    for match in before.finditer(text):
        found, _ = _leading(text[match.end() : match.end() + MAX_NAME], codes=codes)
        if found:
            yield found
