"""The work on one text: what is decided before its sentences are searched, and the text made of their translations.

A text with tags is the work on each of its units; its result has the tags, too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from limelight.config import Direction
from limelight.errors import UserError
from limelight.formats.translation_memory import MemoryMatch
from limelight.formats.unit import Unit, rewritten, with_codes
from limelight.pipelines.codec import SOURCE_LANGUAGE, Codec, Part, names_of, unchanged, unsearched
from limelight.pipelines.job import Job, Steps, Text
from limelight.pipelines.options import Options
from limelight.pipelines.sentence import Sentence, Translations, with_spans
from limelight.pipelines.translation import Translation, joined
from limelight.text.glossary import find_terms, unused_terms, whole_term, with_terms
from limelight.text.marking import Protector, has_marks
from limelight.text.plan import MarkedSentence, Plan, plan_text, without_spans
from limelight.text.protectors import DEFAULT, codes, outside
from limelight.text.sentences import MAX_TOKENS

UNFINISHED = "\0"
"""In place of the sentences that follow in an unfinished text."""


class TextJob(Job[Translations, Translation]):
    """The work on a text, whose result is its translation."""

    def __init__(self, codec: Codec, text: Text, options: Options) -> None:
        self._text, self._works = text, list[_Work]()
        super().__init__(self._steps(codec, options), self._join)

    @property
    def sentences(self) -> list[Translation]:
        """The translations of the sentences of a finished text without tags, or of the units between its tags."""
        if self._text.units is None:
            [work] = self._works
            return work.sentences(self.found) or ([self.result] if self.result and self.result.source.strip() else [])
        return [_with_tags(work.result, unit) for work, unit in zip(self._works, self._text.units, strict=True)]

    def beginning(self, found: Sequence[Translations]) -> str:
        """The text without tags, as far as these translations of its first sentences."""
        return self._works[0].beginning(found)

    def _steps(self, codec: Codec, options: Options) -> Iterator[Steps[Translations]]:
        """The steps of all sentences, once all texts are planned."""
        text, texts = self._text, [self._text]
        if text.units is not None:
            texts = [
                Text(unit.text, number, codes=unit.kinds) for number, unit in enumerate(text.units, start=text.number)
            ]
        self._works += [_Work(codec, text, options) for text in texts]
        for work in self._works:
            yield from work.steps()

    def _join(self, sentences: Sequence[Translations]) -> Translation:
        coming, units = iter(sentences), self._text.units
        for work in self._works:
            work.join(list(islice(coming, work.size)))
        if units is None:
            return self._works[0].result
        ranks = [(work.result, *work.result.alternatives) for work in self._works]
        return joined(self._text.text, ranks, lambda texts: (rewritten(self._text.text, units, texts), ()))


def _with_tags(result: Translation, unit: Unit) -> Translation:
    """The translation of a unit, with tags in place of their codes."""

    def shown(texts: Sequence[str]) -> tuple[str, ...]:
        return tuple(with_codes(text, unit.codes) for text in texts)

    source, text = shown((result.source, result.text))
    return replace(result, source=source, text=text, moved=shown(result.moved), failed=shown(result.failed))


class _Work:
    """A text without tags: its direction, its plan, and its translation. Raises `UserError` for a text that is too long
    or in a direction that the model does not have."""

    def __init__(self, codec: Codec, text: Text, options: Options) -> None:
        self._codec, self._text, self._options = codec, text, options
        self._plan: Plan | None = None
        """None for a text that needs no search."""
        self.result: Translation
        self._other = ""
        require_text(text.text, f"text {text.number}")
        kept = (codes(text.codes),) if text.codes else ()
        spans = (*kept, *(DEFAULT if options.protectors is None else options.protectors))
        bare = without_spans(text.text, spans) if options.detected or not options.source_lang else ""
        self._direction, self._sure = codec.choose(bare, options.source_lang, options.target_lang, pivot=options.pivot)
        if options.checks(self._direction) and options.detected and not text.prefix:
            self._other = codec.other_language(bare, self._direction)
        same = unchanged(text.text, self._other, self._direction)
        memory = None if text.prefix else options.memory
        self._memory = memory.of(*names_of(self._direction)) if memory is not None else None
        match = self._reusable(text.text)
        if same is not None:
            self.result = same
        elif match is not None:
            self.result = replace(reused(text.text, match, self._direction), source_lang_confidence=self._sure)
        else:
            self._plan = self._planned(() if text.prefix else (*kept, *self._protectors()))

    def _reusable(self, text: str) -> MemoryMatch | None:
        """The segment of the memory with this source, unless it lacks terms of the glossary."""
        match = self._memory.find(text) if self._memory else None
        return None if match and unused_terms(find_terms(text, self._options.glossary), match.target) else match

    @property
    def size(self) -> int:
        """The number of its sentences."""
        return 0 if self._plan is None else len(self._plan.sentences)

    def _protectors(self) -> tuple[Protector, ...]:
        """What is carried through the translation: also numbers and signs where anything is."""
        glossary, protected = self._options.glossary, self._options.protected_in(self._direction)
        if not (protected and self._codec.knows_placeholders):
            return protected
        carried = self._codec.carriers(self._direction)
        if glossary is not None:
            carried = tuple(outside(protector, glossary.find) for protector in carried)
        return (*protected, *carried)

    def _planned(self, protectors: Sequence[Protector]) -> Plan:
        codec, text, options, content = self._codec, self._text, self._options, self._text.text
        if text.prefix and not codec.fits(content):
            raise UserError(
                f"text {text.number} has more than {MAX_TOKENS} tokens, and with a prefix it is one sentence: split it"
            )
        if text.prefix and (count := len(codec.tokenizers.target.encode(text.prefix))) > MAX_TOKENS:
            raise UserError(
                f"prefix {text.number} has {count:,} tokens, and at most {MAX_TOKENS} are accepted: shorten it"
            )
        glossary, language = None if text.prefix else options.glossary, names_of(self._direction)[0] or "en"
        plan = plan_text(
            content, protectors, language, glossary, whole=bool(text.prefix) or options.lines, fits=codec.fits
        )
        if not (plan.is_plain or codec.knows_marks) and any(
            sentence is not None and has_marks(sentence.sent) for sentence in plan.sentences
        ):
            raise UserError("the vocabulary of this model has no placeholders (<ph0> ...): it cannot protect spans")
        return plan

    def steps(self) -> Iterator[Steps[Translations]]:
        """The steps of each sentence."""
        return (self._of_sentence(*numbered) for numbered in enumerate(self._plan.sentences if self._plan else ()))

    def _of_sentence(self, position: int, source: MarkedSentence | None) -> Steps[Translations]:
        """The steps of a sentence; of one that is not translated, is in the memory or is a term, none."""
        codec, text, options, direction = self._codec, self._text, self._options, self._direction
        if source is None:
            return ()
        if not (text.prefix or source.numbers):
            if match := self._reusable(source.text):
                return (reused(source.text, match, direction),)
            if term := whole_term(source.sent, source.terms):
                return (unsearched(source.text, term, direction),)
        sent = with_terms(source.sent, source.terms) if codec.knows_terms else source.sent
        marked = bool(source.numbers or source.terms) and has_marks(sent)
        number = (text.number, position) if position else (text.number,)
        tags = codec.tags_of(options, names_of(direction)[1])
        if position and text.text.startswith(">>") and not sent.startswith(">>"):
            code = text.text.partition("<<")[0] + "<<"  # `>>fra<<` names the target language of all sentences
            tags = (code, *tags) if code in getattr(codec.tokenizers.source, "reserved", ()) else tags
        part = Part(sent, direction, text.prefix, number, marked, tags)
        return (yield from Sentence(codec, source, part, options).translations())

    def join(self, sentences: Sequence[Translations]) -> None:
        """Make the result of the translations of its sentences."""
        if (plan := self._plan) is None:
            return

        def write(texts: Sequence[str]) -> tuple[str, list[str]]:
            """The text with the translations of those sentences that have one, and the spans that are not whole."""
            if plan.is_plain and not texts:  # a blank text
                return "", []
            coming = iter(texts)
            return plan.join([next(coming) if translations else None for translations in sentences])

        complete = joined(self._text.text, [translations for translations in sentences if translations], write)
        warnings = (f"{SOURCE_LANGUAGE}: {self._other}",) if self._other else ()
        self.result = replace(complete, source_lang_confidence=self._sure, warnings=(*warnings, *complete.warnings))

    def beginning(self, sentences: Sequence[Translations]) -> str:
        """The text as far as these sentences. The white space after them depends on what follows."""
        if self._plan is None:
            return self.result.text
        texts = [translations[0].text if translations else None for translations in sentences]
        text = self._plan.join([*texts, *[UNFINISHED] * (self.size - len(texts))])[0]
        return text.partition(UNFINISHED)[0].rstrip()

    def sentences(self, sentences: Sequence[Translations]) -> list[Translation]:
        """The translations of several sentences, with their spans in place of the placeholders; none of one."""
        if self._plan is None or sum(map(bool, sentences)) < 2:
            return []
        pairs = zip(self._plan.sentences, sentences, strict=True)
        return [_with_spans(source, translations) for source, translations in pairs if source and translations]


def _with_spans(source: MarkedSentence, translations: Translations) -> Translation:
    """The translation of a sentence with its alternatives."""
    source_text = with_spans(source.text, source.spans)
    best, *others = (
        replace(translation, source=source_text, text=with_spans(translation.text, source.spans))
        for translation in translations
    )
    return replace(best, alternatives=tuple(others))


def reused(source: str, match: MemoryMatch, direction: Direction | None) -> Translation:
    """The translation of a text by a segment with the same source, with the white space at the ends of the text."""
    begin, _, end = source.partition(source.strip())
    return replace(unsearched(source, f"{begin}{match.target.strip()}{end}", direction), matches=(match,))


def require_text(text: object, name: str) -> None:
    """Raise `UserError` for anything but a string, such as an empty cell of a table."""
    if not isinstance(text, str):
        raise UserError(f"{name} is {text!r:.60}, not a string; leave it out, or give '' for no text")
