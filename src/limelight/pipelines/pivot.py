"""The way of one sentence through another language: two directions of the same model, one after the other.

    source -> first direction -> draft -> second direction

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
from limelight.text.glossary import Match
from limelight.text.marking import has_marks
from limelight.text.plan import MarkedSentence, model_input


def translated_through(
    codec: Codec, source: MarkedSentence, part: Part, legs: Sequence[Direction], options: Options
) -> Steps[Found]:
    """The translations of a sentence by two directions, of which the first one ends in the language that the second one
    begins with. `part` has the prefix and the place of the sentence."""
    first, second = legs
    drafts = yield from _drafted(codec, source._replace(terms=()), part, first, options)
    draft = drafts.ranks[0]
    text = draft.repaired.text
    sent = model_input(text, source.spans, carry_tags=options.carry_tags)
    terms = tuple(Match(0, 0, match.term) for match in source.terms)  # their places in the draft are not known
    between = MarkedSentence(text, source.spans, sent=sent, terms=terms)
    marked = bool(source.spans) and has_marks(sent)
    found = yield from translated(
        codec, between, Part(sent, second, part.prefix, part.place, marked, part.tags), options
    )
    return found._replace(source=source, ranks=tuple(_whole(rank, draft, source, legs) for rank in found.ranks))


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
