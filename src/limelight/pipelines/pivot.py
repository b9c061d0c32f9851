"""The way of one sentence through another language: two directions of the same model, one after the other.

    source -> (terms become placeholders) -> first direction -> draft -> second direction

The draft is a marked sentence: its placeholders are those of the source, and are restored after the second direction.
Glossary, phrases, a prefix, samples and n-best lists concern the second direction. The first one finds one translation,
whatever else is asked for, and draws nothing: samples have the random stream of a direct translation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from limelight.config import Direction
from limelight.decoding.request import FREE
from limelight.pipelines.codec import Codec, Part, Steps
from limelight.pipelines.options import Options
from limelight.pipelines.phrases import NO_PHRASES
from limelight.pipelines.sentence import Found, Rank, translated
from limelight.text.glossary import Match, Term, find_terms, with_terms
from limelight.text.marking import PLACEHOLDER, has_marks, mark_number
from limelight.text.plan import MarkedSentence, model_input
from limelight.text.protect import protect_within
from limelight.text.protectors import spans_by

Terms = dict[int, Term]
"""Terms by the numbers of their placeholders, which follow those of the spans."""


def translated_through(
    codec: Codec, source: MarkedSentence, part: Part, legs: Sequence[Direction], options: Options
) -> Steps[Found]:
    """The translations of a sentence by two directions, of which the first one ends in the language that the second one
    begins with. `part` has the prefix and the place of the sentence."""
    first, second = legs
    carried, terms = _carried(codec, source, part, options)
    drafts = yield from _drafted(codec, carried, part, first, options)
    draft = drafts.ranks[0]
    between = _between(carried, terms, draft.repaired.text, source.terms, options)
    sent = with_terms(between.sent, between.terms[: len(terms)]) if codec.knows_terms else between.sent
    marked = bool(carried.spans) and has_marks(sent)
    found = yield from translated(
        codec, between, Part(sent, second, part.prefix, part.place, marked, part.tags), options
    )
    return found._replace(source=carried, ranks=tuple(_whole(rank, draft, source, legs) for rank in found.ranks))


def _carried(codec: Codec, source: MarkedSentence, part: Part, options: Options) -> tuple[MarkedSentence, Terms]:
    """The sentence with placeholders for its terms; without them if the model does not know placeholders, if there is a
    prefix, and if there would be too many."""
    plain, found, own = source._replace(terms=()), find_terms(source.text, options.glossary), len(source.spans)
    unmarked = not (source.spans or source.terms) and has_marks(source.text)
    if not found or not codec.knows_placeholders or part.prefix or unmarked:
        return plain, {}
    try:
        whole = protect_within(
            source.text, [spans_by(lambda text: (each[:2] for each in find_terms(text, options.glossary)))]
        )
    except ValueError:
        return plain, {}
    spans = (*source.spans, *whole.spans[own:])
    sent = model_input(whole.text, spans, carry_tags=options.carry_tags)
    return plain._replace(text=whole.text, spans=spans, sent=sent), dict(enumerate((each.term for each in found), own))


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


def _between(
    carried: MarkedSentence, terms: Terms, draft: str, own: Sequence[Match], options: Options
) -> MarkedSentence:
    """The source of the second direction: a draft with target terms in place of their placeholders. Its terms are
    these, then those of the source that have no placeholder, whose places in the draft are not known."""
    sent = model_input(draft, carried.spans, carry_tags=options.carry_tags)
    spans = carried.spans[: len(carried.spans) - len(terms)]
    text, _ = _with_targets(draft, terms)
    sent, placed = _with_targets(sent, terms)
    there = {match.term for match in placed}
    rest = [Match(0, 0, match.term) for match in own if match.term not in there]
    return MarkedSentence(text, spans, sent=sent, terms=(*placed, *rest))


def _with_targets(marked: str, terms: Terms) -> tuple[str, list[Match]]:
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


def _whole(rank: Rank, draft: Rank, source: MarkedSentence, legs: Sequence[Direction]) -> Rank:
    """A translation by both directions: with the warnings of both, and as sure as the less sure one."""
    failed = dict.fromkeys((*draft.repaired.failed, *rank.repaired.failed))
    moved = dict.fromkeys((*draft.repaired.moved, *rank.repaired.moved))
    both = [each for each in (draft.translation.confidence, rank.translation.confidence) if each is not None]
    translation = replace(
        rank.translation,
        source=source.sent,
        finished=draft.translation.finished and rank.translation.finished,
        confidence=min(both) if len(both) == 2 else None,
        warnings=tuple(dict.fromkeys((*draft.translation.warnings, *rank.translation.warnings))),
        source_lang=legs[0].source,
        target_lang=legs[1].target,
        path=(legs[0].source, legs[0].target, legs[1].target),
    )
    return rank._replace(
        repaired=rank.repaired._replace(moved=tuple(moved), failed=tuple(failed)), translation=translation
    )
