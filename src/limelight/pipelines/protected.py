"""Translation of text with tags, variables and glossary terms.

`protect_text` replaces spans by placeholders and splits the text into sentences of marked text, with target forms after
terms of a glossary if the model was trained with annotated terms. These are translated with `marked=True`. Tags are
removed from the model's input, and placed by its attention weights; so are other spans that a translation lost or
duplicated. Spans that cannot be placed are appended, and reported as failed. If a translation does not use a term, the
sentence is searched again with the term as a constraint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from limelight.config import Direction
from limelight.decoding.ensemble import Ensemble
from limelight.errors import UserError
from limelight.pipelines.job import Chosen, Job, Steps, choose_direction
from limelight.pipelines.repair_marks import Repaired, renumbered, repair, without_placeholders
from limelight.pipelines.terms import find_terms, phrases_of, unused_terms, with_terms, without_added_sentences
from limelight.pipelines.translation import Translation, joined
from limelight.pipelines.translator import Translator
from limelight.text.glossary import Glossary, Match
from limelight.text.icu import IN_BRANCHES, MAX_NESTED, Apostrophes, branches
from limelight.text.long_sentences import is_short, with_short
from limelight.text.marks import MARK, PLACEHOLDER, has_marks, mark_number, placeholder, without_marks
from limelight.text.protect import VALUE, Protected, Span, divide, protect, restore
from limelight.text.protectors import Protector
from limelight.text.sentences import Sentences, split_sentences
from limelight.text.units.unit import is_code
from limelight.tokens.marked import knows_marks

ENDS = ".!?…。！？"
TAIL = re.compile(rf"(?<=\w)((?:\s*[(\[]{PLACEHOLDER.pattern}[)\]]|\s?:\s{PLACEHOLDER.pattern})+)([{ENDS}]*)\Z")
"""Placeholders in brackets or after a colon at the end of a sentence, which do not affect the rest of it."""


class MarkedSentence(NamedTuple):
    """A sentence with placeholders, numbered from 0."""

    text: str
    spans: tuple[Span, ...]
    """The spans of its placeholders; partners are numbers within the sentence, -1 for those of other sentences."""
    numbers: tuple[int, ...]
    """The numbers of these spans in the whole part."""
    prefix: str = ""
    """Marks before the sentence, which stay there."""
    suffix: str = ""
    tail: str = ""
    """Separate marks at its end, as in `Copied (%d).`, which stay before its final punctuation."""
    sent: str = ""
    """The model's input: the sentence without the tags that attention places."""
    terms: tuple[Match, ...] = ()
    """Terms of the glossary in `sent`."""

    def with_tail(self, translation: str) -> str:
        """A translation with the tail before its final punctuation."""
        body = translation.rstrip(ENDS) if self.tail else translation
        return f"{body}{self.tail}{translation[len(body) :]}"

    @property
    def has_words(self) -> bool:
        """Whether there is anything to translate."""
        return any(character.isalpha() for character in without_marks(self.text))


class Branch(NamedTuple):
    """The text in a branch of an ICU message, which is a span of a part."""

    span: int
    begin: int
    """Its begin in the span."""
    end: int
    text: ProtectedText
    apostrophes: Apostrophes


class Part(NamedTuple):
    """A text, or a part of one, with at most as many spans as there are placeholders."""

    protected: Protected
    gaps: Sentences
    """The text between its sentences."""
    sentences: tuple[MarkedSentence, ...]
    branches: tuple[Branch, ...] = ()
    """The branches of the messages among its spans, in order."""


class ProtectedText(NamedTuple):
    """A prepared text: its consecutive parts."""

    text: str
    parts: tuple[Part, ...]

    @property
    def sentences(self) -> list[MarkedSentence]:
        """The sentences to translate: those of each part, then those in its messages."""
        found = list[MarkedSentence]()
        for part in self.parts:
            found += [sentence for sentence in part.sentences if sentence.has_words]
            for branch in part.branches:
                found += branch.text.sentences
        return found


@dataclass(frozen=True, slots=True)
class ProtectedTranslation(Translation):
    """The translation of a text with protected spans."""

    moved: tuple[str, ...] = ()
    """Spans of the model's input that it lost or misplaced, and that were placed by attention weights."""
    failed: tuple[str, ...] = ()
    """Spans whose place is unknown (they were appended) or wrong: a pair of tags that is not nested, `%s` in another
    order."""
    unused: tuple[str, ...] = ()
    """Target terms that the translation does not use."""


class _Sentence(NamedTuple):
    """The result for a sentence."""

    source: MarkedSentence
    repaired: Repaired
    translation: Translation
    unused: tuple[Match, ...] = ()


def protect_text(
    text: str,
    protectors: Sequence[Protector],
    language: str = "en",
    glossary: Glossary | None = None,
    *,
    carry_tags: bool = False,
    whole: bool = False,
) -> ProtectedText:
    """Protect the spans of a text, and split it into sentences by the rules of its language, unless it is to stay
    `whole`.

    With `carry_tags` tags are placeholders in the model's input, like variables; else they are removed from the input
    and placed by attention weights.
    """

    def prepared(text: str, protectors: Sequence[Protector], nested: int) -> ProtectedText:
        parts = list[Part]()
        for piece in divide(text, protectors):
            protected = protect(piece, protectors)
            split = with_short(_split(protected, "" if whole else language), is_short)
            sentences = (_sentence(each, protected.spans, carry_tags=carry_tags) for each in split.texts)
            inner = tuple(opened(protected, protectors, nested)) if nested < MAX_NESTED else ()
            parts.append(Part(protected, split, tuple(_with_terms(each, glossary) for each in sentences), inner))
        return ProtectedText(text, tuple(parts))

    def opened(protected: Protected, protectors: Sequence[Protector], nested: int) -> Iterator[Branch]:
        for number, span in enumerate(protected.spans):
            apostrophes = Apostrophes(span.text)
            for begin, end in branches(span.text):
                inner = apostrophes.read(span.text[begin:end])
                found = prepared(inner, protectors if nested else [*protectors, *IN_BRANCHES], nested + 1)
                yield Branch(number, begin, end, found, apostrophes)

    return prepared(text, protectors, 0)


def translate_protected(
    translator: Translator,
    texts: Sequence[str],
    protectors: Sequence[Protector],
    glossary: Glossary | None = None,
    *,
    carry_tags: bool = False,
    **options: Any,
) -> list[ProtectedTranslation]:
    """Translate texts with protected spans: each span occurs exactly once in the translation, or is reported as failed.
    Terms of the glossary are used, or reported as unused. `carry_tags` is that of `protect_text`.

    `options` are those of `Translator.translate`. Raises `UserError` as that does, and for spans or terms with a model
    whose vocabulary has no placeholders.
    """
    language = options.get("source_lang") or "en"
    protected = [protect_text(text, protectors, language, glossary, carry_tags=carry_tags) for text in texts]
    return translate_prepared(translator, protected, **options)


def translate_prepared(
    translator: Translator, protected: Sequence[ProtectedText], **options: Any
) -> list[ProtectedTranslation]:
    """Translate texts that are already protected; otherwise like `translate_protected`."""
    batch = {"batch_tokens": options.pop("batch_tokens")} if "batch_tokens" in options else {}
    found = translator.run(protected_jobs(translator, protected, **options), **batch)
    return [each for each in found if isinstance(each, ProtectedTranslation)]


def protected_jobs(translator: Translator, protected: Sequence[ProtectedText], **options: Any) -> list[Job]:
    """A job for each text, for the owner of an engine, with a `ProtectedTranslation` as its result. See
    `Translator.jobs`."""
    knows = knows_marks(translator.tokenizers.source) and knows_marks(translator.tokenizers.target)
    if not knows and any(has_marks(sentence.sent) for each in protected for sentence in each.sentences):
        raise UserError("the vocabulary of this model has no placeholders (<ph0> ...): it cannot protect spans")
    if options.get("must_include"):
        raise UserError("must_include is for whole texts, not for those with protected spans: name terms in a glossary")
    options |= {"marked": knows, "lines": True}
    return [
        Job(_steps(translator, each, {"first": number, **options})) for number, each in enumerate(protected, start=1)
    ]


def _steps(translator: Translator, protected: ProtectedText, options: dict[str, Any]) -> Steps[Translation]:
    """The steps of the job of a text."""
    sentences = protected.sentences
    if isinstance(translator.model, Ensemble):  # it has no attention to place tags by, so it carries them
        sentences = [each if each.sent == each.text else each._replace(sent=each.text) for each in sentences]
    asked = options.get("source_lang") or "", options.get("target_lang") or ""
    whole = " ".join(without_marks(each.text) for each in sentences)  # a sentence may be too short to tell its language
    detector, chosen = translator.detector, Chosen(None)
    if detector is not None and not asked[0]:
        chosen = choose_direction(translator.directions, detector, whole, *asked)
    direction = chosen.direction or Direction(*asked)
    options = options | {"source_lang": direction.source, "target_lang": direction.target}
    options["detected"] = options.get("detected", False) or not asked[0]
    texts = [with_terms(each.sent, each.terms) if translator.knows_terms else each.sent for each in sentences]
    jobs = translator.jobs(texts, **options)
    found = list[_Sentence]()
    for each, translation in zip(sentences, (yield from _decoded(jobs)), strict=True):
        repaired = repair(translator, each.text, each.spans, translation, direction)
        found.append(_Sentence(each, repaired, translation, unused_terms(each.terms, repaired.text)))
    again = {
        place: job
        for place, each in enumerate(found)
        if each.unused and options.get("sampling") is None
        for job in _with_phrases(translator, texts[place], each, options)
    }
    for place, translation in zip(again, (yield from _decoded(list(again.values()))), strict=True):
        each = sentences[place]
        repaired = repair(translator, each.text, each.spans, translation, direction)
        unused = unused_terms(each.terms, without_added_sentences(repaired.text, each.text, direction))
        if len(unused) < len(found[place].unused):
            found[place] = _Sentence(each, repaired, translation, unused)
    return replace(_finished(protected, found), source_lang_confidence=chosen.confidence)


def _with_phrases(translator: Translator, text: str, found: _Sentence, options: dict[str, Any]) -> list[Job]:
    """A job that searches a sentence again with its terms as constraints; none for terms without tokens."""
    language = found.translation.target_lang or options.get("target_lang") or ""
    phrases = phrases_of(found.source.terms, found.repaired.text, language)
    with suppress(UserError):
        return translator.jobs([text], **{**options, "must_include": phrases})
    return []


def _decoded(jobs: Sequence[Job]) -> Steps[list[Translation]]:
    """The translations of some jobs, decoded together."""
    while asking := [job for job in jobs if job.requests]:
        answers = iter((yield [request for job in asking for request in job.requests]))
        for job in asking:
            job.receive([next(answers) for _ in job.requests])
    return [job.translation for job in jobs if job.translation is not None]


def _finished(protected: ProtectedText, found: Sequence[_Sentence]) -> ProtectedTranslation:
    """The translation of a text from those of its sentences."""
    moved, failed, unused = list[str](), list[str](), list[str]()
    for each in found:
        sent = {mark_number(mark) for mark in MARK.findall(each.source.sent)}
        moved += [each.source.spans[number].text for number in each.repaired.moved if number in sent]
        failed += [each.source.spans[number].text for number in each.repaired.failed]
        unused += [match.term.target for match in each.unused]
    text = _rebuilt(protected, iter(found), failed)
    whole = _joined(protected.text, text, [each.translation for each in found])
    warnings = [name for name in whole["warnings"] if name not in ("placeholder lost", "phrase missing")]
    warnings += ["span misplaced"] * bool(failed) + ["term not used"] * bool(unused)
    whole |= {"moved": tuple(moved), "failed": tuple(failed), "unused": tuple(unused), "warnings": tuple(warnings)}
    return ProtectedTranslation(**whole)


def _rebuilt(
    protected: ProtectedText, waiting: Iterator[_Sentence], failed: list[str], apostrophes: Apostrophes | None = None
) -> str:
    """The text with its translated sentences, the messages in it with those of their branches; spans that are not whole
    are added to `failed`."""
    texts = list[str]()
    for part in protected.parts:
        sentences = list[str]()
        for source in part.sentences:
            text = next(waiting).repaired.text if source.has_words else source.text
            sentences.append(source.prefix + source.with_tail(renumbered(text, source.numbers)) + source.suffix)
        spans = list(part.protected.spans)
        replaced = [(each, _rebuilt(each.text, waiting, failed, each.apostrophes)) for each in part.branches]
        for branch, text in reversed(replaced):
            raw = spans[branch.span].text
            spans[branch.span] = spans[branch.span]._replace(text=raw[: branch.begin] + text + raw[branch.end :])
        joined = part.gaps.join(sentences)
        marked = joined if apostrophes is None else apostrophes.write(joined)
        restored = restore(marked, part.protected._replace(spans=tuple(spans)))
        texts.append(restored.text)
        failed += [part.protected.spans[number].text for number in sorted({*restored.missing, *restored.misplaced})]
    return "".join(texts)


def _joined(source: str, text: str, translations: Sequence[Translation]) -> dict[str, Any]:
    """The fields of the translation of a text."""
    if translations:
        whole = joined(source, text, translations)
    else:
        whole = Translation(text, 0.0, (), 0.0, source, finished=True)
    return {field.name: getattr(whole, field.name) for field in fields(whole)}


def _split(protected: Protected, language: str) -> Sentences:
    """The sentences of a text; without a language one for each line. Lines also end at spans that break them."""
    texts, gaps, place = list[str](), [""], 0
    breaks = (match for match in MARK.finditer(protected.text) if _breaks(match[0], protected.spans))
    for begin, end in [*(match.span() for match in breaks), (len(protected.text), len(protected.text))]:
        line = protected.text[place:begin]
        bare = line.strip()
        outer = line.partition(bare) if bare else ("", "", line)
        whole = Sentences((bare,), (outer[0], outer[2])) if bare else Sentences((), (line,))
        split = split_sentences(line, language) if language else whole
        gaps[-1] += split.gaps[0]
        gaps += split.gaps[1:]
        texts += split.texts
        gaps[-1] += protected.text[begin:end]
        place = end
    return Sentences(tuple(texts), tuple(gaps))


def _breaks(mark: str, spans: Sequence[Span]) -> bool:
    return mark_number(mark) < len(spans) and spans[mark_number(mark)].role == "break"


def _sentence(text: str, spans: Sequence[Span], *, carry_tags: bool) -> MarkedSentence:
    """One sentence; tags at its ends that belong to other sentences, or are single, are kept outside of it."""
    begin, end = _inside(text, spans)
    apart = TAIL.search(text, begin, end)
    if apart and any(spans[mark_number(mark)].role in ("open", "close") for mark in MARK.findall(apart[1])):
        apart = None
    tail = apart[1] if apart else ""
    inner = text[begin : apart.start()] + apart[2] if apart else text[begin:end]
    numbers = [mark_number(mark) for mark in MARK.findall(inner)]
    local = {number: place for place, number in enumerate(numbers)}
    own = tuple(spans[number]._replace(partner=local.get(spans[number].partner, -1)) for number in numbers)
    marked = PLACEHOLDER.sub(lambda match: placeholder(local[mark_number(match[0])]), inner)
    left_out = [] if carry_tags else [number for number, span in enumerate(own) if _is_tag(span)]
    sent = without_placeholders(marked, left_out, own)[0] if left_out else marked
    return MarkedSentence(marked, own, tuple(numbers), text[:begin], text[end:], tail, sent)


def _with_terms(sentence: MarkedSentence, glossary: Glossary | None) -> MarkedSentence:
    return sentence if glossary is None else sentence._replace(terms=find_terms(sentence.sent, glossary))


def _is_tag(span: Span) -> bool:
    """Whether a span is markup, which has no text itself; a code with unknown content may have some."""
    return span.role in ("open", "close", "space") or span.name not in ("", "code", VALUE)


def _inside(text: str, spans: Sequence[Span]) -> tuple[int, int]:
    """Begin and end of the sentence without tags at its ends: a pair around it, or tags whose partner is outside."""
    numbers = [mark_number(mark) for mark in MARK.findall(text)]
    begin, end = 0, len(text)
    while begin < end:
        first, last = _tag(text[begin], spans), _tag(text[end - 1], spans)
        around = first is not None and first.partner >= 0 and text[end - 1] == placeholder(first.partner)
        before = around or (first is not None and first.partner not in numbers)
        after = around or (not before and last is not None and last.partner not in numbers)
        if not (before or after):
            break
        begin = len(text) - len(text[begin + 1 :].lstrip(" ")) if before else begin
        end = max(begin, len(text[: end - 1].rstrip(" "))) if after else end
    return begin, end


def _tag(character: str, spans: Sequence[Span]) -> Span | None:
    """The span of a placeholder, if it is a tag."""
    span = spans[mark_number(character)] if PLACEHOLDER.match(character) else None
    return span if span is not None and (_is_tag(span) or is_code(span.text)) and span.name != VALUE else None
