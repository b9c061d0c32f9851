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
from limelight.pipelines.sentence import Found, translated
from limelight.pipelines.translation import Translation
from limelight.text.glossary import Match
from limelight.text.marking import has_marks
from limelight.text.plan import MarkedSentence, model_input


def translated_through(
    codec: Codec, source: MarkedSentence, part: Part, legs: Sequence[Direction], options: Options
) -> Steps[Found]:
    """The translations of a sentence by two directions, of which the first one ends in the language that the second one
    begins with. `part` has the prefix and the place of the sentence."""
    plain = replace(options, search=options.draft, phrases=NO_PHRASES, constraints=FREE)
    marked = bool(source.spans) and has_marks(source.sent)
    first = Part(source.sent, legs[0], "", part.place, marked)
    draft = (yield from translated(codec, source._replace(terms=()), first, plain)).translations[0]
    sent = model_input(draft.text, source.spans)
    terms = tuple(Match(0, 0, match.term) for match in source.terms)  # their places in the draft are not known
    between = MarkedSentence(draft.text, source.spans, sent=sent, terms=terms)
    second = part._replace(text=sent, direction=legs[1], marked=bool(source.spans) and has_marks(sent), similar="")
    found = yield from translated(codec, between, second, options)
    return Found(source, tuple(_whole(each, draft, source, legs) for each in found.translations))


def _whole(last: Translation, draft: Translation, source: MarkedSentence, legs: Sequence[Direction]) -> Translation:
    """A translation by both directions: with the warnings of both, and as sure as the less sure one."""
    known = draft.confidence is not None and last.confidence is not None
    return replace(
        last,
        source=source.sent,
        finished=draft.finished and last.finished,
        confidence=min(draft.confidence or 0.0, last.confidence or 0.0) if known else None,
        warnings=tuple(dict.fromkeys((*draft.warnings, *last.warnings))),
        moved=tuple(dict.fromkeys((*draft.moved, *last.moved))),
        failed=tuple(dict.fromkeys((*draft.failed, *last.failed))),
        source_lang=legs[0].source,
        target_lang=legs[1].target,
        path=(legs[0].source, legs[0].target, legs[1].target),
    )
