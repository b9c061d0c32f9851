"""The way of one sentence: search, guards, repair of its placeholders, and another search for terms it does not use.

`translated` is a generator that yields requests to an engine, one at a time, and is sent their hypotheses.
Before, a translation memory may have the sentence, or one that is like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from limelight.config import Direction
from limelight.errors import UserError
from limelight.formats.translation_memory import MemoryMatch, SeveralMemories, TranslationMemory, fuzzy_match
from limelight.pipelines.codec import Codec, Part, Prepared, Steps, names_of, once, with_constraints
from limelight.pipelines.guards import guarded, in_capitals
from limelight.pipelines.options import Options
from limelight.pipelines.phrases import Phrases
from limelight.pipelines.repair_marks import repair
from limelight.pipelines.translation import Translation, joined, token_weights
from limelight.text.checks import is_capitals
from limelight.text.glossary import Match, phrases_of, unused_terms, whole_term, without_added_sentences
from limelight.text.marking import ANNOTATION, MARK, PLACEHOLDER, has_marks, mark_number
from limelight.text.plan import MarkedSentence, Plan
from limelight.text.spans import Span

OF_MARKS = ("placeholder lost", "phrase missing")
"""Warnings of a marked sentence that say nothing of the text: lost placeholders are put back, and phrases are terms."""


class Found(NamedTuple):
    """The translations of a sentence."""

    source: MarkedSentence
    translations: tuple[Translation, ...] = ()
    """Best first, with placeholders in their texts; those that lost none come before the others. Empty for a sentence
    that was not translated."""


def translated(codec: Codec, source: MarkedSentence, part: Part, options: Options) -> Steps[Found]:
    """The translations of a sentence. Where one of them lacks a term, it is searched again for those with all terms; of
    an n-best list, the others use at least as many terms as the best one."""
    found = _repaired(codec, source, part, (yield from _searched(codec, source, part, options)))
    n_best, languages = options.search.n_best, names_of(part.direction)
    if options.search.sampling is not None or not any(each.unused for each in found[:n_best]):
        return Found(source, tuple(found))
    phrases, again = Phrases(tuple(phrases_of(source.terms, found[0].text, languages[1]))), list[Translation]()
    with suppress(UserError):  # a term without tokens in the vocabulary
        asked = options.with_phrases(phrases, codec.constraints(phrases))
        again = _repaired(codec, source, part, (yield from _searched(codec, source, part, asked)))
        for place, each in enumerate(again):
            shorter = without_added_sentences(each.text, source.text, languages)
            again[place] = replace(each, unused=unused_targets(source.terms, shorter))
        again.sort(key=lambda each: (bool(each.moved or each.failed), len(each.unused)))
    best = again[0] if again and len(again[0].unused) < len(found[0].unused) else found[0]
    others = {each.text: each for each in reversed((*found, *again)) if len(each.unused) <= len(best.unused)}
    others.pop(best.text, None)
    ranked = sorted(others.values(), key=lambda each: -each.score)
    return Found(source, (best, *ranked[: n_best - 1]))


def _searched(codec: Codec, source: MarkedSentence, part: Part, options: Options) -> Steps[list[Translation]]:
    """The translations of a sentence by the search and the guards, best first."""
    plain = _plain(codec, source, part, options)
    prepared = with_constraints(codec.encode(part, options.search), options.constraints)
    search = partial(_search, codec, options)
    if options.checks(part.direction):
        first = None if plain is None else codec.encode(plain, options.search)
        found = yield from guarded(codec, prepared, search, first, source.spans)
    else:
        found = yield from search(prepared)
    if any(options.phrases):
        found[0] = replace(found[0], warnings=(*found[0].warnings, *options.phrases.warnings(found[0].text)))
    return found


MAX_PLAIN = 40
"""Maximum length of a span that the model reads as it is: a longer one takes many steps."""


def _plain(codec: Codec, source: MarkedSentence, part: Part, options: Options) -> Part | None:
    """The sentence with its spans as text; None if placeholders are needed at once: for spans that the vocabulary does
    not hold or that have structure, and for searches after which there is no further one."""
    numbers = [mark_number(mark) for mark in PLACEHOLDER.findall(part.text)]
    spans = [source.spans[number] for number in numbers if number < len(source.spans)]  # other marks are the text's own
    is_final = options.search.n_best > 1 or options.search.sampling is not None or any(options.phrases)
    if len(spans) < max(len(numbers), 1) or is_final or part.prefix or not options.checks(part.direction):
        return None
    if not all(each.name == "" and len(each.text) <= MAX_PLAIN and codec.holds(each.text) for each in spans):
        return None
    if is_capitals(part.text):
        return None
    text = PLACEHOLDER.sub(lambda mark: source.spans[mark_number(mark[0])].text, part.text)
    return part._replace(text=text, marked=has_marks(text)) if codec.fits(text) else None


def _search(codec: Codec, options: Options, prepared: Prepared) -> Steps[list[Translation]]:
    """The translations of a sentence by one search, or several if an excluded phrase occurs in other tokens. The model
    reads a source in capitals in sentence case, as its training text mostly is; capitals are put back."""
    (part, request), phrases = prepared, options.phrases
    if request is None:
        return [codec.finish(prepared)]
    text, checked = part.text, options.checks(part.direction)
    if checked and not any(map(str.isalnum, text)):  # marks are not alphanumeric
        return [replace(codec.finish(prepared), text=text)]
    is_free = checked and not (request.prefix or any(phrases) or ANNOTATION.search(text))
    capitals = is_free and is_capitals(text)
    asked = codec.recased(prepared) if capitals else prepared
    assert asked.request is not None
    steps = codec.phrase_tokens.searched(asked.request, phrases) if any(phrases) else once(asked.request)
    best = codec.finish(asked, (yield from steps))
    found = [replace(best, alternatives=()), *best.alternatives] if best.alternatives else [best]
    if asked is not prepared:
        found = [replace(each, source=text) for each in found]
    return list(map(in_capitals, found)) if capitals else found


def _repaired(
    codec: Codec, source: MarkedSentence, part: Part, translations: Sequence[Translation]
) -> list[Translation]:
    """The translations with their placeholders repaired; the first that lost none comes first."""
    if not (part.marked or source.spans or source.terms):
        return list(translations)
    warnings = tuple(name for name in translations[0].warnings if name not in OF_MARKS)
    found = [
        replace(
            repair(codec, source, each, part.direction),
            warnings=warnings,
            words=tuple(replace(word, text=with_spans(word.text, source.spans)) for word in each.words),
        )
        for each in translations
    ]
    found = [replace(each, unused=unused_targets(source.terms, each.text)) for each in found]
    first = next((place for place, each in enumerate(found) if not (each.moved or each.failed)), 0)
    found.insert(0, found.pop(first))
    return found


def unused_targets(terms: Sequence[Match], text: str) -> tuple[str, ...]:
    """The targets of the terms that a translation does not use."""
    return tuple(match.term.target for match in unused_terms(terms, text))


def with_spans(text: str, spans: Sequence[Span]) -> str:
    """A marked text with its spans in place of the placeholders."""
    return MARK.sub(lambda mark: spans[number].text if (number := mark_number(mark[0])) < len(spans) else "", text)


def joined_sentences(plan: Plan, found: Sequence[Found], source_lang_confidence: float | None = None) -> Translation:
    """The translation of a text from those of its sentences; that of a text without sentences has no tokens.

    The alternative of a rank consists of the alternatives of this rank of each sentence, or of its last one. Sentences
    have the same weights in all of them, so that the list is in the order of scores.
    """
    sentences = [each.translations for each in found if each.translations]
    if not sentences:
        text = "" if plan.is_plain else plan.join([None for _ in found])[0]
        return Translation(text, 0.0, (), 0.0, plan.text, finished=True, source_lang_confidence=source_lang_confidence)
    weights, ranks = token_weights([each[0] for each in sentences]), list[Translation]()
    for rank in range(max(map(len, sentences))):
        chosen = [each[: rank + 1][-1] for each in sentences]
        texts = iter(chosen)
        text, failed = plan.join([next(texts).text if each.translations else None for each in found])
        ranks.append(joined(plan.text, text, chosen, weights, failed))
    return replace(ranks[0], alternatives=tuple(ranks[1:]), source_lang_confidence=source_lang_confidence)


def matches_of(options: Options, text: str, direction: Direction | None) -> tuple[MemoryMatch, ...]:
    """The segments like a text, best first; none for a search with phrases, which are asked of the model."""
    memory = _memory(options, direction)
    return tuple(memory.find(text)) if memory is not None and text.strip() else ()


def reused(source: str, match: MemoryMatch, direction: Direction | None) -> Translation:
    """The translation of a text by a segment with the same source, with the white space at the ends of the text."""
    begin, end = source[: len(source) - len(source.lstrip())], source[len(source.rstrip()) :]
    return replace(_known(source, f"{begin}{match.target.strip()}{end}", direction), matches=(match,))


def _known(source: str, text: str, direction: Direction | None) -> Translation:
    """A translation without a search."""
    own, target = names_of(direction)
    return Translation(text, 0.0, (), 0.0, source, finished=True, source_lang=own, target_lang=target)


def known_sentence(options: Options, source: MarkedSentence, direction: Direction | None) -> Found | None:
    """The result for a sentence without spans that is a segment of the memory, or a term; None for others."""
    if source.numbers:
        return None
    memory = _memory(options, direction)
    match = memory.exact(source.text) if memory is not None else None
    if match is not None:
        found = reused(source.text, match, direction)
    elif term := whole_term(source.sent, source.terms):
        found = _known(source.text, term, direction)
    else:
        return None
    return Found(source, (found,))


def similar_target(options: Options, source: str, direction: Direction | None) -> str:
    """The translation of the most similar segment with another source; empty if there is none."""
    memory = _memory(options, direction)
    match = fuzzy_match(memory, source) if memory is not None else None
    return match.target if match else ""


def _memory(options: Options, direction: Direction | None) -> TranslationMemory | SeveralMemories | None:
    """The memory of a direction; None for a search with phrases."""
    if options.memory is None or any(options.phrases):
        return None
    return options.memory.of(*names_of(direction))
