"""The way of one sentence: search, guards, repair of its placeholders, and another search for terms it does not use.

`translated` is a generator that yields requests to an engine, one at a time, and is sent their hypotheses.
Before, a translation memory may have the sentence, or one that is like it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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
from limelight.pipelines.repair_marks import Repaired, repair
from limelight.pipelines.translation import Translation, Word, joined, token_weights
from limelight.text.checks import is_capitals
from limelight.text.glossary import Match, phrases_of, unused_terms, whole_term, without_added_sentences
from limelight.text.marking import ANNOTATION, MARK, PLACEHOLDER, has_marks, mark_number
from limelight.text.plan import MarkedSentence, Plan
from limelight.text.sentences import NO_BREAK
from limelight.text.spans import Span

OF_MARKS = ("placeholder lost", "phrase missing")
"""Warnings of a marked sentence that say nothing of the text: lost placeholders are put back, and phrases are terms."""


class Rank(NamedTuple):
    """A translation of a sentence, with its placeholders."""

    repaired: Repaired
    translation: Translation
    unused: tuple[Match, ...] = ()
    """Terms that it does not use."""


class Found(NamedTuple):
    """The result for a sentence."""

    source: MarkedSentence
    ranks: tuple[Rank, ...] = ()
    """Best first; those with all their placeholders come before the others. Empty for a sentence that was not
    translated."""

    @property
    def unused(self) -> int:
        """How many terms the best translation does not use."""
        return len(self.ranks[0].unused) if self.ranks else 0


def translated(codec: Codec, source: MarkedSentence, part: Part, options: Options) -> Steps[Found]:
    """The translations of a sentence. Where one of them lacks a term, it is searched again for those with all terms; of
    an n-best list, the others use at least as many terms as the best one."""
    found = _found(codec, source, part, (yield from _searched(codec, source, part, options)))
    if options.search.sampling is not None or not any(rank.unused for rank in found.ranks[: options.search.n_best]):
        return found
    phrases = Phrases(tuple(phrases_of(source.terms, found.ranks[0].repaired.text, names_of(part.direction)[1])))
    try:
        constraints = codec.constraints(phrases)
    except UserError:  # a term without tokens in the vocabulary
        return _with_others(found, found.ranks, options)
    again = yield from _searched(codec, source, part, options.with_phrases(phrases, constraints))
    other = _found(codec, source, part, again)
    ends = names_of(part.direction)
    shorter = [without_added_sentences(rank.repaired.text, source.text, ends) for rank in other.ranks]
    ranks = [
        rank._replace(unused=unused_terms(source.terms, text)) for rank, text in zip(other.ranks, shorter, strict=True)
    ]
    ranks.sort(key=lambda rank: (not rank.repaired.is_whole, len(rank.unused)))
    other = other._replace(ranks=tuple(ranks))
    return _with_others(other if other.unused < found.unused else found, (*found.ranks, *ranks), options)


def _with_others(found: Found, ranks: Sequence[Rank], options: Options) -> Found:
    """The best translation, and those of `ranks` that use as many terms, each text once."""
    others = {rank.repaired.text: rank for rank in reversed(ranks) if len(rank.unused) <= found.unused}
    others.pop(found.ranks[0].repaired.text, None)
    best = sorted(others.values(), key=lambda rank: -rank.translation.score)
    return found._replace(ranks=(found.ranks[0], *best[: options.search.n_best - 1]))


def _searched(codec: Codec, source: MarkedSentence, part: Part, options: Options) -> Steps[Translation]:
    """The translation of a sentence by the search and the guards, with its alternatives."""
    plain = _plain(codec, source, part, options)
    prepared, *first = codec.encode([part, *([plain] if plain else [])], options.search)
    prepared = with_constraints(prepared, options.constraints)
    search = partial(_search, codec, options)
    if options.checks(part.direction):
        found = yield from guarded(codec, prepared, search, first[0] if first else None, source.spans)
    else:
        best, *others = yield from search(prepared)
        found = replace(best, alternatives=tuple(others)) if others else best
    if not any(options.phrases):
        return found
    return replace(found, warnings=(*found.warnings, *options.phrases.warnings(found.text)))


MAX_PLAIN = 40
"""Maximum length of a span that the model reads as it is: a longer one takes many steps."""


def _plain(codec: Codec, source: MarkedSentence, part: Part, options: Options) -> Part | None:
    """The sentence with its spans as text; None if placeholders are needed at once: for spans that the vocabulary does
    not hold or that have structure, and for searches after which there is no further one."""
    spans = [source.spans[mark_number(mark)] for mark in PLACEHOLDER.findall(part.text)]
    is_final = options.search.n_best > 1 or options.search.sampling is not None or any(options.phrases)
    if not spans or is_final or part.prefix or not options.checks(part.direction):
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
    if prepared.request is None:
        return [codec.finish(prepared)]
    if options.checks(prepared.direction) and not any(map(str.isalnum, prepared.text)):  # marks are not alphanumeric
        return [replace(codec.finish(replace(prepared, request=None)), text=prepared.text)]
    asked, capitals, phrases = prepared, False, options.phrases
    is_free = not (prepared.request.prefix or any(phrases) or ANNOTATION.search(prepared.text))
    if is_free and options.checks(prepared.direction):
        capitals = is_capitals(prepared.text)
        asked = codec.recased(prepared) if capitals else prepared
    assert asked.request is not None
    steps = codec.phrase_tokens.searched(asked.request, phrases) if any(phrases) else once(asked.request)
    found = codec.finish(asked, (yield from steps))
    several = [found] if not found.alternatives else [replace(found, alternatives=()), *found.alternatives]
    if asked is not prepared:
        several = [replace(each, source=prepared.text) for each in several]
    return in_capitals(several) if capitals else several


def _found(codec: Codec, source: MarkedSentence, part: Part, translation: Translation) -> Found:
    """The translations of a sentence with their placeholders repaired."""
    best = replace(translation, alternatives=()) if translation.alternatives else translation
    each = (best, *translation.alternatives)
    if not (part.marked or source.spans or source.terms):
        return Found(source, tuple(Rank(Repaired(one.text, is_whole=True), one) for one in each))
    warnings = tuple(name for name in translation.warnings if name not in OF_MARKS)
    ranks = [
        Rank(
            repair(codec, source.text, source.spans, one.text, part.direction),
            replace(one, warnings=warnings, words=_with_spans(one.words, source.spans)),
        )
        for one in each
    ]
    ranks = [rank._replace(unused=unused_terms(source.terms, rank.repaired.text)) for rank in ranks]
    first = next((place for place, rank in enumerate(ranks) if rank.repaired.is_whole), 0)
    ranks.insert(0, ranks.pop(first))
    return Found(source, tuple(ranks))


def _with_spans(words: Sequence[Word], spans: Sequence[Span]) -> tuple[Word, ...]:
    """Words with their spans in place of the placeholders."""

    def span(mark: re.Match[str]) -> str:
        number = mark_number(mark[0])
        return spans[number].text if number < len(spans) else ""

    return tuple(replace(each, text=MARK.sub(span, each.text)) for each in words)


def joined_sentences(plan: Plan, found: Sequence[Found], source_lang_confidence: float | None = None) -> Translation:
    """The translation of a text from those of its sentences; that of a text without sentences has no tokens.

    The alternative of a rank consists of the alternatives of this rank of each sentence, or of its last one. Sentences
    have the same weights in all of them, so that the list is in the order of scores.
    """
    sentences = [each for each in found if each.ranks]
    if not sentences:
        text = "" if plan.is_plain else plan.join([None for _ in found])[0]
        return Translation(text, 0.0, (), 0.0, plan.text, finished=True, source_lang_confidence=source_lang_confidence)
    only = sentences[0]
    is_whole = plan.is_plain and plan.gaps.gaps == ("", "") and not NO_BREAK.search(plan.text)
    if is_whole and not only.ranks[0].repaired.failed:
        best, *others = (rank.translation for rank in only.ranks)
        if others or best.source != plan.text:
            best = replace(best, source=plan.text, alternatives=tuple(others))
    else:
        weights = token_weights([each.ranks[0].translation for each in sentences])
        ranks = range(max(len(each.ranks) for each in sentences))
        best, *others = (_joined(plan, found, weights, rank) for rank in ranks)
        best = replace(best, alternatives=tuple(others))
    if source_lang_confidence is None:
        return best
    return replace(best, source_lang_confidence=source_lang_confidence)


def _joined(plan: Plan, found: Sequence[Found], weights: Sequence[int], rank: int) -> Translation:
    """The text of the translations of a rank."""
    moved, unused = list[str](), list[str]()
    texts, translations, lost = list[str | None](), list[Translation](), list[str]()
    for source, ranks in found:
        if not ranks:
            texts.append(None)
            continue
        repaired, translation, terms = ranks[: rank + 1][-1]
        sent = {mark_number(mark) for mark in MARK.findall(source.sent)}
        moved += [source.spans[number].text for number in repaired.moved if number in sent]
        lost += [source.spans[number].text for number in repaired.failed]
        unused += [match.term.target for match in terms]
        texts.append(repaired.text)
        translations.append(translation)
    text, failed = plan.join(texts)
    failed = [*lost, *failed]
    whole = joined(plan.text, text, translations, weights)
    warnings = (*whole.warnings, *["span misplaced"] * bool(failed), *["term not used"] * bool(unused))
    return replace(whole, warnings=warnings, moved=tuple(moved), failed=tuple(failed), unused=tuple(unused))


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
    return Found(source, (Rank(Repaired(found.text, is_whole=True), found),))


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
