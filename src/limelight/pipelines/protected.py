"""Text with tags and variables in, its translation with the same tags and variables out.

Three steps, as `Translator` has them. `protect_text`: spans become placeholders, and the text is split into sentences
of marked text. These are translated with `marked=True`. `finish_text`: where a translation does not have each
placeholder exactly once, well-formed and in order, the first of its alternatives that does is taken; else what is
missing or misplaced goes where attention says; what cannot be placed so is appended, and reported as failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from limelight.batching.batch import make_batch
from limelight.errors import UserError
from limelight.models.eval_mode import eval_mode
from limelight.pipelines.place_marks import Attended, Slot, place_marks
from limelight.text.marks import MARK, PLACEHOLDER, has_marks, mark_number, placeholder, without_marks
from limelight.text.protect import Protected, Span, divide, protect, restore
from limelight.text.protectors import Protector
from limelight.text.sentences import Sentences, split_sentences
from limelight.text.units.unit import is_code
from limelight.tokens.marked import decode_marked, encode_marked, knows_marks
from limelight.tokens.tokenizer import PLACEHOLDERS

if TYPE_CHECKING:
    from limelight.pipelines.translator import Translation, Translator


class MarkedSentence(NamedTuple):
    """A sentence with placeholders, numbered from 0."""

    text: str
    spans: tuple[Span, ...]
    """What its placeholders stand for; partners are numbers within the sentence, -1 for those of other sentences."""
    numbers: tuple[int, ...]
    """Which spans of the whole part these are."""
    prefix: str = ""
    """Marks of the whole part before it, which stay there."""
    suffix: str = ""

    @property
    def has_words(self) -> bool:
        """Whether there is anything to translate."""
        return any(character.isalpha() for character in without_marks(self.text))


class Part(NamedTuple):
    """A text, or a part of one, with no more spans than there are placeholders."""

    protected: Protected
    gaps: Sentences
    """What is between its sentences."""
    sentences: tuple[MarkedSentence, ...]


class ProtectedText(NamedTuple):
    """A text that is ready to be translated: its parts, end to end."""

    text: str
    parts: tuple[Part, ...]

    @property
    def sentences(self) -> list[str]:
        """Marked text to be translated, sentence by sentence."""
        return [sentence.text for part in self.parts for sentence in part.sentences if sentence.has_words]


@dataclass(frozen=True, slots=True)
class ProtectedTranslation:
    """What a text with protected spans became."""

    text: str
    source: str
    sentences: tuple[Translation, ...]
    """The translations of its sentences: marked text."""
    moved: tuple[str, ...] = ()
    """Spans that the model had lost or misplaced, and that were placed by attention."""
    failed: tuple[str, ...] = ()
    """Spans whose place is not known (they were appended), or whose place cannot be right: a pair of tags that is not
    nested, `%s` in another order."""


class _Finished(NamedTuple):
    """A sentence with its placeholders."""

    text: str
    moved: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()


def protect_text(text: str, protectors: Sequence[Protector], language: str = "en") -> ProtectedText:
    """A text with placeholders, in sentences by the rules of its language."""
    return ProtectedText(text, tuple(_part(part, protectors, language) for part in divide(text, protectors)))


def finish_text(
    translator: Translator, protected: ProtectedText, translations: Sequence[Translation], **direction: Any
) -> ProtectedTranslation:
    """The translation of a text from those of its sentences, each with its alternatives."""
    found, waiting = list[str](), iter(translations)
    moved, failed = list[str](), list[str]()
    for part in protected.parts:
        texts = list[str]()
        for sentence in part.sentences:
            done = _Finished(sentence.text)
            if sentence.has_words:
                done = _finish(translator, sentence, next(waiting), **direction)
            texts.append(sentence.prefix + _renumbered(done.text, sentence.numbers) + sentence.suffix)
            moved += [sentence.spans[number].text for number in done.moved]
            failed += [sentence.spans[number].text for number in done.failed]
        restored = restore(part.gaps.join(texts), part.protected)
        found.append(restored.text)
        failed += [part.protected.spans[number].text for number in {*restored.missing, *restored.misplaced}]
    return ProtectedTranslation("".join(found), protected.text, tuple(translations), tuple(moved), tuple(failed))


def translate_protected(
    translator: Translator, texts: Sequence[str], protectors: Sequence[Protector], **options: Any
) -> list[ProtectedTranslation]:
    """Translate texts; what `protectors` find comes out exactly once, or is reported as failed.

    `options` are those of `Translator.translate`. Raises `UserError` as that does, and for a model whose vocabulary has
    no placeholders.
    """
    language = options.get("source_lang") or "en"
    return translate_prepared(translator, [protect_text(text, protectors, language) for text in texts], **options)


def translate_prepared(
    translator: Translator, protected: Sequence[ProtectedText], **options: Any
) -> list[ProtectedTranslation]:
    """The same for texts that are protected already."""
    sentences = list(chain.from_iterable(each.sentences for each in protected))
    known = knows_marks(translator.tokenizers.source) and knows_marks(translator.tokenizers.target)
    if not known and any(map(has_marks, sentences)):
        raise UserError("the vocabulary of this model has no placeholders (<ph0> ...): it cannot protect spans")
    different = list(dict.fromkeys(sentences))
    translated = translator.translate(different, **{**options, "marked": known, "lines": True})
    found = dict(zip(different, translated, strict=True))
    direction = {name: options.get(name) for name in ("source_lang", "target_lang")}
    return [finish_text(translator, each, [found[text] for text in each.sentences], **direction) for each in protected]


def _part(text: str, protectors: Sequence[Protector], language: str) -> Part:
    protected = protect(text, protectors)
    split = split_sentences(protected.text, language)
    return Part(protected, split, tuple(_sentence(each, protected.spans) for each in split.texts))


def _sentence(text: str, spans: Sequence[Span]) -> MarkedSentence:
    """One sentence; tags at its ends that belong to other sentences, or stand alone, stay outside of it."""
    begin, end = _inside(text, spans)
    inner = text[begin:end]
    numbers = [mark_number(mark) for mark in MARK.findall(inner)]
    local = {number: place for place, number in enumerate(numbers)}
    own = tuple(spans[number]._replace(partner=local.get(spans[number].partner, -1)) for number in numbers)
    marked = PLACEHOLDER.sub(lambda match: placeholder(local[mark_number(match[0])]), inner)
    return MarkedSentence(marked, own, tuple(numbers), text[:begin], text[end:])


def _inside(text: str, spans: Sequence[Span]) -> tuple[int, int]:
    """Where the sentence is between tags at its ends: a pair around all of it, or tags whose partner is not in it."""
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
    return span if span is not None and (span.text.startswith("<") or is_code(span.text)) else None


def _renumbered(text: str, numbers: Sequence[int]) -> str:
    return PLACEHOLDER.sub(lambda match: placeholder(numbers[mark_number(match[0])]), text)


def _finish(translator: Translator, sentence: MarkedSentence, translation: Translation, **direction: Any) -> _Finished:
    """The best of some translations, with each placeholder of the sentence exactly once."""
    for each in (translation, *translation.alternatives):
        if not _faults(each.text, sentence.spans):
            return _Finished(each.text)
    text = _kept(translation.text, sentence.spans)
    text, reordered = _in_order(text, sentence.spans)
    missing = [number for number in range(len(sentence.spans)) if placeholder(number) not in text]
    attended = _attended(translator, sentence.text, text, **direction) if missing else None
    if missing and attended is None:
        appended = "".join(placeholder(number) for number in missing)
        return _Finished(text + appended, failed=(*missing, *reordered))
    if attended is not None:
        text = place_marks(attended, sentence.spans, missing)
    return _Finished(text, moved=tuple(missing), failed=reordered)


def _faults(text: str, spans: Sequence[Span]) -> bool:
    """Whether a marked text does not have each span exactly once, well-formed and in order."""
    return not restore(text, Protected(text, tuple(spans))).is_whole or len(MARK.findall(text)) != len(spans)


def _kept(text: str, spans: Sequence[Span]) -> str:
    """The text without what cannot stay: marks of nothing, further copies, and pairs that are not nested, of which both
    tags go."""
    kept, parts, place = set[int](), list[str](), 0
    misplaced = restore(text, Protected(text, tuple(spans))).misplaced
    wrong = {*misplaced, *(spans[number].partner for number in misplaced)}
    for match in MARK.finditer(text):
        number = mark_number(match[0])
        parts.append(text[place : match.start()])
        place = match.end()
        if number < len(spans) and number not in kept and number not in wrong:
            kept.add(number)
            parts.append(match[0])
        elif parts[-1].endswith(" ") and text[place : place + 1] == " ":
            place += 1
    return "".join([*parts, text[place:]]).strip()


def _in_order(text: str, spans: Sequence[Span]) -> tuple[str, tuple[int, ...]]:
    """The text with its sequential spans in the order of the source, and the numbers of those that were not."""
    order = [number for mark in MARK.findall(text) if spans[number := mark_number(mark)].role == "sequential"]
    if order == sorted(order):
        return text, ()
    turn = dict(zip(order, sorted(order), strict=True))
    changed = tuple(number for number, now in turn.items() if number != now)
    return _renumbered(text, [turn.get(number, number) for number in range(len(spans))]), changed


def _attended(translator: Translator, source: str, target: str, **direction: Any) -> Attended | None:
    """What each token of a translation attends to; None for a model without attention to the source.

    Raises `UserError` for a direction that the model does not have.
    """
    from limelight.config import Direction

    tokenizers = translator.towards(Direction(direction.get("source_lang") or "", direction.get("target_lang") or ""))
    source_ids, target_ids = encode_marked(tokenizers.source, source), encode_marked(tokenizers.target, target)
    model = translator.model
    batch = make_batch(
        [source_ids],
        [target_ids],
        start=model.start_id,
        end=model.end_id,
        source_padding=model.source_padding,
        target_padding=model.target_padding,
    )
    try:
        with eval_mode(model) as device:
            _, weights = model.forward_with_attention(batch.to(device))
    except UserError:  # an ensemble
        return None
    if not weights.cross:
        return None
    cross = weights.cross[-1][0].float().mean(dim=0).cpu().numpy()[: len(target_ids), : len(source_ids)].copy()
    known = {tokenizers.source.reserved_id(piece): number for number, piece in enumerate(PLACEHOLDERS)}
    marks = {known[each]: place for place, each in enumerate(source_ids) if each in known}
    cross[:, : len(source_ids) - len(encode_marked(translator.tokenizers.source, source))] = 0  # the language tag
    return Attended(target, _slots(translator, target, target_ids), np.asarray(cross), marks)


def _slots(translator: Translator, text: str, ids: Sequence[int]) -> tuple[Slot, ...]:
    """The places between the words and marks of a text that are also places between its tokens."""
    tokenizer = translator.tokenizers.target
    words = tokenizer.word_of(ids)
    slots = [Slot(0, 0)]
    for row in range(1, len(ids)):
        before = decode_marked(tokenizer, ids[:row])
        divided = words[row] != words[row - 1] or MARK.search(before[-1:]) or MARK.match(text[len(before) :].lstrip())
        if divided and text.startswith(before) and len(before) > slots[-1].place:
            slots.append(Slot(row, len(before)))
    return (*slots, Slot(len(ids), len(text)))
