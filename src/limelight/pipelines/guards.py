"""Guards: what is wrong with a translation, as far as its source shows it, and what is done about it.

A sentence is translated and looked at (`faults`). Where something is wrong it is searched again, in one way after
another (`REMEDIES`), and the best of what was found is kept; what is wrong then is put right in the text as far as that
can be done (`repaired`). `warnings` of the translation name what was found:

    loop              it repeated itself; it was searched again, or the repetition was cut
    too short         much of the source can have no counterpart
    too long          it had more than three times the characters of the source, and was cut where it still has
    copied            it is the source
    unknown script    the model knows hardly any letter of the source
    number lost       a number of the source is missing, or was put in the place of another one
    address lost      a URL or an e-mail address was missing, and was put where it probably belongs
    placeholder lost  a placeholder of marked text is missing or there twice
    quotation lost    a quotation mark of the source is missing
    uncovered         it is short, and a part of the source was not attended to

A translation with one of the faults `WRONG` has little confidence. Where nothing is wrong, a guard costs a look at two
strings. What it does depends on the sentence alone, never on others in the batch. Draws (`sampling`) and lists
(`n_best` above 1) stay as the search found them: they have warnings alone.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from limelight.config import MAX_LENGTH_PENALTY
from limelight.decoding.ensemble import Ensemble
from limelight.inspection.maps import attention_map
from limelight.models.interface import Seq2Seq
from limelight.pipelines.job import Prepared, Sentence, Steps, names_of
from limelight.pipelines.translation import Translation
from limelight.text import checks
from limelight.text.marks import MARK, PLACEHOLDER
from limelight.text.protect import protect, restore
from limelight.text.protectors import PROTECTORS, Found, Protector
from limelight.tokens import Tokenizers

SEVERITY = {
    "loop": 16,
    "placeholder lost": 16,
    "too short": 8,
    "too long": 8,
    "address lost": 8,
    "number lost": 4,
    "unknown script": 2,
    "uncovered": 4,
    "quotation lost": 2,
    "copied": 4,
    "long": 1,
    "spelled": 1,
    "doubtful": 1,
}
"""Of two translations of a sentence the one whose faults weigh less is kept."""
UNTOLD = ("long", "spelled", "doubtful")
"""Faults that are no warnings: a few characters with more than three times as many; digits that became a word; a source
in ALL CAPS or Like This, which is always searched as a sentence, too."""
WRONG = ("loop", "too short", "too long", "copied", "unknown script", "uncovered")
UNSURE = 0.1
"""The most confidence that such a translation has: the features of confidence do not know these faults."""
UNKNOWN = 0.5
"""A source with this share of unknown letters is in an unknown script."""
BRIEF = 0.6
"""A translation with a smaller share of the characters of its source is brief: what was attended to is looked at."""
MIN_WORDS = 5
"""Words of the source that such a sentence has at least."""
UNCOVERED = 0.25
"""This share of the words of the source, not attended to, is a part of it."""
WIDER = 4
"""The beam in which a translation without faults is looked for, where that of the request is narrower."""
LONGER = 0.5
"""So much larger is its length penalty where a part of the source is missing."""
MAX_NGRAM_TOKENS = 3
"""No longer run of tokens is forbidden to come twice."""


class Attempt(NamedTuple):
    """A translation with what is wrong with it."""

    translation: Translation
    faults: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The faults that are reported to a user."""
        return tuple(fault for fault in self.faults if fault not in UNTOLD)


QUOTES = Protector("quotes", lambda text: [Found(*match.span()) for match in checks.QUOTE.finditer(text)])
NUMBERS = Protector("numbers", lambda text: [Found(*match.span()) for match in checks.NUMBER.finditer(text)])

Remedy = Callable[[Sentence, Attempt], Steps[list[Translation]]]
"""Searches again where it can help with the faults of an attempt; gives nothing where it cannot."""


def guarded(sentence: Sentence) -> Steps[Translation]:
    """The translation of a sentence, with warnings."""
    source = sentence.text
    if not any(letter.isalnum() for letter in MARK.sub("", source)):
        return replace(sentence.read(replace(sentence.prepared, request=None), ()), text=source)
    found = yield from sentence.search()
    best = looked_at(sentence, found[0])
    if sentence.unknown_share > UNKNOWN:
        copied = replace(best.translation, text=source, warnings=("unknown script",), alternatives=tuple(found[1:]))
        return _unsure(copied, copied.warnings)
    if sentence.settings.sampling is not None or sentence.settings.n_best > 1:
        return replace(_unsure(found[0], best.warnings), warnings=best.warnings, alternatives=tuple(found[1:]))
    looped = "loop" in best.faults
    for remedy in REMEDIES:
        if not best.faults:
            break
        others = yield from remedy(sentence, best)
        best = min([best, *(looked_at(sentence, each) for each in others)], key=_rank)
    may_be_cut = not sentence.request.constraints.include
    if "loop" in best.faults and may_be_cut:
        best = looked_at(sentence, replace(best.translation, text=checks.cut_loops(source, best.translation.text)))
    text = repaired(sentence, best) if may_be_cut else best.translation.text
    warnings = tuple(name for name in SEVERITY if name in best.warnings or (name == "loop" and looped))
    return replace(_unsure(best.translation, warnings), text=text, warnings=warnings)


def looked_at(sentence: Sentence, translation: Translation) -> Attempt:
    """The translation with its faults."""
    source, text = sentence.text, translation.text
    found = faults(source, text)
    brief = len(text) < BRIEF * len(source) and len(checks.WORD.findall(source)) >= MIN_WORDS
    if brief and "too short" not in found and sentence.uncovered(translation) >= UNCOVERED:
        found = (*found, "uncovered")
    doubtful = checks.is_capitals(source) or in_title_case(sentence)
    return Attempt(translation, (*found, "doubtful") if doubtful else found)


def in_title_case(sentence: Sentence) -> bool:
    """Whether a source is Written Like This, and not of names and nouns that are always."""
    source = sentence.text
    if not checks.is_title(source):
        return False
    plain = sentence.recase(source)
    return sum(one != other for one, other in zip(source.split(), plain.split(), strict=False)) >= 2


def _sureness(translation: Translation) -> float:
    """Its confidence; where that is not known, the geometric mean of the probabilities of its tokens."""
    if translation.confidence is not None:
        return translation.confidence
    return math.exp(translation.log_probability / (len(translation.tokens) + 1))


def _rank(attempt: Attempt) -> tuple[int, float]:
    """The best has the least; of equal ones the first."""
    return sum(SEVERITY[fault] for fault in attempt.faults), -_sureness(attempt.translation)


def _unsure(translation: Translation, warnings: Sequence[str]) -> Translation:
    """The translation with no more confidence than its warnings allow."""
    if translation.confidence is None or not set(warnings) & set(WRONG):
        return translation
    return replace(translation, confidence=min(UNSURE, translation.confidence))


def faults(source: str, output: str) -> tuple[str, ...]:
    """What is wrong with a translation of one sentence, as names of `SEVERITY`; nothing for most."""
    found = {
        "loop": bool(checks.find_loop(source, output)),
        "placeholder lost": Counter(PLACEHOLDER.findall(source)) != Counter(PLACEHOLDER.findall(output)),
        "too short": checks.is_too_short(source, output) or not output.strip(),
        "too long": checks.is_too_long(source, output),
        "address lost": bool(checks.lost_addresses(source, output)),
        "number lost": bool(checks.lost_numbers(source, output)),
        "quotation lost": bool(checks.lost_quotes(source, output)),
        "copied": checks.is_copied(source, output),
        "spelled": bool(checks.lost_numbers(source, output, spelled=False)),
        "long": len(output.strip()) > checks.LONG * len(source.strip()),
    }
    return tuple(name for name, holds in found.items() if holds)


def repaired(sentence: Sentence, attempt: Attempt) -> str:
    """The text of an attempt with its faults put right as far as its text alone allows it, in capitals where the source
    is, and Like This where the source is."""
    source, text = sentence.text, attempt.translation.text
    for fault, repair in REPAIRS.items():
        if fault in attempt.faults:
            text = repair(source, text)
    if checks.is_capitals(source) and not checks.is_capitals(text):
        return checks.raised(text)
    return checks.titled(text) if in_title_case(sentence) else text


REPAIRS: dict[str, Callable[[str, str], str]] = {
    "too long": checks.cut_to_length,
    "number lost": checks.put_back_numbers,
    "address lost": checks.put_back_addresses,
    "quotation lost": checks.put_back_quotes,
}
"""(source, output) -> output, in this order."""


# ---- remedies


def as_a_sentence(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """Of a source in ALL CAPS, or one Like This: the same as a sentence, raised again."""
    capitals = checks.is_capitals(sentence.text)
    if not ((capitals or in_title_case(sentence)) and sentence.is_free):
        return []
    found = yield from sentence.search(sentence.recase(sentence.text))
    raised = checks.raised if capitals else checks.titled
    return [replace(each, text=raised(each.text)) for each in found[:1]]


def with_plain_quotes(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """Of a source with other quotation marks than straight ones: the same with these; then those of the target
    language."""
    plain = checks.plain_quotes(sentence.text)
    if "quotation lost" not in best.faults or plain == sentence.text or not sentence.is_free:
        return []
    found = yield from sentence.search(plain)
    _, language = names_of(sentence.prepared.direction)
    return [replace(each, text=checks.styled_quotes(checks.plain_quotes(each.text), language)) for each in found[:1]]


def with_placeholders(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """Addresses, and numbers or quotation marks if one was lost, are placeholders for the model, and come back as they
    were."""
    lost = {"address lost", "number lost", "spelled", "quotation lost"} & set(best.faults)
    if not (lost and sentence.is_free and sentence.knows_placeholders):
        return []
    try:
        numbers, quotes = bool(lost & {"number lost", "spelled"}), "quotation lost" in lost
        protectors = [PROTECTORS["addresses"], *[NUMBERS] * numbers, *[QUOTES] * quotes]
        protected = protect(sentence.text, protectors)
    except ValueError:  # more of them than there are placeholders
        return []
    if not protected.has_words:
        return []
    found = yield from sentence.search(protected.text, marked=True)
    return [replace(each, text=restore(each.text, protected).text) for each in found]


def without_repetition(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """No run of tokens as long as the loop's comes twice."""
    loop = checks.find_loop(sentence.text, best.translation.text)
    if not loop or sentence.request.constraints.include:  # a phrase might not be permitted any more
        return []
    size = min(MAX_NGRAM_TOKENS, max(2, len(loop)))
    rules = {**dict(sentence.settings.rules), "no_repeat_ngram": size}
    found = yield from sentence.search(settings=replace(sentence.settings, rules=tuple(rules.items())))
    return found


def among_more(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """All hypotheses of a beam, of which one may have no fault; of a longer one where a part is missing."""
    if set(best.faults) <= {"doubtful", "spelled"}:
        return []
    settings = sentence.settings
    width = max(WIDER, settings.beam_size)
    patience = max(1.0, settings.patience)
    wider = replace(settings, beam_size=width, n_best=width, prune=float("inf"), patience=patience)
    if {"too short", "uncovered"} & set(best.faults):
        wider = replace(wider, length_penalty=min(MAX_LENGTH_PENALTY, settings.length_penalty + LONGER))
    found = yield from sentence.search(settings=wider)
    return found


REMEDIES: tuple[Remedy, ...] = (as_a_sentence, with_plain_quotes, with_placeholders, without_repetition, among_more)
"""In the order in which they are tried, until nothing is wrong."""


def uncovered(model: Seq2Seq, tokenizers: Tokenizers, prepared: Prepared, found: Translation) -> float:
    """The share of the words of a source that a translation of it does not attend to; 0 where that is not known."""
    if isinstance(model, Ensemble) or prepared.marked:
        return 0.0
    return attention_map(model, tokenizers, prepared.text, tokenizers.target.encode(found.text)).uncovered()
