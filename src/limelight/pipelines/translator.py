"""The one door from text to text: the library, the command line, documents, corpora, the service and validation.

    text -> a direction -> sentences -> requests -> (an engine) -> hypotheses -> sentences -> text

`Translator.jobs` makes a job of each text; the owner of engines works on jobs (`pipelines/scheduler.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack, overload

from limelight.config import find_direction
from limelight.decoding.engine import BATCH_TOKENS, Engine
from limelight.decoding.request import Hypothesis, Request, SearchOptions, search_settings
from limelight.errors import RunError, UserError, counted
from limelight.formats.lines import chunks
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.heads import Heads, with_heads
from limelight.inspection.maps import attention_map
from limelight.models.interface import eval_mode
from limelight.pipelines.align import AttentionAligner, Links
from limelight.pipelines.codec import Codec, Part, names_of
from limelight.pipelines.job import BLANK, Job, Result, Steps, Text
from limelight.pipelines.options import Options, TextOptions
from limelight.pipelines.scheduler import run
from limelight.pipelines.text_job import TextJob, require_text
from limelight.pipelines.translation import Translation
from limelight.storage.tables import AlignmentHead, Roles

__all__ = ["TextJob", "TextOptions", "Translation", "Translator"]


class Translator(Codec):
    """A model with its tokenizers and settings, for translating text. Methods restore the training mode of the model.

    A translator is thread-safe while the model is in evaluation mode and its weights do not change. Calls do not change
    settings of the process, unless `threads` is given.
    """

    alignment_heads: Sequence[AlignmentHead] = ()
    """The heads that align words; the mean of all heads if there are none."""
    head_roles: Roles | None = None

    @overload
    def translate(  # type: ignore[overload-overlap]  # a string is a sequence of strings, but here it is one text
        self, texts: str, *, prefix: str | None = None,
        batch_tokens: int = BATCH_TOKENS, **options: Unpack[TextOptions],
    ) -> Translation: ...  # fmt: skip
    @overload
    def translate(
        self, texts: Sequence[str], *, prefix: Sequence[str] | None = None,
        batch_tokens: int = BATCH_TOKENS, **options: Unpack[TextOptions],
    ) -> list[Translation]: ...  # fmt: skip
    def translate(
        self,
        texts: str | Sequence[str],
        *,
        prefix: str | Sequence[str] | None = None,
        batch_tokens: int = BATCH_TOKENS,
        **options: Unpack[TextOptions],
    ) -> Translation | list[Translation]:
        """Translate a text, or a list of texts into a list in the same order.

        Args:
            prefix: forced beginning of each translation, one for each text.
            batch_tokens: maximum size of a batch: texts * source tokens of the longest * hypotheses of each.
            options: see `TextOptions` and `SearchOptions`. The defaults are the model's own settings.

        A sentence of more than `MAX_TOKENS` tokens is divided at punctuation or spaces, also with `lines`. Raises
        `UserError` for a direction that the model does not have, for settings out of bounds, and for a text longer than
        the model permits, with its number.
        """
        is_single = isinstance(texts, str)
        several = [texts] if isinstance(texts, str) else listed(texts)
        prefixes = _one_for_each([prefix] if is_single and isinstance(prefix, str) else prefix, several)
        numbered = map(Text, several, range(1, len(several) + 1), prefixes)
        translations = self.run(self.jobs(numbered, self.options(**options)), batch_tokens)
        return translations[0] if is_single else translations

    def translate_stream(
        self,
        texts: Iterable[str | None],
        *,
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
        settings, first = self.options(**options), 1
        for chunk_of_texts in chunks([texts] if isinstance(texts, str) else texts, chunk):
            numbered = [Text(text, number) for number, text in enumerate(chunk_of_texts, start=first)]
            yield from self.run(self.jobs(numbered, settings), batch_tokens)
            first += len(chunk_of_texts)

    def options(self, **named: Unpack[TextOptions]) -> Options:
        """The settings of a call. Raises `UserError` for settings out of bounds, and for a direction that the model
        does not have."""
        protects = self.knows_placeholders or (named.get("glossary") is not None and self.knows_marks)
        options = Options.of(self.config, named, protects=protects)
        if self.detector is None or options.source_lang or options.target_lang:
            direction = self.choose("", options.source_lang, options.target_lang, pivot=options.pivot).direction
            self.tags_of(options, names_of(direction)[1])
        return options

    def jobs(self, texts: Iterable[Text], options: Options) -> Iterator[TextJob]:
        """A job for each text, whose result is its translation; or an error, for a text that is too long for the model
        or in a direction that it does not have."""
        return (TextJob(self, text, options) for text in texts)

    def prepare(
        self,
        texts: Sequence[str],
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
        prefix: Sequence[str] | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Part]:
        """Sentences as requests for an engine, each with its settings, limits and forced tokens. Each text is one
        sentence here, and there are no guards.

        Raises `UserError` for a text that is too long, with its number, and as `options` does.
        """
        settings, prepared = search_settings(self.config, options), list[Part]()
        for number, (text, start) in enumerate(zip(texts, _one_for_each(prefix, texts), strict=True), start=1):
            direction = self.choose(text, source_lang, target_lang, pivot=False).direction
            prepared.append(self.encode(Part(text, direction, start, (number,)), settings))
        return prepared

    def engine(self, *, batch_tokens: int = BATCH_TOKENS) -> Engine:
        """A new engine for requests of `prepare`, for callers that own it. `batch_tokens` limits all requests that are
        decoded at a time."""
        return Engine(self.searched, batch_tokens=batch_tokens, short=self.short)

    def run(self, jobs: Iterable[TextJob], batch_tokens: int = BATCH_TOKENS) -> list[Translation]:
        """The translations of jobs, in their order. Raises the error of the first that has one."""
        kept = list[TextJob]()

        def checked_jobs() -> Iterator[TextJob]:
            for job in jobs:
                kept.append(job)
                _result(job)
                yield job

        self.work(checked_jobs(), batch_tokens)
        return [translation for job in kept if (translation := _result(job)) is not None]

    def work(self, jobs: Iterable[Job[Any, Any]], batch_tokens: int = BATCH_TOKENS) -> None:
        """Work on jobs, which are made on demand, until each has a result or an error. An error about the weights
        names the model."""
        if batch_tokens < 1:
            raise UserError(f"batch_tokens must be at least 1, not {batch_tokens}")
        self.refresh()
        with eval_mode(self.searched) as device:
            new_engine = partial(self.engine, batch_tokens=batch_tokens)
            try:
                run(jobs, new_engine, device=device, threads=self.threads)
            except RunError as error:
                if self.name:
                    error.add_note(f"the model is {self.name}")
                raise

    def decode(self, requests: Sequence[Request], batch_tokens: int = BATCH_TOKENS) -> list[list[Hypothesis]]:
        """The hypotheses of each request. Requests of similar length are decoded together."""
        job: Job[list[Hypothesis], list[list[Hypothesis]]] = Job(map(_once, requests), list)
        self.work([job], batch_tokens)
        return _result(job) or []

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
        require_text(text, "the text")
        (part,) = self.prepare([text], source_lang=source_lang, target_lang=target_lang, beam_size=beam_size)
        if part.request is None:
            raise UserError(BLANK)
        tokenizers = self.tokenizers_of(part.direction)
        ids: Sequence[int] = (*part.request.prefix, *tokenizers.target.encode(target or ""))
        if target is None:
            ids = self.ranked(part.request, self.decode([part.request])[0])[0].ids
        seen = attention_map(self.model, tokenizers, text, ids, source_ids=part.request.source[:-1])
        return replace(seen, model=self.name)

    def with_heads(self, keep_heads: Heads) -> Translator:
        """A translator whose heads contribute as much as given: `{"decoder.1.cross": [1, 0, 1, 1]}` switches off one.

        It shares the other weights, and is as fast as this one. Raises `UserError` as `inspection.heads.with_heads`
        does.
        """
        translator = copy.copy(self)
        translator._given = with_heads(self.model, keep_heads)
        translator._prepare()
        return translator

    def align(
        self,
        source: str,
        target: str,
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
        symmetrize: bool = True,
    ) -> Links:
        """The word alignment of a sentence and its translation: pairs of word numbers, counted from 0. Words and
        punctuation are separated by spaces. See `AttentionAligner.align`, which takes many pairs."""
        direction = find_direction(self.directions, source_lang or "", target_lang or "")
        return self.aligner.align([(source.split(), target.split())], direction, symmetrize=symmetrize)[0]

    @property
    def aligner(self) -> AttentionAligner:
        """Aligns many pairs."""
        return AttentionAligner(self.model, self.towards, self.directions, self.alignment_heads)


def _result(job: Job[Any, Result]) -> Result | None:
    """The result of a job. Raises its error."""
    if job.error is not None:
        raise job.error
    return job.result


def _once(request: Request) -> Steps[list[Hypothesis]]:
    """One search."""
    return (yield request)


def listed(texts: object) -> list[str]:
    """The texts of a call. Raises `UserError` for anything but strings in a list, an array or another iterable."""
    if isinstance(texts, bytes | Mapping) or not isinstance(texts, Iterable):
        raise UserError(f"texts is {texts!r:.60}: give a string, or a list of strings")
    return list(texts)


def _one_for_each(prefix: Sequence[str] | str | None, texts: Sequence[str]) -> Sequence[str]:
    """The prefixes of texts. Raises `UserError` for a different number of prefixes."""
    if prefix is None:
        return [""] * len(texts)
    if isinstance(prefix, str) or len(prefix) != len(texts):
        count = "a single string" if isinstance(prefix, str) else f"a list of {len(prefix)}"
        raise UserError(f"prefix is {count} for {counted(len(texts), 'text')}: give one for each, '' forces nothing")
    return prefix
