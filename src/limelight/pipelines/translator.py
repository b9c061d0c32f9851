"""The path from text to translation, used by the library, the command line, the server and validation.

    text -> sentences -> requests -> (an engine) -> hypotheses -> sentences -> text

The owner of the engine decodes requests to hypotheses. A `Job` is the state of a text on this path.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from typing import Unpack, overload

import torch

from limelight.config import DecodingConfig, Direction, find_direction, fitting_directions
from limelight.decoding.engine import BATCH_TOKENS, Engine
from limelight.decoding.ensemble import prepare_each
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import FREE, Request
from limelight.decoding.settings import SearchOptions, SearchSettings, search_settings
from limelight.decoding.shortlist import ShortOutput
from limelight.decoding.utf8 import Utf8
from limelight.decoding.workers import decode, workers_for
from limelight.errors import UserError
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.maps import attention_map
from limelight.inspection.word_alignment import AlignmentHead
from limelight.models.interface import Seq2Seq, eval_mode, longest_sequence, require_room
from limelight.pipelines.align import AttentionAligner, Links
from limelight.pipelines.guards import guarded, uncovered
from limelight.pipelines.job import (
    Chosen,
    Job,
    Part,
    Prepared,
    Sentence,
    Steps,
    TextOptions,
    TextSettings,
    asked_once,
    check_batch_tokens,
    choose_direction,
    finish_sentence,
    in_language,
    names_of,
    one_for_each,
    other_language,
    paragraph,
    parts_of,
    sentences_of,
    text_settings,
    with_constraints,
)
from limelight.pipelines.phrases import PhraseTokens
from limelight.pipelines.translation import Translation
from limelight.storage.tables import Confidence, Shortlist
from limelight.text.checks import recased, unknown_share
from limelight.text.detection import LanguageDetector
from limelight.text.kept_signs import INVISIBLE, find_unheld, held_characters
from limelight.text.language_names import language_name
from limelight.text.languages import normal_code
from limelight.text.long_sentences import MAX_TOKENS, with_short
from limelight.text.marks import MARK, without_marks
from limelight.text.readers.live import chunks
from limelight.text.sentences import Sentences
from limelight.tokens import UNKNOWN, Tokenizers, tagged
from limelight.tokens.marked import encode_marked_batch
from limelight.tokens.tokenizer import byte_of

__all__ = ["Prepared", "TextOptions", "Translation", "Translator"]


class Translator:
    """A model with its tokenizers and settings, for translating text. Methods restore the training mode of the model.

    A translator is thread-safe while the model is in evaluation mode and its weights do not change. Calls do not change
    settings of the process, unless `threads` is given.
    """

    def __init__(
        self,
        model: Seq2Seq,
        tokenizers: Tokenizers,
        config: DecodingConfig | None = None,
        *,
        precision: str | None = None,
        shortlist: Shortlist | None = None,
        threads: int | None = None,
        directions: Sequence[Direction] = (),
    ) -> None:
        """`config` has the defaults of the search options. With several `directions` the tag of the target language is
        put before each source.

        With a `precision` (`fp32`, `bf16` or `int8`) the model is prepared for inference (`inference.prepare`); after a
        change of its weights a new translator has to be made. Without one the model itself is used. With a `shortlist`
        only its tokens are scored. Raises `UserError` for a precision that is not available, for a shortlist of another
        vocabulary or with an ensemble, and for fewer than one thread.

        `threads` is for the owner of the process: on a CPU up to so many engines work in parallel, and during a call
        torch's number of threads and Python's switch interval are changed for the whole process. Such calls wait for
        one another.
        """
        if threads is not None and threads < 1:
            raise UserError(f"threads must be at least 1, not {threads}")
        self.threads = threads
        self.directions = tuple(directions)
        self.model = model
        self.name = ""
        """The name of the model in titles: the folder it was loaded from."""
        self.confidence: Confidence | None = None
        self.detector: LanguageDetector | None = None
        self.knows_placeholders = False
        """Whether the model was trained with placeholders, which guards use to protect spans."""
        self.knows_terms = False
        """Whether the model was trained with annotated terms; else terms are constraints of the search."""
        self.alignment_heads: Sequence[AlignmentHead] = ()
        """The heads that align words; the mean of all heads if there are none."""
        self.tokenizers = tokenizers
        self._utf8 = Utf8.of(tokenizers.target)
        self.config = config or DecodingConfig()
        self.searched = model if precision is None else prepare_each(model, precision)
        self.short = None if shortlist is None else ShortOutput(model, shortlist, precision or "fp32")

    @overload
    def translate(  # type: ignore[overload-overlap]  # a string is a sequence of strings, but here it is one text
        self, texts: str, *, source_lang: str | None = None, target_lang: str | None = None,
        prefix: str | None = None, batch_tokens: int = BATCH_TOKENS, **options: Unpack[TextOptions],
    ) -> Translation: ...  # fmt: skip
    @overload
    def translate(
        self, texts: Sequence[str], *, source_lang: str | None = None, target_lang: str | None = None,
        prefix: Sequence[str] | None = None, batch_tokens: int = BATCH_TOKENS, **options: Unpack[TextOptions],
    ) -> list[Translation]: ...  # fmt: skip
    def translate(
        self,
        texts: str | Sequence[str],
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
        prefix: str | Sequence[str] | None = None,
        batch_tokens: int = BATCH_TOKENS,
        **options: Unpack[TextOptions],
    ) -> Translation | list[Translation]:
        """Translate a text, or a list of texts into a list in the same order.

        Args:
            source_lang, target_lang: the direction, for a model that has several; may be omitted if unambiguous.
            prefix: forced beginning of each translation, one for each text.
            batch_tokens: maximum size of a batch: texts * source tokens of the longest * hypotheses of each.
            options: `lines`, `guards`, `marked`, `must_include`, `must_not_include`: see `TextOptions`; `beam_size`,
                `n_best`, `length_penalty`, `length_offset`, `patience`, `prune`, `max_length_factor`,
                `max_length_extra`, `sampling`: see `SearchOptions`. The defaults are the model's own settings.

        A sentence of more than `MAX_TOKENS` tokens is divided at punctuation or spaces, also with `lines`. Raises
        `UserError` for a direction that the model does not have, for settings out of bounds, and for a text longer than
        the model permits, with its number.
        """
        check_batch_tokens(batch_tokens)
        ready = partial(self.jobs, source_lang=source_lang, target_lang=target_lang, **options)
        if isinstance(texts, str):
            if prefix is not None and not isinstance(prefix, str):
                raise UserError("one text takes one prefix: also give it as a string")
            return self.run(ready([texts], prefix=[prefix or ""]), batch_tokens)[0]
        if isinstance(prefix, str):
            raise UserError(f"{len(texts)} texts take a list of as many prefixes, not a single string")
        return self.run(ready(texts, prefix=prefix), batch_tokens)

    def translate_stream(
        self,
        texts: Iterable[str | None],
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
        batch_tokens: int = BATCH_TOKENS,
        chunk: int = 1000,
        **options: Unpack[TextOptions],
    ) -> Iterator[Translation]:
        """Translate any number of texts in bounded memory, `chunk` at a time; otherwise like `translate`.

        Texts of a chunk are batched by length, so a larger chunk is faster, but the first result is later. `None` marks
        a pause of the input: the texts before it are translated immediately.
        """
        if chunk < 1:
            raise UserError(f"chunk must be at least 1 line, not {chunk}")
        check_batch_tokens(batch_tokens)
        ready = partial(self.jobs, source_lang=source_lang, target_lang=target_lang, **options)
        ready([])  # raise errors of the options before waiting for a text
        first = 1
        for some in chunks(texts, chunk):
            yield from self.run(ready(some, first=first), batch_tokens)
            first += len(some)

    def jobs(
        self,
        texts: Sequence[str],
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
        prefix: Sequence[str] | None = None,
        first: int = 1,
        **options: Unpack[TextOptions],
    ) -> list[Job]:
        """A job for each text, for the owner of an engine: `translate` without the decoding, with the same arguments.
        See `pipelines/job.py`.

        `first` is the number of the first text in the whole input, for messages and for sampling, whose draws depend on
        the seed and the number of the text. Raises `UserError` as `translate` does.
        """
        settings = text_settings(self.config, options)
        whole = settings.lines or bool(settings.phrases.include)
        chosen = self._choose_directions(texts, source_lang, target_lang)
        split, parts = [], list[Part]()
        starts = one_for_each(prefix, texts)
        others = [""] * len(texts)
        if settings.guards and (settings.detected or not source_lang):
            others = [self.other_language(text, direction) for text, (direction, _) in zip(texts, chosen, strict=True)]
        for number, (text, (direction, _), start) in enumerate(zip(texts, chosen, starts, strict=True), start=first):
            found = sentences_of(text, direction, whole=whole or bool(start))
            split.append(self._divided(found, number, whole=bool(start or settings.phrases.include)))
            parts += parts_of(split[-1], direction, start, number)
        asked = self._phrase_tokens.constraints(settings.phrases) if any(settings.phrases) else FREE
        ready = self._prepared(parts, settings.search, marked=settings.marked)
        prepared = (with_constraints(each, asked) for each in ready)
        jobs = []
        for text, sentences, (direction, sure), other in zip(texts, split, chosen, others, strict=True):
            steps = [self._sentence(next(prepared), settings) for _ in sentences.texts]
            whole_text = paragraph(text, sentences, steps, source_lang_confidence=sure)
            jobs.append(Job(in_language(text, whole_text, other, direction)))
        return jobs

    def fits(self, text: str) -> bool:
        """Whether a sentence, which may be marked, has at most `MAX_TOKENS` tokens."""
        if 3 * len(text) <= MAX_TOKENS and text.isascii():  # a token for each byte, and a space before it
            return True
        marks = len(MARK.findall(text))
        return len(self.tokenizers.source.encode(without_marks(text))) + marks <= MAX_TOKENS

    def _divided(self, sentences: Sentences, number: int, *, whole: bool) -> Sentences:
        """Sentences that fit. Raises `UserError` if the text with this number is to stay whole, and does not fit."""
        if whole and not all(map(self.fits, sentences.texts)):
            raise UserError(
                f"text {number} has more than {MAX_TOKENS} tokens, and with a prefix or must_include it is one "
                "sentence: split it"
            )
        return with_short(sentences, self.fits)

    def require_language(self, text: str, target_lang: str | None) -> None:
        """Raise `UserError` for a text without a given source language that is clearly in a language from which the
        model does not translate to the target language; one that is in the target language already is permitted."""
        [(direction, _)] = self._choose_directions([text], None, target_lang)
        found = self.other_language(text, direction)
        if not found or direction is None or normal_code(found) == normal_code(direction.target):
            return
        sources = sorted({each.source for each in fitting_directions(self.directions, "", direction.target)})
        raise UserError(
            f"the text looks like {language_name(found)} ({found}), and this model translates to {direction.target} "
            f"from {', '.join(sources)}; give --from {direction.source} (source_lang) to translate it anyway"
        )

    def other_language(self, text: str, direction: Direction | None) -> str:
        """The code of the language that a text is in, if that is clear and not the source language of `direction`; else
        an empty string."""
        return other_language(self.directions, self.detector, text, direction)

    def prepare(
        self,
        texts: Sequence[str],
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
        prefix: Sequence[str] | None = None,
        marked: bool = False,
        first: int = 1,
        **options: Unpack[SearchOptions],
    ) -> list[Prepared]:
        """Sentences as requests for an engine, each with its settings, limits and forced tokens. Each text is one
        sentence here, and there are no guards.

        Arguments and errors are those of `jobs`.
        """
        settings = search_settings(self.config, options)
        chosen = self._choose_directions(texts, source_lang, target_lang)
        starts = one_for_each(prefix, texts)
        parts = [
            Part(text, direction, start, (number,))
            for number, (text, (direction, _), start) in enumerate(zip(texts, chosen, starts, strict=True), start=first)
        ]
        return self._prepared(parts, settings, marked=marked)

    def engine(self, *, batch_tokens: int = BATCH_TOKENS) -> Engine:
        """A new engine for requests of `prepare`, for callers that own it. `batch_tokens` limits all requests that are
        decoded at a time."""
        return Engine(self.searched, batch_tokens=batch_tokens, short=self.short, utf8=self._utf8)

    def finish(self, prepared: Prepared, hypotheses: Sequence[Hypothesis] = ()) -> Translation:
        """The translation of a sentence from its hypotheses: the best one, with the others as alternatives. The
        translation of a blank text, which has no hypotheses, is empty."""
        return finish_sentence(prepared, hypotheses, self.tokenizers, self.confidence)

    def attention(
        self,
        text: str,
        target: str | None = None,
        beam_size: int | None = None,
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
    ) -> AttentionMap:
        """The attention map of `text` with the model's own translation, or with a given `target`.

        Raises `UserError` for a blank text, for an ensemble, and for a direction that the model does not have.
        """
        if not text.strip():
            raise UserError("the text is blank: there is nothing to attend to; give a sentence")
        [(direction, _)] = self._choose_directions([text], source_lang, target_lang)
        tokenizers = self._tokenizers_of(direction)
        if target is not None:
            target_ids: Sequence[int] = tokenizers.target.encode(target)
        else:
            prepared = self.prepare([text], source_lang=source_lang, target_lang=target_lang, beam_size=beam_size)
            requests = [each.request for each in prepared if each.request is not None]
            target_ids = next((found[0].ids for found in self.decode(requests, BATCH_TOKENS)), ())
        return replace(attention_map(self.model, tokenizers, text, target_ids), model=self.name)

    @overload
    def align(  # type: ignore[overload-overlap]  # as for `translate`
        self, source: str, target: str, *, source_lang: str | None = None, target_lang: str | None = None,
        symmetrize: bool = True,
    ) -> Links: ...  # fmt: skip
    @overload
    def align(
        self, source: Sequence[str], target: Sequence[str], *, source_lang: str | None = None,
        target_lang: str | None = None, symmetrize: bool = True,
    ) -> list[Links]: ...  # fmt: skip
    def align(
        self,
        source: str | Sequence[str],
        target: str | Sequence[str],
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
        symmetrize: bool = True,
    ) -> Links | list[Links]:
        """The word alignment of a sentence and its translation, or of many: pairs of word numbers, counted from 0.

        Words and punctuation are separated by spaces. See `AttentionAligner.align` for the method, `symmetrize` and
        errors.
        """
        one = isinstance(source, str)
        sides = [[side] if isinstance(side, str) else side for side in (source, target)]
        if isinstance(target, str) is not one or len(sides[0]) != len(sides[1]):
            raise UserError(f"{len(sides[0])} sources and {len(sides[1])} targets: give one target for each source")
        direction = find_direction(self.directions, source_lang or "", target_lang or "")
        pairs = [(each.split(), other.split()) for each, other in zip(*sides, strict=True)]
        found = self.aligner.align(pairs, direction, symmetrize=symmetrize)
        return found[0] if one else found

    @property
    def aligner(self) -> AttentionAligner:
        """What `align` uses."""
        return AttentionAligner(self.model, self.towards, self.directions, self.alignment_heads)

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        weight = next(self.model.parameters(), None)
        return torch.device("cpu") if weight is None else weight.device

    def towards(self, direction: Direction | None) -> Tokenizers:
        """The tokenizers for a direction, with the tag of its target language if the model has several.

        Raises `UserError` if the model does not have the direction, or has several and None is given.
        """
        found = find_direction(self.directions, *(direction or ("", "")))
        return self._tokenizers_of(found)

    def _choose_directions(
        self, texts: Sequence[str], source_lang: str | None, target_lang: str | None
    ) -> list[Chosen]:
        asked = source_lang or "", target_lang or ""
        choose = partial(choose_direction, self.directions, self.detector, source=asked[0], target=asked[1])
        if not texts and self.detector is None:
            choose("")  # raises for an invalid request
        return [choose(text) for text in texts]

    def _tokenizers_of(self, direction: Direction | None) -> Tokenizers:
        if direction is None or len(self.directions) < 2:
            return self.tokenizers
        return tagged(self.tokenizers, direction.target)

    @cached_property
    def _letters(self) -> frozenset[str]:
        """The letters in the source vocabulary, in lower case."""
        source = self.tokenizers.source
        return frozenset("".join(source.pieces(range(source.size))).lower())

    @cached_property
    def _held(self) -> frozenset[str]:
        """The characters that the source vocabulary holds; those that are no letters are in the target's, too."""
        source, target = (held_characters(each.pieces(range(each.size))) for each in self.tokenizers)
        return frozenset(each for each in source if each.isalnum() or each in target)

    def _unheld(self, text: str, language: str) -> Sequence[tuple[int, int]]:
        """The parts of a text that the vocabulary does not hold."""
        return () if self._held.issuperset(text) else find_unheld(text, self._held, language)

    def _unknown_share(self, text: str, request: Request) -> float:
        """The share of letters of a text that are not in the source vocabulary."""
        ids = request.source[:-1]
        if UNKNOWN not in ids and not any(map(byte_of, self.tokenizers.source.pieces(ids))):
            return 0.0
        return unknown_share(text, self._letters)

    def run(self, jobs: Sequence[Job], batch_tokens: int = BATCH_TOKENS) -> list[Translation]:
        """The translations of jobs. All pending requests are decoded together, repeatedly, until none is pending."""
        while asking := [job for job in jobs if job.requests]:
            found = iter(self.decode([request for job in asking for request in job.requests], batch_tokens))
            for job in asking:
                job.receive([next(found) for _ in job.requests])
        return [job.translation for job in jobs if job.translation is not None]

    def decode(self, requests: Sequence[Request], batch_tokens: int = BATCH_TOKENS) -> list[list[Hypothesis]]:
        """The hypotheses of each request. Requests of similar length are decoded together."""
        found: list[list[Hypothesis]] = [[] for _ in requests]
        workers = workers_for(len(requests), self.device, self.threads)
        new_engine = partial(self.engine, batch_tokens=batch_tokens)
        decoding = decode(requests, new_engine, workers=workers, threads=self.threads)
        with eval_mode(self.searched), closing(decoding):
            for number, hypotheses in decoding:
                found[number] = hypotheses
        return found

    def _sentence(self, prepared: Prepared, settings: TextSettings) -> Steps[Translation]:
        if prepared.request is None:
            return self.finish(prepared)
        phrases, ask = settings.phrases, asked_once
        if any(phrases):
            ask = partial(self._phrase_tokens.searched, phrases=phrases)
        if settings.guards:
            asked = Sentence(
                prepared,
                prepared.request,
                remade=self._remade,
                read=self.finish,
                unknown_share=self._unknown_share(prepared.text, prepared.request),
                knows_placeholders=self.knows_placeholders and not phrases.has_digits,
                recase=lambda text: recased(text, self.tokenizers.source.encode),
                uncovered=partial(uncovered, self.model, self._tokenizers_of(prepared.direction), prepared),
                ask=ask,
                unheld=partial(self._unheld, language=names_of(prepared.direction)[0]),
            )
            found = yield from guarded(asked)
        else:
            found = self.finish(prepared, (yield from ask(prepared.request)))
        return replace(found, warnings=(*found.warnings, *phrases.warnings(found.text))) if any(phrases) else found

    @cached_property
    def _phrase_tokens(self) -> PhraseTokens:
        return PhraseTokens(self.tokenizers.target)

    def _remade(self, prepared: Prepared, text: str, marked: bool) -> Prepared:
        """The prepared sentence with another text."""
        old = prepared.request
        assert old is not None
        part = Part(text, prepared.direction, "", old.substream)
        [other] = self._prepared([part], old.settings, marked=marked or prepared.marked)
        return with_constraints(other, old.constraints)

    def _prepared(self, parts: Sequence[Part], settings: SearchSettings, *, marked: bool) -> list[Prepared]:
        """Sentences as requests. Raises `UserError` for a sentence that is too long."""
        sources: list[list[int]] = [[] for _ in parts]
        for direction in {part.direction for part in parts}:
            source = self._tokenizers_of(direction).source
            places = [place for place, part in enumerate(parts) if part.direction == direction]
            texts = [parts[place].text for place in places]
            texts = [each if each.isascii() else each.translate(INVISIBLE) for each in texts]
            rows = encode_marked_batch(source, texts) if marked else source.encode_batch(texts)
            for place, row in zip(places, rows, strict=True):
                sources[place] = row
        starts = self.tokenizers.target.encode_batch([part.prefix for part in parts])
        longest = longest_sequence(self.model)
        prepared = []
        for part, ids, start in zip(parts, sources, starts, strict=True):
            blank = not ids or not part.text.strip()
            request = None if blank else self._request(ids, start, part.place, settings=settings, longest=longest)
            prepared.append(Prepared(part.text, request, part.direction, marked))
        return prepared

    def _request(
        self, source: list[int], prefix: list[int], place: tuple[int, ...], *, settings: SearchSettings,
        longest: int | None,
    ) -> Request:  # fmt: skip
        limit = settings.max_length(len(source))
        if longest is not None:
            require_room(source, longest, f"text {place[0]}")
            require_room(prefix, longest, f"prefix {place[0]}")
            limit = min(limit, longest - 1)
        source = [*source, self.model.end_id]
        listed = None if self.short is None else self.short.listed(source, prefix)
        return Request(source, limit, settings, tuple(prefix), shortlist=listed, substream=place)
