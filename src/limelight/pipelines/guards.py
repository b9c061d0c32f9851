"""Guards: detect faults of a translation by its source, search again, and repair.

Each translation is checked (`checked`). If it has faults, the sentence is searched again with each of the `REMEDIES` in
turn, and the best result is kept; remaining faults are repaired in the text if possible (`repaired`). `warnings` of the
translation name the faults that the returned text has:

    loop              it repeated itself; the repetition was removed
    too short         much of the source cannot have a counterpart
    too long          it has more than three times the characters of the source
    copied            it is equal to the source
    negation          only one side has a negation, one says "must not" and the other "need not", or an "unless" is lost
    unknown script    the vocabulary has hardly any letter of the source
    number lost       a number of the source is missing, or has another value
    number added      none is missing, and it has a number that the source does not have
    numbers swapped   two numbers of a list or range are in the other order
    number word lost  a number in words is neither in words nor in digits in the output
    date order        a date is not written as its language does, or an ordinal has the form of another language
    unit lost         a unit or a currency next to a number is missing
    emphasis lost     words between asterisks are there without them
    spelling changed  a code or abbreviation is there with letters of another case, or with another letter
    sign lost         a sign, or a word with a letter that the vocabulary does not hold, is missing or repeated, or the
                      words on its sides are in the other order, or a letter such as that of "plan B" is missing
    address lost      a URL or an e-mail address was missing, and was appended
    placeholder lost  a placeholder of marked text is missing or duplicated
    quotation lost    a quotation mark of the source is missing
    uncovered         it is short, and a part of the source was not attended to; or nothing is left between two signs,
                      or before the path of a menu

A fault that another search or a repair has removed is not reported. What was cut or appended is, because the rest of
such a text is not reliable either. `NOT_SEARCHED` has the guards that do not search again, because other translations
would not be better. A translation with one of the faults in `WRONG` has low confidence.

Correct translations can have one of the faults in `POSSIBLE`, so another translation is only taken if the model is at
least as sure of it. docs/translation.md has the measured effect of each guard. Without faults a guard only compares two
strings. Guards are batch-invariant: they depend only on the sentence. Samples, n-best lists and searches for given
phrases are not changed: they only get warnings.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from limelight.config import MAX_LENGTH_PENALTY
from limelight.decoding.request import Request
from limelight.pipelines.codec import Sentence, Steps, names_of
from limelight.pipelines.translation import Translation
from limelight.text import checks
from limelight.text.glossary import is_used
from limelight.text.kept_signs import (
    changed_signs,
    find_foreign_words,
    find_signs,
    lost_parts,
    put_back_signs,
    swapped_sides,
    without_lost_emphasis,
)
from limelight.text.languages import normal_code
from limelight.text.marking import PLACEHOLDER, TERM_BEGIN, TERM_END
from limelight.text.number_changes import put_back_numbers, reversed_dates
from limelight.text.number_order import swapped_numbers
from limelight.text.numbers import lost_number_words
from limelight.text.ordinals import keeps_ordinals
from limelight.text.polarity import changes_polarity
from limelight.text.protectors import PROTECTORS, numbers, spans_by
from limelight.text.spelling import find_letters, lost_letters, misspelled, put_back_spellings

SEVERITY = {
    "loop": 16,
    "placeholder lost": 16,
    "too short": 8,
    "too long": 8,
    "address lost": 8,
    "number lost": 4,
    "number added": 2,
    "numbers swapped": 2,
    "number word lost": 1,
    "date order": 1,
    "unit lost": 2,
    "spelling changed": 1,
    "sign lost": 4,
    "emphasis lost": 1,
    "unknown script": 2,
    "uncovered": 4,
    "quotation lost": 2,
    "copied": 4,
    "negation": 1,
    "term lost": 8,
    "doubtful": 1,
}
"""Weights of faults: of several translations of a sentence the one with the smallest sum is kept."""
NOT_SEARCHED = frozenset(
    {
        "copied",
        "negation",
        "too long",
        "number added",
        "numbers swapped",
        "number word lost",
        "date order",
        "spelling changed",
        "term lost",
        "emphasis lost",
        "quotation lost",
        "uncovered",
    }
)
"""Faults for which a sentence is not searched again: what is equal to the source can be in the target language already,
where a negation belongs is not known, the form of a date and the case of a code are repaired in the text, and other
hypotheses than one that is too long, has a number more or two in the other order, lacks emphasis or a quotation mark,
or may leave out a part are no better."""
DOUBTFUL = "doubtful"
"""A source in capitals or title case, which is always also searched in sentence case."""
UNTOLD = frozenset({DOUBTFUL, "term lost"})
"""Faults that are not reported. Terms that a translation does not use are searched for and reported by
`pipelines/sentence.py`; here the fault only keeps a translation without them from replacing one that has them."""
OF_NUMBERS = frozenset({"number lost", "number added", "unit lost"})
POSSIBLE = frozenset({"unit lost", DOUBTFUL})
"""Faults that a correct translation can have."""
WRONG = frozenset({"loop", "too short", "too long", "unknown script"})
UNSURE = 0.1
"""Maximum confidence of such a translation: the features of the confidence do not cover these faults."""
UNKNOWN = 0.5
"""Minimum share of unknown letters of a source in an unknown script."""
BRIEF = 0.6
"""A translation with a smaller ratio of characters to its source is brief: its attention weights are checked."""
MIN_WORDS = 5
"""Minimum number of source words for that check."""
FEWER = 0.75
"""Maximum ratio of its words to those of its source: German compounds have many characters."""
CONFIDENT = 0.1
"""Minimum confidence of a translation that may be brief without that check, for which the model has to run again."""
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
    def severity(self) -> int:
        """The sum of the weights of its faults."""
        return sum(SEVERITY[fault] for fault in self.faults)

    @property
    def to_remedy(self) -> frozenset[str]:
        """The faults for which the sentence is searched again."""
        return frozenset(self.faults) - NOT_SEARCHED

    @property
    def warnings(self) -> tuple[str, ...]:
        """The faults that are reported to the user."""
        return tuple(fault for fault in self.faults if fault not in UNTOLD)


TERM = re.compile(f"{TERM_BEGIN}([^{TERM_END}]*){TERM_END}")
"""The target form of an annotated term."""
Remedy = Callable[[Sentence, Attempt], Steps[list[Translation]]]
"""Searches again if it can help with the faults of an attempt; else returns an empty list."""


def guarded(sentence: Sentence) -> Steps[Translation]:
    """The translation of a sentence, with warnings."""
    source = sentence.text
    if not any(map(str.isalnum, source)):  # marks are not alphanumeric
        return replace(sentence.codec.finish(replace(sentence.prepared, request=None)), text=source)
    found = yield from sentence.search()
    best = checked(sentence, found[0])
    if sentence.codec.unknown_share(source, sentence.request) > UNKNOWN:
        warnings = ("unknown script",)
        return _unsure(replace(found[0], text=source, warnings=warnings, alternatives=tuple(found[1:])))
    if _is_final(sentence.request):
        return _unsure(replace(found[0], warnings=best.warnings, alternatives=tuple(found[1:])))
    for remedy in REMEDIES:
        if not best.to_remedy:
            break
        if "loop" in best.faults:
            sentence = without_repetition(sentence, best.translation.text)
        others = yield from remedy(sentence, best)
        best = better(best, [checked(sentence, each) for each in others])
    if not best.faults:  # most translations
        return best.translation
    best = repaired(sentence, best)
    return _unsure(replace(best.translation, warnings=best.warnings))


def without_repetition(sentence: Sentence, looping: str) -> Sentence:
    """The sentence for searches in which no n-gram of the length of a loop occurs twice."""
    size = min(MAX_NGRAM_TOKENS, max(2, len(checks.find_loop(sentence.text, looping))))
    rules = dict(sentence.settings.rules)
    rules["no_repeat_ngram"] = min(size, rules.get("no_repeat_ngram", size))
    request = replace(sentence.request, settings=replace(sentence.settings, rules=tuple(rules.items())))
    return replace(sentence, prepared=replace(sentence.prepared, request=request), request=request)


def _is_final(request: Request) -> bool:
    """Whether guards only warn: of samples, of n-best lists, and of searches for given phrases, whose other hypotheses
    often have a phrase at a wrong place."""
    return request.settings.sampling is not None or request.settings.n_best > 1 or bool(request.constraints.include)


def better(best: Attempt, others: Sequence[Attempt]) -> Attempt:
    """The attempt with the least severe faults, of equal ones the surest. If all faults of `best` are `POSSIBLE` ones,
    an attempt that is less sure cannot replace it, nor one without fewer faults, but for a source that is doubtful."""
    if best.to_remedy <= POSSIBLE:
        others = [each for each in others if _sureness(each.translation) >= _sureness(best.translation)]
        if DOUBTFUL not in best.faults:
            others = [each for each in others if each.severity < best.severity]
    return min([best, *others], key=lambda each: (each.severity, -_sureness(each.translation)))


def checked(sentence: Sentence, translation: Translation) -> Attempt:
    """The translation with its faults."""
    source, text = _without_terms(sentence.text), translation.text
    found = faults(source, text, names_of(sentence.prepared.direction))
    is_certain = "loop" in found or "too short" in found or (translation.confidence or 0.0) >= CONFIDENT
    if not is_certain and is_brief(source, text):
        share = sentence.codec.uncovered(sentence.prepared, translation)
        found = (*found, "uncovered") if share >= UNCOVERED else found
    if "sign lost" not in found and lost_parts(source, sentence.unheld(source), text):
        found = (*found, "sign lost")
    if misspelled(sentence.text, text):
        found = (*found, "spelling changed")
    if not all(is_used(term.strip(), text) for term in TERM.findall(sentence.text)):
        found = (*found, "term lost")
    has_capitals = not source[1:].islower()  # most do not
    doubtful = has_capitals and (checks.is_capitals(source) or in_title_case(sentence))
    return Attempt(translation, (*found, DOUBTFUL) if doubtful else found)


def is_brief(source: str, output: str) -> bool:
    """Whether an output is so short, in characters and in words, that a part of its source may be missing."""
    if len(output) >= BRIEF * len(source):
        return False
    words = len(checks.WORD.findall(source))
    return words >= MIN_WORDS and len(checks.WORD.findall(output)) <= FEWER * words


def in_title_case(sentence: Sentence) -> bool:
    """Whether a source is in title case, apart from names and nouns that are always capitalized."""
    source = sentence.text
    if not checks.is_title(source):
        return False
    plain = sentence.codec.recase(source)
    return sum(one != other for one, other in zip(source.split(), plain.split(), strict=False)) >= 2


def _without_terms(text: str) -> str:
    """Marked text without the target forms of its annotated terms."""
    return TERM.sub("", text)


def _sureness(translation: Translation) -> float:
    """Its confidence; if unknown, the geometric mean of the probabilities of its tokens."""
    if translation.confidence is not None:
        return translation.confidence
    return math.exp(translation.log_probability / (len(translation.tokens) + 1))


def _unsure(translation: Translation) -> Translation:
    """The translation with its confidence limited by its warnings."""
    if translation.confidence is None or WRONG.isdisjoint(translation.warnings):
        return translation
    return replace(translation, confidence=min(UNSURE, translation.confidence))


def faults(source: str, output: str, languages: tuple[str, str] = ("", "")) -> tuple[str, ...]:
    """The faults of a translation of one sentence, as names of `SEVERITY`; empty for most. `languages` are those of
    source and output; the checks of numbers and negations need them."""
    changes = checks.changed_numbers(source, output, languages)
    bare = without_lost_emphasis(source, output)
    found = {
        "loop": bool(checks.find_loop(source, output)),
        "placeholder lost": _loses_placeholders(source, output),
        "too short": checks.is_too_short(source, output) or not output.strip(),
        "too long": checks.is_too_long(source, output),
        "sign lost": bool(
            changed_signs(bare, output)
            or swapped_sides(source, output)
            or lost_parts(source, find_foreign_words(source, languages), output)
            or lost_letters(source, output, languages)
        ),
        "emphasis lost": bare != source,
        "address lost": bool(checks.lost_addresses(source, output)),
        "number lost": bool(changes.lost),
        "number added": bool(changes.added) and not changes.lost,
        "numbers swapped": swapped_numbers(source, output, languages),
        "number word lost": bool(lost_number_words(source, output, languages)),
        "date order": bool(reversed_dates(source, output, languages)) or keeps_ordinals(source, output, languages),
        "unit lost": checks.has_other_units(source, output, languages),
        "quotation lost": bool(checks.lost_quotes(source, output)),
        "copied": checks.is_copied(source, output),
        "negation": changes_polarity(source, output, *languages),
    }
    return tuple(name for name, holds in found.items() if holds)


def _loses_placeholders(source: str, output: str) -> bool:
    ours, theirs = PLACEHOLDER.findall(source), PLACEHOLDER.findall(output)
    return ours != theirs and sorted(ours) != sorted(theirs)


def repaired(sentence: Sentence, attempt: Attempt) -> Attempt:
    """The attempt with its faults repaired in its text as far as possible, in capitals if the source is. Faults whose
    repair cuts or appends something remain."""
    source, best, remaining = _without_terms(sentence.text), attempt, set[str]()
    if {"number lost", "date order"} & set(best.faults):
        languages = names_of(sentence.prepared.direction)
        best = _changed(sentence, best, put_back_numbers(source, best.translation.text, languages))
    if "spelling changed" in best.faults:
        best = _changed(sentence, best, put_back_spellings(sentence.text, best.translation.text))
    if "sign lost" in best.faults:
        parts = [*sentence.unheld(source), *find_foreign_words(source, names_of(sentence.prepared.direction))]
        if not sentence.knows_placeholders:  # words are there, in a wrong spelling
            parts = [each for each in parts if not any(map(str.isalnum, source[slice(*each)]))]
        text = put_back_signs(source, best.translation.text, parts)
        remaining |= {"sign lost"} if text != best.translation.text else set()
        best = _changed(sentence, best, text)
    for repairs in (CUTS, REPAIRS, ADDITIONS):
        for fault, repair in repairs.items():
            if fault in best.faults:
                remaining |= {fault} if repairs is not REPAIRS else set()
                best = _changed(sentence, best, repair(source, best.translation.text))
    text = best.translation.text
    if checks.is_capitals(source) and not checks.is_capitals(text):
        forced = sentence.forced
        best = best._replace(translation=replace(best.translation, text=forced + checks.raised(text[len(forced) :])))
    return best._replace(faults=tuple(name for name in SEVERITY if name in {*remaining, *best.faults}))


def _changed(sentence: Sentence, attempt: Attempt, text: str) -> Attempt:
    """The attempt with another text, checked again; the same where that would not begin with the prefix."""
    if text == attempt.translation.text or not text.startswith(sentence.forced):
        return attempt
    return checked(sentence, replace(attempt.translation, text=text))


Repair = Callable[[str, str], str]
"""From source and output to a better output."""

CUTS: dict[str, Repair] = {"loop": checks.cut_loops}
"""Fault -> repair that removes a part of the output."""
REPAIRS: dict[str, Repair] = {
    "address lost": checks.put_back_addresses,
    "quotation lost": checks.put_back_quotes,
}
"""Fault -> repair that puts back what is missing, where its place is known."""
ADDITIONS: dict[str, Repair] = {"address lost": checks.append_addresses}
"""Fault -> repair that appends what is missing."""


# ---- remedies


def as_a_sentence(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """For a source in capitals or title case: translate it in sentence case, then restore capitals. Title case is not
    restored: German and French do not have it."""
    capitals = checks.is_capitals(sentence.text)
    if not ((capitals or in_title_case(sentence)) and sentence.is_free):
        return []
    found = yield from sentence.search(sentence.codec.recase(sentence.text))
    return [replace(each, text=checks.raised(each.text)) if capitals else each for each in found[:1]]


CODE = [PROTECTORS[name] for name in ("templates", "variables", "names")]
"""Signs with the words that belong to them, such as `{x}`."""


def with_placeholders(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """Protect addresses, and also all numbers or signs if one has changed, by placeholders."""
    wrong = {"address lost", "sign lost", *OF_NUMBERS} & set(best.faults)
    if not (wrong and sentence.is_free and sentence.knows_placeholders):
        return []
    languages, protectors = names_of(sentence.prepared.direction), [PROTECTORS["addresses"]]
    if "sign lost" in best.faults:
        protectors += [*CODE, spans_by(find_signs), spans_by(partial(find_foreign_words, languages=languages))]
        protectors.append(spans_by(partial(find_letters, language=normal_code(languages[0]))))
    if OF_NUMBERS & set(best.faults):
        protectors.append(numbers(languages[0], every=True))
    found = yield from sentence.search(protectors=protectors)
    return found


def again(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """Search again if there is a loop: no search of this sentence repeats itself from now on."""
    if "loop" not in best.faults:
        return []
    found = yield from sentence.search()
    return found


def among_more(sentence: Sentence, best: Attempt) -> Steps[list[Translation]]:
    """All hypotheses of a wider beam; with a larger length penalty if a part is missing."""
    if best.to_remedy <= {DOUBTFUL}:
        return []
    settings = sentence.settings
    width = max(WIDER, settings.beam_size)
    patience = max(1.0, settings.patience)
    wider = replace(settings, beam_size=width, n_best=width, prune=float("inf"), patience=patience)
    if "too short" in best.faults:
        wider = replace(wider, length_penalty=min(MAX_LENGTH_PENALTY, settings.length_penalty + LONGER))
    found = yield from sentence.search(settings=wider)
    return found


REMEDIES: tuple[Remedy, ...] = (as_a_sentence, with_placeholders, again, among_more)
"""In the order in which they are tried, until there is no fault."""
