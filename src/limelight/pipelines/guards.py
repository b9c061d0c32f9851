"""Guards: compare a translation with its source, search once more if something is lost, and warn.

What a translation says is what the model wrote. Guards compare its text with its source, for every language
alike, and name the faults in `Translation.warnings`:

    loop              it repeats itself, which its source does not; the repetition is cut
    placeholder lost  what was carried as a placeholder is missing or repeated
    number lost       a number of the source is missing, or has another value
    number added      none is missing, and it has a number that the source does not have
    address lost      a URL or an e-mail address is missing
    sign lost         a symbol is missing, or occurs more or less often
    too short         it has few tokens for its source, or none
    too long          it has many tokens for its source
    copied            it is equal to the source
    unknown script    the vocabulary has hardly any letter of the source

At first the model reads variables, names and numbers as they are: it knows most of them, and they say something. For
the faults in `SEARCHED` the sentence is searched once more, with a wider beam: with placeholders for its spans, and for
numbers and signs if one was lost; without repetition if there was a loop. The translation with the least severe faults
is kept. Samples, n-best lists and searches for given phrases only get warnings. docs/results.md has the measured
effect of the checks.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from limelight.decoding.request import Request, SearchSettings
from limelight.pipelines.codec import Codec, Part, names_of
from limelight.pipelines.job import Steps
from limelight.pipelines.translation import Translation
from limelight.text import checks
from limelight.text.kept_signs import changes_signs, find_signs
from limelight.text.marking import ANNOTATION, PLACEHOLDER, has_marks, mark_number
from limelight.text.numbers import SPACES, carried_numbers, compare_numbers
from limelight.text.spans import Span, protect_within, restore

SEVERITY = {
    "loop": 16,
    "placeholder lost": 16,
    "number lost": 4,
    "number added": 2,
    "address lost": 8,
    "sign lost": 4,
    "too short": 8,
    "too long": 8,
    "copied": 4,
    "unknown script": 2,
}
"""Weights of faults: of two translations of a sentence, the one with the smaller sum is kept."""
SEARCHED = frozenset({"loop", "placeholder lost", "number lost", "sign lost", "address lost"})
"""Faults for which a sentence is searched once more."""
CARRIED = frozenset({"number lost", "sign lost"})
"""Faults after which numbers and signs are placeholders."""
WRONG = frozenset({"loop", "too short", "too long", "unknown script"})
UNSURE = 0.1
"""Maximum confidence of such a translation: the features of the confidence do not cover these faults."""
UNKNOWN = 0.5
"""Minimum share of unknown letters of a source in an unknown script."""
WIDER = 4
"""Minimum beam size of the further search."""
MAX_NGRAM_TOKENS = 3
"""Maximum size of the n-grams whose repetition is forbidden."""

Search = Callable[[Part], Steps[list[Translation]]]
"""Searches a sentence: its translations, best first."""


def guarded(
    codec: Codec, part: Part, search: Search, plain: Part | None = None, spans: Sequence[Span] = ()
) -> Steps[list[Translation]]:
    """The translations of a sentence, the first with warnings; one, unless several were asked for. `plain` is the
    sentence with its spans as text, if it is searched first."""
    first, request = plain or part, part.request
    translations = yield from search(first)
    if request is None:
        return translations
    if plain is not None:
        translations = [
            replace(translation, text=_with_placeholders(translation.text, part.text, spans))
            for translation in translations
        ]
    best, settings = checked(codec, part, translations[0], first.request), request.settings
    is_final = settings.sampling is not None or settings.n_best > 1 or bool(request.phrases)
    if not is_final and not SEARCHED.isdisjoint(best.warnings):
        again, further = _again(codec, part, request, best)
        others = yield from search(again)
        if further:
            others = [replace(each, text=restore(each.text, further)[0]) for each in others]
        tried = [checked(codec, part, each, again.request) for each in others]
        best = min([best, *tried], key=_rank)
    if "loop" in best.warnings and not (is_final or part.prefix):
        best = replace(best, text=checks.cut_loops(part.text, best.text))
    if best.confidence is not None and not WRONG.isdisjoint(best.warnings):
        best = replace(best, confidence=min(UNSURE, best.confidence))
    return [best, *(translations[1:] if is_final else ())]


def _rank(translation: Translation) -> tuple[int, float]:
    """The better translation has the smaller one: the severity of its faults, then how unsure the model is."""
    sure = translation.confidence
    if sure is None:
        sure = math.exp(translation.log_probability / (len(translation.tokens) + 1))
    return sum(SEVERITY[fault] for fault in translation.warnings), -sure


def _with_placeholders(text: str, source: str, spans: Sequence[Span]) -> str:
    """A translation with placeholders in place of its spans. One that it has too often has its placeholder twice."""
    marks = defaultdict[str, list[str]](list)
    for mark in PLACEHOLDER.findall(source):
        marks[_spaced(spans[mark_number(mark)].text)].append(mark)
    longest_first = sorted(marks, key=len, reverse=True)
    pattern = "|".join(re.escape(each).replace("\\ ", f"[{SPACES}]") for each in longest_first)

    def next_placeholder(match: re.Match[str]) -> str:
        left = marks[_spaced(match[0])]
        return left.pop(0) if len(left) > 1 else left[0]

    return re.sub(pattern, next_placeholder, text)


def _spaced(text: str) -> str:
    """With ordinary spaces, which a model writes for others."""
    return re.sub(f"[{SPACES}]", " ", text)


def checked(codec: Codec, part: Part, translation: Translation, request: Request | None) -> Translation:
    """The translation of a request with its faults as warnings."""
    sizes = (len(request.source) if request else 0, len(translation.tokens))
    warnings = faults(ANNOTATION.sub("", part.text), translation.text, names_of(part.direction), sizes)
    if request is not None and codec.unknown_share(part.text, request) > UNKNOWN:
        warnings = (*warnings, "unknown script")
    return replace(translation, warnings=warnings) if warnings else translation


def faults(
    source: str, output: str, languages: tuple[str, str] = ("", ""), sizes: tuple[int, int] = (0, 0)
) -> tuple[str, ...]:
    """The faults of a translation of one sentence, as names of `SEVERITY`; empty for most. `languages` are those of
    source and output, and `sizes` their numbers of tokens."""
    changes = compare_numbers(checks.without_addresses(source), checks.without_addresses(output), languages)
    ours, theirs = PLACEHOLDER.findall(source), PLACEHOLDER.findall(output)
    holds_of = {
        "loop": checks.find_loop(source, output) is not None,
        "placeholder lost": ours != theirs and sorted(ours) != sorted(theirs),
        "number lost": bool(changes.lost),
        "number added": bool(changes.added) and not changes.lost,
        "address lost": checks.loses_address(source, output),
        "sign lost": changes_signs(source, output),
        "too short": sizes[1] < checks.SHORT * sizes[0] - checks.FEW / 4 or not output.strip(),
        "too long": sizes[1] > checks.LONG * sizes[0] + checks.FEW,
        "copied": checks.is_copied(source, output),
    }
    return tuple(name for name, holds in holds_of.items() if holds)


def _again(codec: Codec, part: Part, request: Request, best: Translation) -> tuple[Part, Sequence[Span]]:
    """The sentence for a further search, and its spans if it has further placeholders."""
    settings = _wider(request.settings)
    if loop := checks.find_loop(part.text, best.text):
        rules = {"no_repeat_ngram": min(MAX_NGRAM_TOKENS, max(2, loop.words)), **dict(settings.rules)}
        settings = replace(settings, rules=tuple(rules.items()))
    may_mark = codec.knows_placeholders and not part.prefix and (part.marked or not has_marks(part.text))
    if CARRIED.intersection(best.warnings) and may_mark:
        with suppress(ValueError):  # more spans than placeholders
            numbers = partial(carried_numbers, languages=names_of(part.direction), every=True)
            text, spans = protect_within(part.text, [numbers, find_signs])
            marked = part._replace(text=text, marked=True)
            return codec.encode(marked, settings, request.phrases), spans
    return part._replace(request=replace(request, settings=settings)), ()


def _wider(settings: SearchSettings) -> SearchSettings:
    """The settings for all hypotheses of a wider beam."""
    width = max(WIDER, settings.beam_size)
    return replace(settings, beam_size=width, n_best=width, prune=float("inf"), patience=max(1.0, settings.patience))
