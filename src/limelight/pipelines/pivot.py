"""The way of one sentence through another language: two directions of the same model, one after the other.

    source -> (numbers, signs and terms become placeholders) -> first direction -> draft -> second direction -> checks

The draft is a marked sentence: its placeholders are those of the source, and are restored after the second direction.
Glossary, phrases, a prefix, samples and n-best lists concern the second direction. The first one finds one translation,
whatever else is asked for, and draws nothing: samples have the random stream of a direct translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from limelight.config import Direction
from limelight.decoding.request import FREE
from limelight.pipelines.codec import Codec, Part, Steps
from limelight.pipelines.guards import OF_NUMBERS, faults
from limelight.pipelines.options import Options
from limelight.pipelines.phrases import NO_PHRASES
from limelight.pipelines.sentence import Found, Rank, translated
from limelight.text.glossary import Glossary, Match, Term, find_terms, with_terms
from limelight.text.marking import PLACEHOLDER, has_marks, mark_number
from limelight.text.notations import Protector
from limelight.text.number_changes import put_back_numbers
from limelight.text.number_notation import localized_numbers
from limelight.text.plan import MarkedSentence, model_input
from limelight.text.protect import Protected, protect_within, restore
from limelight.text.protectors import numbers, spans_by

COMPARED = OF_NUMBERS | {"quotation lost"}
"""Faults that only the two ends decide: what one direction has changed, the other one may have changed back."""
OF_ENDS = COMPARED | {"sign lost", "address lost"}
"""Faults for which the translation is also compared with the source."""


class Carried(NamedTuple):
    """A sentence with placeholders for all that goes through both directions."""

    source: MarkedSentence
    fixed: Protected
    """Its text without the terms' placeholders; those that the sentence had before stand for themselves."""
    terms: dict[int, Term]
    """By their placeholders, which have the last numbers."""


def translated_through(
    codec: Codec, source: MarkedSentence, part: Part, legs: Sequence[Direction], options: Options
) -> Steps[Found]:
    """The translations of a sentence by two directions, of which the first one ends in the language that the second one
    begins with. `part` has the prefix and the place of the sentence."""
    first, second = legs
    carried = _carried(codec, source, part, Direction(first.source, second.target), options)
    drafts = yield from _drafted(codec, carried.source, part, first, options)
    draft = drafts.ranks[0]
    between = _between(carried, draft.repaired.text, source.terms, options)
    sent = with_terms(between.sent, between.terms[: len(carried.terms)]) if codec.knows_terms else between.sent
    marked = bool(carried.source.spans) and has_marks(sent)
    found = yield from translated(
        codec, between, Part(sent, second, part.prefix, part.place, marked, part.tags), options
    )
    ranks = tuple(_whole(rank, draft, source, carried, (first, second), options) for rank in found.ranks)
    return found._replace(source=carried.source, ranks=ranks)


def _carried(codec: Codec, source: MarkedSentence, part: Part, ends: Direction, options: Options) -> Carried:
    """The sentence with further placeholders: for numbers with separators, in the notation of the last language, for
    signs that the vocabulary does not hold, and for terms.

    Without them if the model does not know placeholders, if a prefix or a phrase may have a number, and if there would
    be too many.
    """
    plain = source._replace(terms=())
    bare = Carried(plain, Protected(source.text, ()), {})
    unmarked = not (source.spans or source.terms) and has_marks(source.text)
    if not codec.knows_placeholders or part.prefix or options.phrases.has_digits or unmarked:
        return bare
    terms, own = find_terms(source.text, options.glossary), len(source.spans)
    wanted = (numbers(ends.source, every=False), spans_by(lambda text: codec.unheld(text, ends.source)))
    try:
        fixed = protect_within(source.text, [_outside(each, terms) for each in wanted])
        whole = protect_within(fixed.text, [_of_terms(options.glossary)])
    except ValueError:
        return bare
    written = localized_numbers(source.text, *ends)
    spans = [span._replace(text=written.get(span.text, span.text)) for span in fixed.spans[own:]]
    of_terms = whole.spans[own + len(spans) :]
    found = find_terms(fixed.text, options.glossary)
    numbered = {number: match.term for number, match in enumerate(found, start=own + len(spans))}
    every = (*source.spans, *spans, *of_terms)
    sent = model_input(whole.text, every, carry_tags=options.carry_tags)
    fixed = fixed._replace(spans=(*fixed.spans[:own], *spans))
    return Carried(plain._replace(text=whole.text, spans=every, sent=sent), fixed, numbered)


def _outside(protector: Protector, terms: Sequence[Match]) -> Protector:
    """The spans of a protector that are not in a term."""
    return protector._replace(
        find=lambda text: (
            span
            for span in protector.find(text)
            if not any(term.begin < span.end and span.begin < term.end for term in terms)
        )
    )


def _of_terms(glossary: Glossary | None) -> Protector:
    return spans_by(lambda text: (match[:2] for match in find_terms(text, glossary)))


def _drafted(codec: Codec, source: MarkedSentence, part: Part, direction: Direction, options: Options) -> Steps[Found]:
    """The translation by the first direction, whose requests are drafts."""
    plain = replace(options, search=options.draft, phrases=NO_PHRASES, constraints=FREE)
    marked = bool(source.spans) and has_marks(source.sent)
    steps = translated(codec, source, Part(source.sent, direction, "", part.place, marked), plain)
    try:
        request = next(steps)
        while True:
            request = steps.send((yield replace(request, is_draft=True)))
    except StopIteration as end:
        found: Found = end.value
        return found


def _between(carried: Carried, draft: str, terms: Sequence[Match], options: Options) -> MarkedSentence:
    """The source of the second direction: a draft with target terms in place of their placeholders. Its terms are
    these, then those of the source that have no placeholder, whose places in the draft are not known."""
    sent = model_input(draft, carried.source.spans, carry_tags=options.carry_tags)
    spans = carried.source.spans[: len(carried.source.spans) - len(carried.terms)]
    text, _ = _with_targets(draft, carried.terms)
    sent, placed = _with_targets(sent, carried.terms)
    there = {match.term for match in placed}
    rest = [Match(0, 0, match.term) for match in terms if match.term not in there]
    return MarkedSentence(text, spans, sent=sent, terms=(*placed, *rest))


def _with_targets(marked: str, terms: dict[int, Term]) -> tuple[str, list[Match]]:
    """A marked text with target terms in place of their placeholders, and where they are."""
    text, place, found = "", 0, list[Match]()
    for mark in PLACEHOLDER.finditer(marked):
        term = terms.get(mark_number(mark[0]))
        if term is not None:
            text += marked[place : mark.start()]
            word = term.target.split("|")[0]
            found.append(Match(len(text), len(text) + len(word), term))
            text, place = text + word, mark.end()
    return text + marked[place:], found


def _whole(
    rank: Rank, draft: Rank, source: MarkedSentence, carried: Carried, legs: Sequence[Direction], options: Options
) -> Rank:
    """A translation by both directions: with the spans that only they had, compared with the source, and as sure as
    the less sure one."""
    ends = Direction(legs[0].source, legs[1].target)
    fixed = carried.fixed if len(carried.fixed.spans) > len(source.spans) else None
    text = restore(rank.repaired.text, fixed).text if fixed else rank.repaired.text
    named = [*draft.translation.warnings, *rank.translation.warnings]
    if options.guards:
        if options.search.sampling is None and options.search.n_best == 1:
            text = put_back_numbers(source.text, text, ends)
        compared = [name for name in faults(source.text, text, ends) if name in OF_ENDS]
        named = [*(name for name in named if name not in COMPARED), *compared]
    failed = dict.fromkeys((*draft.repaired.failed, *rank.repaired.failed))
    moved = dict.fromkeys((*draft.repaired.moved, *rank.repaired.moved))
    both = [each for each in (draft.translation.confidence, rank.translation.confidence) if each is not None]
    words = (
        replace(each, text=restore(each.text, fixed).text if fixed else each.text) for each in rank.translation.words
    )
    translation = replace(
        rank.translation,
        text=text,
        source=source.sent,
        words=tuple(words),
        finished=draft.translation.finished and rank.translation.finished,
        confidence=min(both) if len(both) == 2 else None,
        warnings=tuple(dict.fromkeys(named)),
        source_lang=ends.source,
        target_lang=ends.target,
        path=(legs[0].source, legs[0].target, legs[1].target),
    )
    repaired = rank.repaired._replace(text=text, moved=tuple(moved), failed=tuple(failed))
    return rank._replace(repaired=repaired, translation=translation)
