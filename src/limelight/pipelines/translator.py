"""The one way from text to text: for the library, the command line, the server and validation."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Unpack, overload

import torch

from limelight.config import DecodingConfig, Direction, find_direction
from limelight.decoding.engine import BATCH_TOKENS, Engine
from limelight.decoding.ensemble import prepare_each
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request
from limelight.decoding.settings import SearchOptions, SearchSettings, search_settings
from limelight.decoding.shortlist import ShortOutput
from limelight.decoding.workers import decode, workers_for
from limelight.errors import UserError
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.maps import attention_map
from limelight.models.eval_mode import eval_mode
from limelight.models.interface import Seq2Seq
from limelight.models.room import longest_sequence, require_room
from limelight.storage.shortlist import Shortlist
from limelight.text.readers.live import chunks
from limelight.tokens import Tokenizers, tagged
from limelight.tokens.marked import decode_marked, encode_marked_batch


@dataclass(frozen=True, slots=True)
class Translation:
    """What a text became. A blank text becomes an empty one, with a score of 0 and no tokens."""

    text: str
    """One line: an end of line, which a model that spells in bytes can spell, is a space."""
    score: float
    """What hypotheses were ranked by: `log_probability / length_penalty(pieces)`; sampled ones are not normalised."""
    tokens: tuple[str, ...]
    """Its target pieces, without the end."""
    log_probability: float
    """Natural logarithm of what the model gives these pieces and the end."""
    source: str
    finished: bool
    """Whether the model ended it by itself, before the length limit."""
    alternatives: tuple["Translation", ...] = ()
    """With `n_best` above 1 the others, best first."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text that is ready to be decoded."""

    text: str
    request: Request | None
    """What an engine is asked for; None for a blank text, of which there is nothing to decode."""
    marked: bool = False
    """Whether private-use characters in the text, and in its translation, are marks (`text/marks.py`)."""


class Translator:
    """A model with all it takes to translate text. The model is left as it was found: still training, if it was.

    Any number of threads may call one translator at once, and each gets what it would get alone, as long as the model
    is in evaluation mode and nobody changes its weights. No call changes a setting of the process, unless `threads` is
    given.
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
        """`config` holds the defaults of `translate`; its own defaults where it is not given. With several `directions`
        the tag of the target language goes before each source.

        With a `precision` the model is packed for searching, in `fp32`, `bf16` or `int8`; after its weights change a
        new translator has to be made. Without one it is searched as it is at the time. With a `shortlist` nothing is
        scored but the pieces that are on it. Raises `UserError` for a precision that is not to be had, for a shortlist
        that is for another vocabulary, or given to an ensemble, and for fewer than one thread.

        `threads` is for whoever owns the process and wants to translate much with all of it: on a CPU up to so many
        engines work side by side, and for as long as a call takes, torch's number of threads and Python's switch
        interval are changed for the whole process. Such calls wait for one another.
        """
        if threads is not None and threads < 1:
            raise UserError(f"threads must be at least 1, not {threads}")
        self.threads = threads
        self.directions = tuple(directions)
        self.model = model
        self.name = ""
        """What titles of pictures call the model: the folder it was loaded from."""
        self.tokenizers = tokenizers
        self.config = config or DecodingConfig()
        self.searched = model if precision is None else prepare_each(model, precision)
        self.short = None if shortlist is None else ShortOutput(model, shortlist, precision or "fp32")

    @overload
    def translate(  # type: ignore[overload-overlap]  # a string is a sequence of strings, but here it is one text
        self, texts: str, *, source_lang: str | None = None, target_lang: str | None = None,
        prefix: str | None = None, marked: bool = False, batch_tokens: int = BATCH_TOKENS,
        **options: Unpack[SearchOptions],
    ) -> Translation: ...  # fmt: skip
    @overload
    def translate(
        self, texts: Sequence[str], *, source_lang: str | None = None, target_lang: str | None = None,
        prefix: Sequence[str] | None = None, marked: bool = False, batch_tokens: int = BATCH_TOKENS,
        **options: Unpack[SearchOptions],
    ) -> list[Translation]: ...  # fmt: skip
    def translate(
        self,
        texts: str | Sequence[str],
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
        prefix: str | Sequence[str] | None = None,
        marked: bool = False,
        batch_tokens: int = BATCH_TOKENS,
        **options: Unpack[SearchOptions],
    ) -> Translation | list[Translation]:
        """Translate a text, or a list of texts into a list in the same order.

        Args:
            source_lang, target_lang: the direction, for a model that has several; as much of it as makes it clear.
            prefix: target text each translation begins with, one for each text.
            marked: whether the texts are marked (`text/marks.py`), and their translations are to be.
            batch_tokens: bounds a batch: texts * source pieces of the longest * hypotheses of each.
            options: `beam_size`, `n_best`, `length_penalty`, `length_offset`, `patience`, `prune`,
                `max_length_factor`, `max_length_extra`, `sampling`: see `SearchOptions`. What is not given is the
                model's own.

        Raises `UserError` for a direction that the model does not have, for settings out of bounds, and for a text
        longer than the model can take, naming its place.
        """
        _check_batch_tokens(batch_tokens)
        ready = partial(self.prepare, source_lang=source_lang, target_lang=target_lang, marked=marked, **options)
        if isinstance(texts, str):
            if prefix is not None and not isinstance(prefix, str):
                raise UserError("one text takes one prefix: give it as a string, too")
            prepared = ready([texts], prefix=[prefix or ""])
            return self._translated(prepared, batch_tokens)[0]
        if isinstance(prefix, str):
            raise UserError(f"{len(texts)} texts take a list of as many prefixes, not a single string")
        return self._translated(ready(texts, prefix=prefix), batch_tokens)

    def translate_stream(
        self,
        lines: Iterable[str | None],
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
        batch_tokens: int = BATCH_TOKENS,
        chunk: int = 1000,
        **options: Unpack[SearchOptions],
    ) -> Iterator[Translation]:
        """Translate any number of lines in bounded memory, `chunk` at a time; otherwise like `translate`.

        Lines of a chunk are batched by length, so a larger chunk is faster and the first result comes later. A `None`
        among the lines is a pause of the input: those before it are translated, however few they are.
        """
        if chunk < 1:
            raise UserError(f"chunk must be at least 1 line, not {chunk}")
        _check_batch_tokens(batch_tokens)
        ready = partial(self.prepare, source_lang=source_lang, target_lang=target_lang, **options)
        ready([])  # what is wrong with the call is told before a line is waited for
        first = 1
        for some in chunks(lines, chunk):
            yield from self._translated(ready(some, first=first), batch_tokens)
            first += len(some)

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
        """Texts as requests for an engine, each with its settings, limits and forced tokens: the first third of
        `translate`, with whose arguments it is called.

        `first` is the number of the first text in the whole input: for messages, and for what sampling draws, which is
        a function of the seed and the number of the text. Raises `UserError` as `translate` does.
        """
        settings = search_settings(self.config, options)
        tokenizers = self.towards(Direction(source_lang or "", target_lang or ""))
        if prefix is not None and len(prefix) != len(texts):
            raise UserError(f"{len(prefix)} prefixes for {len(texts)} texts: give one for each, '' forces nothing")
        sources = encode_marked_batch(tokenizers.source, texts) if marked else tokenizers.source.encode_batch(texts)
        starts = tokenizers.target.encode_batch(prefix if prefix is not None else [""] * len(texts))
        make = partial(self._request, settings=settings, longest=longest_sequence(self.model))
        prepared = []
        for number, (text, source, start) in enumerate(zip(texts, sources, starts, strict=True), start=first):
            blank = not source or not text.strip()
            prepared.append(Prepared(text, None if blank else make(source, start, number), marked))
        return prepared

    def engine(self, *, batch_tokens: int = BATCH_TOKENS) -> Engine:
        """A new engine for requests of `prepare`: the second third, for whoever wants to own it. Its `batch_tokens` are
        those of all that is decoded at a time."""
        return Engine(self.searched, batch_tokens=batch_tokens, short=self.short)

    def finish(self, prepared: Prepared, hypotheses: Sequence[Hypothesis] = ()) -> Translation:
        """What was found for a text, in words: the best as the translation, the others as its alternatives. The last
        third of `translate`. A blank text, for which there is nothing to find, becomes an empty one."""
        if not hypotheses:
            return Translation("", 0.0, (), 0.0, prepared.text, finished=True)
        target = self.tokenizers.target
        spell = partial(decode_marked, target) if prepared.marked else target.decode
        best, *others = (
            Translation(
                text=_one_line(spell(hypothesis.ids)),
                score=hypothesis.score,
                tokens=tuple(target.pieces(hypothesis.ids)),
                log_probability=hypothesis.log_probability,
                source=prepared.text,
                finished=hypothesis.finished,
            )
            for hypothesis in hypotheses
        )
        return replace(best, alternatives=tuple(others))

    def attention(
        self,
        text: str,
        target: str | None = None,
        beam_size: int | None = None,
        *,
        source_lang: str | None = None,
        target_lang: str | None = None,
    ) -> AttentionMap:
        """What the model attends to while it translates `text`: into its own translation, or into a given `target`.

        Raises `UserError` for a blank text, for an ensemble, and for a direction that the model does not have.
        """
        if not text.strip():
            raise UserError("the text is blank: there is nothing to look at; give a sentence")
        tokenizers = self.towards(Direction(source_lang or "", target_lang or ""))
        if target is not None:
            target_ids: Sequence[int] = tokenizers.target.encode(target)
        else:
            prepared = self.prepare([text], source_lang=source_lang, target_lang=target_lang, beam_size=beam_size)
            (found,) = self._decoded(prepared, BATCH_TOKENS)
            target_ids = found[0].ids if found else ()
        return replace(attention_map(self.model, tokenizers, text, target_ids), model=self.name)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        weight = next(self.model.parameters(), None)
        return torch.device("cpu") if weight is None else weight.device

    def towards(self, direction: Direction | None) -> Tokenizers:
        """The tokenizers for a direction: with the tag of its target language where the model has several.

        Raises `UserError` where the model does not have it, or has several and None is given.
        """
        found = find_direction(self.directions, *(direction or ("", "")))
        if found is None or len(self.directions) < 2:
            return self.tokenizers
        return tagged(self.tokenizers, found.target)

    def _translated(self, prepared: Sequence[Prepared], batch_tokens: int) -> list[Translation]:
        found = self._decoded(prepared, batch_tokens)
        return [self.finish(each, hypotheses) for each, hypotheses in zip(prepared, found, strict=True)]

    def _decoded(self, prepared: Sequence[Prepared], batch_tokens: int) -> list[list[Hypothesis]]:
        """The hypotheses of each text, none for a blank one. Texts of like length are searched together."""
        found: list[list[Hypothesis]] = [[] for _ in prepared]
        places = [place for place, each in enumerate(prepared) if each.request is not None]
        requests = [each.request for each in prepared if each.request is not None]
        workers = workers_for(len(requests), self.device, self.threads)
        new_engine = partial(self.engine, batch_tokens=batch_tokens)
        decoding = decode(requests, new_engine, workers=workers, threads=self.threads)
        with eval_mode(self.searched), closing(decoding):
            for number, hypotheses in decoding:
                found[places[number]] = hypotheses
        return found

    def _request(
        self, source: list[int], prefix: list[int], number: int, *, settings: SearchSettings, longest: int | None
    ) -> Request:
        """For the text of this number. Raises `UserError` for one that is too long."""
        limit = settings.max_length(len(source))
        if longest is not None:
            require_room(source, longest, f"text {number}")
            require_room(prefix, longest, f"prefix {number}")
            limit = min(limit, longest - 1)
        source = [*source, self.model.end_id]
        listed = None if self.short is None else self.short.listed(source, prefix)
        return Request(source, limit, settings, tuple(prefix), shortlist=listed, substream=(number,))


def _check_batch_tokens(batch_tokens: int) -> None:
    if batch_tokens < 1:
        raise UserError(f"batch_tokens must be at least 1, not {batch_tokens}")


def _one_line(text: str) -> str:
    """A line in has to be a line out."""
    return text.replace("\r", " ").replace("\n", " ")
