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

A translation with one of the faults `WRONG` has little confidence. Where nothing is wrong, a guard costs a look at two
strings. What it does depends on the sentence alone, never on others in the batch. Draws (`sampling`) and lists
(`n_best` above 1) stay as the search found them: they have warnings alone.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from limelight.pipelines.job import Sentence, Steps
from limelight.pipelines.translation import Translation
from limelight.text import checks
from limelight.text.marks import MARK, PLACEHOLDER
from limelight.text.protect import protect, restore
from limelight.text.protectors import PROTECTORS, Found, Protector

SEVERITY = {
    "loop": 16,
    "placeholder lost": 16,
    "too short": 8,
    "too long": 8,
    "address lost": 8,
    "number lost": 4,
    "unknown script": 2,
    "copied": 4,
    "long": 1,
    "spelled": 1,
    "doubtful": 1,
}
"""Of two translations of a sentence the one whose faults weigh less is kept."""
UNTOLD = ("long", "spelled", "doubtful")
"""Faults that are no warnings: a few characters with more than three times as many; digits that became a word; text in
ALL CAPS of low confidence."""
WRONG = ("loop", "too short", "too long", "copied", "unknown script")
UNSURE = 0.1
"""The most confidence that such a translation has: the features of confidence do not know these faults."""
DOUBT = 0.5
"""Text in ALL CAPS with less confidence (without it, with a lower probability of a token) is searched again in small
letters."""
UNKNOWN = 0.5
"""A source with this share of unknown letters is in an unknown script."""
WIDER = 4
"""The beam in which a translation without faults is looked for, where that of the request is narrower."""
MAX_NGRAM_TOKENS = 3
"""No longer run of tokens is forbidden to come twice."""


class Attempt(NamedTuple):
    """A translation with what is wrong with it."""

    translation: Translation
    faults: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """The faults that a user is told."""
        return tuple(fault for fault in self.faults if fault not in UNTOLD)


NUMBERS = Protector("numbers", lambda text: [Found(*match.span()) for match in checks.NUMBER.finditer(text)])

Remedy = Callable[[Sentence, Attempt], Steps[list[Translation]]]
"""Searches again where it can help with the faults of an attempt; gives nothing where it cannot."""


def guarded(sentence: Sentence) -> Steps[Translation]:
    """The translation of a sentence, with warnings."""
    source = sentence.text
    if not any(letter.isalnum() for letter in MARK.sub("", source)):
        return replace(sentence.read(replace(sentence.prepared, request=None), ()), text=source)
    found = yield from sentence.search()
    best = looked_at(source, found[0])
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
        best = min([best, *(looked_at(source, each) for each in others)], key=_rank)
    if "loop" in best.faults:
        best = looked_at(source, replace(best.translation, text=checks.cut_loops(source, best.translation.text)))
    text = repaired(source, best)
    warnings = tuple(name for name in SEVERITY if name in best.warnings or (name == "loop" and looped))
    return replace(_unsure(best.translation, warnings), text=text, warnings=warnings)


def looked_at(source: str, translation: Translation) -> Attempt:
    """The translation with its faults."""
    found = faults(source, translation.text)
    doubtful = checks.is_capitals(source) and _sureness(translation) < DOUBT
    return Attempt(translation, (*found, "doubtful") if doubtful else found)


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
        "copied": checks.is_copied(source, output),
        "spelled": bool(checks.lost_numbers(source, output, spelled=False)),
        "long": len(output.strip()) > checks.LONG * len(source.strip()),
    }
    return tuple(name for name, holds in found.items() if holds)


def repaired(source: str, attempt: Attempt) -> str:
    """The text of an attempt with its faults put right as far as its text alone allows it, in capitals where the source
    is."""
    text = attempt.translation.text
    for fault, repair in REPAIRS.items():
        if fault in attempt.faults:
            text = repair(source, text)
    if checks.is_capitals(source) and not checks.is_capitals(text):
        text = checks.raised(text)
    return text


REPAIRS: dict[str, Callable[[str, str], str]] = {
    "too long": checks.cut_to_length,
    "number lost": checks.put_back_numbers,
    "address lost": checks.put_back_addresses,
}
"""(source, output) -> output, in this order."""


# ---- remedies


def in_small_letters(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """Of a source in ALL CAPS: the same in small letters, raised again."""
    if not (checks.is_capitals(sentence.text) and sentence.is_free):
        return []
    found = yield from sentence.search(checks.lowered(sentence.text))
    return [replace(each, text=checks.raised(each.text)) for each in found[:1]]


def with_placeholders(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """Addresses, and numbers if one was lost, are placeholders for the model, and come back as they were."""
    lost = {"address lost", "number lost", "spelled"} & set(best.faults)
    if not (lost and sentence.is_free and sentence.knows_placeholders):
        return []
    try:
        protected = protect(sentence.text, [PROTECTORS["addresses"], *[NUMBERS] * (lost != {"address lost"})])
    except ValueError:  # more of them than there are placeholders
        return []
    if not protected.has_words:
        return []
    found = yield from sentence.search(protected.text, marked=True)
    return [replace(each, text=restore(each.text, protected).text) for each in found]


def without_repetition(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """No run of tokens as long as the loop's comes twice."""
    loop = checks.find_loop(sentence.text, best.translation.text)
    if not loop:
        return []
    size = min(MAX_NGRAM_TOKENS, max(2, len(loop)))
    rules = {**dict(sentence.settings.rules), "no_repeat_ngram": size}
    found = yield from sentence.search(settings=replace(sentence.settings, rules=tuple(rules.items())))
    return found


def among_more(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """All hypotheses of a beam, of which one may have no fault."""
    if set(best.faults) <= {"doubtful", "spelled"}:
        return []
    settings = sentence.settings
    width = max(WIDER, settings.beam_size)
    patience = max(1.0, settings.patience)
    wider = replace(settings, beam_size=width, n_best=width, prune=float("inf"), patience=patience)
    found = yield from sentence.search(settings=wider)
    return found


REMEDIES: tuple[Remedy, ...] = (in_small_letters, with_placeholders, without_repetition, among_more)
"""In the order in which they are tried, until nothing is wrong."""
