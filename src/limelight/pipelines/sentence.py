"""The way of one sentence: search, guards, repair of its placeholders, and another search for terms it does not use.

`Sentence.translations` is a generator that yields requests to an engine, one at a time, and is sent their hypotheses.

A sentence goes through another language by two directions of the same model, one after the other. The draft between
them is a marked sentence: it has the placeholders of the source, which are restored after the second direction.
Glossary, phrases, a prefix, samples and n-best lists concern the second direction. The first one finds one translation,
whatever else is asked for, and draws nothing: samples have the random stream of a direct translation.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from limelight.config import Direction, legs_of
from limelight.decoding.constraints import MAX_PHRASES
from limelight.errors import UserError
from limelight.pipelines.codec import Codec, Part, names_of
from limelight.pipelines.guards import guarded
from limelight.pipelines.job import Steps
from limelight.pipelines.options import Options
from limelight.pipelines.repair_marks import repair
from limelight.pipelines.translation import Translation
from limelight.text.checks import DOTTED, in_capitals, is_capitals
from limelight.text.glossary import Match, phrases_of, unused_terms, without_added_sentences
from limelight.text.languages import normal_code
from limelight.text.marking import ANNOTATION, MARK, PLACEHOLDER, has_marks, mark_number
from limelight.text.plan import MarkedSentence, model_input
from limelight.text.spans import Span

PLACEHOLDER_LOST = "placeholder lost"
"""A warning of a marked sentence that says nothing of the text: lost placeholders are put back."""
MAX_PLAIN = 40
"""Maximum length of a span that the model reads as it is: a longer one takes many steps."""

Translations = Sequence[Translation]
"""Of a sentence, best first, with placeholders in their texts; those that lost none come before the others. Empty for a
sentence that was not translated."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that is searched. `translations` has its steps."""

    codec: Codec
    source: MarkedSentence
    part: Part
    options: Options

    def translations(self) -> Steps[Translations]:
        """The translations by one direction or two."""
        legs = legs_of(self.part.direction, self.codec.pivots) if self.part.direction else ()
        if len(legs) < 2:
            return (yield from self._with_terms())
        source, part = self.source, self.part
        draft_options = replace(self.options, search=self.options.draft)
        first = Part(source.sent, legs[0], "", part.place, bool(source.spans) and has_marks(source.sent))
        draft = (yield from Sentence(self.codec, source._replace(terms=()), first, draft_options)._with_terms())[0]
        sent = model_input(draft.text, source.spans)
        terms = tuple(Match(0, 0, match.term) for match in source.terms)  # their positions in the draft are not known
        between = MarkedSentence(draft.text, source.spans, sent=sent, terms=terms)
        marked = bool(source.spans) and has_marks(sent)
        second = part._replace(text=sent, direction=legs[1], marked=marked)
        translations = yield from Sentence(self.codec, between, second, self.options)._with_terms()
        return [_through(draft, translation, source, legs) for translation in translations]

    def _with_terms(self) -> Steps[Translations]:
        """Where a translation lacks a term, the sentence is searched again for those with all terms; of an n-best list,
        the others use at least as many terms as the best one."""
        source, options, n_best = self.source, self.options, self.options.search.n_best
        translations = self._repaired((yield from self._guarded(options)))
        if options.search.sampling is not None or not any(translation.unused for translation in translations[:n_best]):
            return translations
        languages, again = names_of(self.part.direction), list[Translation]()
        phrases = phrases_of(source.terms, translations[0].text, languages[1])
        with suppress(UserError):  # a term without tokens in the vocabulary
            with_terms = options.with_terms(self.codec.phrases.of(phrases[:MAX_PHRASES]))
            for translation in self._repaired((yield from self._guarded(with_terms))):
                shorter = without_added_sentences(translation.text, source.text, languages)
                again.append(replace(translation, unused=unused_terms(source.terms, shorter)))
            again.sort(key=lambda translation: (bool(translation.moved or translation.failed), len(translation.unused)))
        best = again[0] if again and len(again[0].unused) < len(translations[0].unused) else translations[0]
        others = {
            translation.text: translation
            for translation in reversed((*translations, *again))
            if len(translation.unused) <= len(best.unused)
        }
        others.pop(best.text, None)
        return [best, *sorted(others.values(), key=lambda translation: -translation.score)[: n_best - 1]]

    def _guarded(self, options: Options) -> Steps[list[Translation]]:
        """The translations by the search, compared with their source by the guards."""
        codec, part = self.codec, self.part
        encoded = codec.encode(part, options.search, options.phrases)
        if options.checks(part.direction):
            plain = self._with_spans_as_text(options)
            first = None if plain is None else codec.encode(plain, options.search)
            return (
                yield from guarded(codec, encoded, lambda each: self._search(each, options), first, self.source.spans)
            )
        return (yield from self._search(encoded, options))

    def _with_spans_as_text(self, options: Options) -> Part | None:
        """The sentence with its spans as text; None if placeholders are needed at once: for spans that the vocabulary
        does not hold or that have structure, and for searches after which there is no further one."""
        part, spans = self.part, self.source.spans
        numbers = [mark_number(mark) for mark in PLACEHOLDER.findall(part.text)]
        is_final = options.search.n_best > 1 or options.search.sampling is not None or bool(options.phrases)
        if not numbers or max(numbers) >= len(spans) or is_final or part.prefix or is_capitals(part.text):
            return None  # a mark without a span is the text's own
        for number in numbers:
            if spans[number].name or len(spans[number].text) > MAX_PLAIN or not self.codec.holds(spans[number].text):
                return None
        text = PLACEHOLDER.sub(lambda mark: spans[mark_number(mark[0])].text, part.text)
        return part._replace(text=text, marked=has_marks(text)) if self.codec.fits(text) else None

    def _search(self, part: Part, options: Options) -> Steps[list[Translation]]:
        """The translations by one search. The model reads a source in capitals in sentence case, as its training text
        mostly is; capitals are put back."""
        codec, text = self.codec, part.text
        if part.request is None:
            return codec.finish(part)
        checked = options.checks(part.direction)
        if checked and not any(map(str.isalnum, text + part.prefix)):  # marks are not alphanumeric
            return [replace(codec.finish(part)[0], text=text)]
        is_free = checked and not (part.prefix or options.phrases or ANNOTATION.search(text))
        source_dotted, target_dotted = (normal_code(name) in DOTTED for name in names_of(part.direction))
        capitals = is_free and is_capitals(text) and not source_dotted
        encoded = codec.recased(part) if capitals else part
        assert encoded.request is not None
        found = codec.finish(encoded, (yield encoded.request))
        return [
            replace(
                translation,
                source=text,
                text=in_capitals(translation.text, text, dotted=target_dotted) if capitals else translation.text,
            )
            for translation in found
        ]

    def _repaired(self, translations: Sequence[Translation]) -> list[Translation]:
        """The translations with their placeholders repaired; those that lost none come first."""
        source = self.source
        if not (self.part.marked or source.spans or source.terms):
            return list(translations)
        warnings = tuple(name for name in translations[0].warnings if name != PLACEHOLDER_LOST)
        repaired = list[Translation]()
        for translation in translations:
            mended = repair(self.codec, source, translation, self.part.direction)
            unused = unused_terms(source.terms, mended.text)
            repaired.append(replace(mended, warnings=warnings, unused=unused))
        return sorted(repaired, key=lambda translation: bool(translation.moved or translation.failed))


def _through(draft: Translation, last: Translation, source: MarkedSentence, legs: Sequence[Direction]) -> Translation:
    """A translation by two directions: with the warnings of both, and as sure as the less sure one."""
    known = draft.confidence is not None and last.confidence is not None
    both: dict[str, Any] = {
        name: tuple(dict.fromkeys((*getattr(draft, name), *getattr(last, name))))
        for name in ("warnings", "moved", "failed")
    }
    return replace(
        last,
        source=source.sent,
        finished=draft.finished and last.finished,
        confidence=min(draft.confidence or 0.0, last.confidence or 0.0) if known else None,
        source_lang=legs[0].source,
        target_lang=legs[1].target,
        path=(legs[0].source, legs[0].target, legs[1].target),
        **both,
    )


def with_spans(text: str, spans: Sequence[Span]) -> str:
    """A marked text with its spans in place of the placeholders."""
    return MARK.sub(lambda mark: spans[number].text if (number := mark_number(mark[0])) < len(spans) else "", text)
