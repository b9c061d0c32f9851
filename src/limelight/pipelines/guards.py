"""Guards: detect faults of a translation by its source, search again, and repair.

Each translation is checked (`faults`). If it has faults, the sentence is searched again with each of the `REMEDIES` in
turn, and the best result is kept; remaining faults are repaired in the text if possible (`repaired`). `warnings` of the
translation name the faults that were found:

    loop              it repeated itself; it was searched again, or the repetition was removed
    too short         much of the source cannot have a counterpart
    too long          it had more than three times the characters of the source; truncated if it still has
    copied            it is equal to the source
    unknown script    the vocabulary has hardly any letter of the source
    number lost       a number of the source was missing; it may have replaced another number
    address lost      a URL or an e-mail address was missing, and was inserted at its probable place
    placeholder lost  a placeholder of marked text is missing or duplicated
    quotation lost    a quotation mark of the source is missing
    uncovered         it is short, and a part of the source was not attended to

A translation with one of the faults in `WRONG` has low confidence. Without faults a guard only compares two strings.
Guards are batch-invariant: they depend only on the sentence. Results of `sampling` and of `n_best` above 1 are not
changed: they only get warnings.
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
"""Weights of faults: of several translations of a sentence the one with the smallest sum is kept."""
UNTOLD = ("long", "spelled", "doubtful")
"""Faults that are not reported as warnings: a few characters with more than three times as many in the output; digits
that became a word; a source in capitals or title case, which is always also searched in sentence case."""
WRONG = ("loop", "too short", "too long", "copied", "unknown script", "uncovered")
UNSURE = 0.1
"""Maximum confidence of such a translation: the features of the confidence do not cover these faults."""
UNKNOWN = 0.5
"""Minimum share of unknown letters of a source in an unknown script."""
BRIEF = 0.6
"""A translation with a smaller ratio of characters to its source is brief: its attention weights are checked."""
MIN_WORDS = 5
"""Minimum number of source words for that check."""
UNCOVERED = 0.25
"""Minimum share of source words without attention for the fault `uncovered`."""
WIDER = 4
"""Minimum beam size of the search for a translation without faults."""
LONGER = 0.5
"""Increase of its length penalty if a part of the source is missing."""
MAX_NGRAM_TOKENS = 3
"""Maximum size of the n-grams whose repetition is forbidden."""


class Attempt(NamedTuple):
    """A translation with its faults."""

    translation: Translation
    faults: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The faults that are reported to the user."""
        return tuple(fault for fault in self.faults if fault not in UNTOLD)


QUOTES = Protector("quotes", lambda text: [Found(*match.span()) for match in checks.QUOTE.finditer(text)])
NUMBERS = Protector("numbers", lambda text: [Found(*match.span()) for match in checks.NUMBER.finditer(text)])

Remedy = Callable[[Sentence, Attempt], Steps[list[Translation]]]
"""Searches again if it can help with the faults of an attempt; else returns an empty list."""


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
    """Whether a source is in title case, apart from names and nouns that are always capitalized."""
    source = sentence.text
    if not checks.is_title(source):
        return False
    plain = sentence.recase(source)
    return sum(one != other for one, other in zip(source.split(), plain.split(), strict=False)) >= 2


def _sureness(translation: Translation) -> float:
    """Its confidence; if unknown, the geometric mean of the probabilities of its tokens."""
    if translation.confidence is not None:
        return translation.confidence
    return math.exp(translation.log_probability / (len(translation.tokens) + 1))


def _rank(attempt: Attempt) -> tuple[int, float]:
    """Sort key of attempts, the best first."""
    return sum(SEVERITY[fault] for fault in attempt.faults), -_sureness(attempt.translation)


def _unsure(translation: Translation, warnings: Sequence[str]) -> Translation:
    """The translation with its confidence limited by its warnings."""
    if translation.confidence is None or not set(warnings) & set(WRONG):
        return translation
    return replace(translation, confidence=min(UNSURE, translation.confidence))


def faults(source: str, output: str) -> tuple[str, ...]:
    """The faults of a translation of one sentence, as names of `SEVERITY`; empty for most."""
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
    """The text of an attempt with its faults repaired as far as possible, in the case of the source."""
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
"""Fault -> repair (source, output) -> output, applied in this order."""


# ---- remedies


def as_a_sentence(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """For a source in capitals or title case: translate it in sentence case, then restore the case."""
    capitals = checks.is_capitals(sentence.text)
    if not ((capitals or in_title_case(sentence)) and sentence.is_free):
        return []
    found = yield from sentence.search(sentence.recase(sentence.text))
    raised = checks.raised if capitals else checks.titled
    return [replace(each, text=raised(each.text)) for each in found[:1]]


def with_plain_quotes(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """For a source with typographic quotation marks: translate it with straight ones, then insert those of the target
    language."""
    plain = checks.plain_quotes(sentence.text)
    if "quotation lost" not in best.faults or plain == sentence.text or not sentence.is_free:
        return []
    found = yield from sentence.search(plain)
    _, language = names_of(sentence.prepared.direction)
    return [replace(each, text=checks.styled_quotes(checks.plain_quotes(each.text), language)) for each in found[:1]]


def with_placeholders(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """Protect addresses, and also numbers or quotation marks if one was lost, by placeholders."""
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
    """Forbid repeated n-grams of the loop's length."""
    loop = checks.find_loop(sentence.text, best.translation.text)
    if not loop or sentence.request.constraints.include:  # a phrase might not be permitted any more
        return []
    size = min(MAX_NGRAM_TOKENS, max(2, len(loop)))
    rules = {**dict(sentence.settings.rules), "no_repeat_ngram": size}
    found = yield from sentence.search(settings=replace(sentence.settings, rules=tuple(rules.items())))
    return found


def among_more(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """All hypotheses of a wider beam; with a larger length penalty if a part is missing."""
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
"""In the order in which they are tried, until there is no fault."""


def uncovered(model: Seq2Seq, tokenizers: Tokenizers, prepared: Prepared, found: Translation) -> float:
    """The share of source words to which a translation does not attend; 0 if unknown."""
    if isinstance(model, Ensemble) or prepared.marked:
        return 0.0
    return attention_map(model, tokenizers, prepared.text, tokenizers.target.encode(found.text)).uncovered()
