"""Text generation with language models, which continue a prompt, with the same engine as translation. Text is written
as soon as it is certain: only whole characters, and nothing that may begin a stop text.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

from limelight.decoding.engine import Engine
from limelight.decoding.request import Request, SearchSettings
from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.inference.prepare import prepare, search_precision
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.maps import text_map
from limelight.models.interface import device_of, eval_mode, longest_sequence
from limelight.models.transformer.halves import DecoderOnly
from limelight.pipelines.job import BLANK
from limelight.storage.model import StoredModel
from limelight.tokens import Tokenizer, Tokenizers
from limelight.tokens.text import decode_text, encode_text


class Writer:
    """Decodes one text incrementally.

    Args:
        prompt: the ids before the text: they determine whether its first word has a space before it.
        stop: texts that end it and are not part of it. The first one that is complete ends the text, however it is
            divided into tokens.
        after_space: whether the prompt ended with a space that its ids do not contain: the text then begins without.
    """

    def __init__(
        self, tokenizer: Tokenizer, prompt: Sequence[int], *, stop: Sequence[str] = (), after_space: bool = False
    ) -> None:
        self._tokenizer, self._stop, self._after_space = tokenizer, tuple(stop), after_space
        self._context, self._latest = list[int](), list(prompt)
        """Tokens that affect the decoding of the next one: the tokens of the last visible text, and the tokens after
        it."""
        self._size = len(decode_text(tokenizer, prompt))
        """Length of their text."""
        self._held = ""
        """Decoded text that may be the beginning of a stop text."""
        self.stopped = False

    def hear(self, token: int) -> str:
        """Add a token; returns the text that is certain after it."""
        self._latest.append(token)
        full_text = decode_text(self._tokenizer, [*self._context, *self._latest])
        text, self._size = full_text[self._size :], len(full_text)
        if text.strip():  # white space alone may be taken for the beginning of a line
            self._context, self._latest = self._latest, []
            self._size = len(decode_text(self._tokenizer, self._context))
        if text and self._after_space:
            text, self._after_space = text.removeprefix(" "), False
        self._held += text
        return self._certain()

    def rest(self) -> str:
        """The remaining text, after the last token."""
        text, self._held = self._held, ""
        return text

    def _certain(self) -> str:
        """The part of the held text that cannot begin a stop text, or the text before a complete one."""
        ends = [(self._held.find(stop) + len(stop), -len(stop)) for stop in self._stop if stop in self._held]
        if ends:
            end, length = min(ends)
            text, self._held, self.stopped = self._held[: end + length], "", True
            return text
        begun = (size for stop in self._stop for size in range(1, len(stop)) if self._held.endswith(stop[:size]))
        certain = len(self._held) - max(begun, default=0)
        text, self._held = self._held[:certain], self._held[certain:]
        return text


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated text."""

    text: str
    """The generated text, without the prompt and without the stop text."""
    prompt: str
    tokens: tuple[str, ...]
    """The generated tokens, including the tokens of a stop text, without the end."""
    log_probability: float
    """Log-probability of these tokens, and of the end if it was generated, before temperature, top-k and top-p; natural
    logarithm."""
    ended_by: Literal["end", "stop", "length"]
    """The end token, a stop text, or the limit of tokens."""


class Growth(NamedTuple):
    """The text that one step added to a sample."""

    sample: int
    """The number of the sample, from 0."""
    text: str
    done: Generated | None
    """The whole text if it is complete; else None."""


class TextGenerator:
    """A language model with its tokenizer. Methods restore the training mode of the model.

    Args:
        window: maximum context in tokens; None for any length. When the context is full, its last half becomes the
            prompt of a new state, so that texts may have any length. Each token is encoded about twice then, and tokens
            before the window have no influence.
        precision: precision of the prepared model, see `Translator`.

    Raises `UserError` for a precision that is not available.
    """

    def __init__(
        self,
        model: DecoderOnly,
        tokenizers: Tokenizers,
        *,
        window: int | None = None,
        precision: str | None = None,
    ) -> None:
        self.model, self.tokenizers = model, tokenizers
        bounds = [bound for bound in (window, longest_sequence(model)) if bound is not None]
        self.window = min(bounds, default=None)
        self.searched = model if precision is None else prepare(model, precision)

    def generate(
        self,
        prompt: str,
        *,
        samples: int = 1,
        max_tokens: int = 500,
        sampling: Sampling | None = None,
        stop: Sequence[str] = (),
    ) -> list[Generated]:
        """Generate continuations of `prompt`; with an empty prompt, beginnings of documents.

        Args:
            samples: number of independent samples.
            max_tokens: maximum number of tokens of each.
            sampling: sampling settings; None takes the most probable token at every step (greedy search).
            stop: a generated text ends before the first occurrence of this text, or of one of these.

        Raises `UserError` for settings out of bounds, and `RunError` if the predictions of the model are NaN.
        """
        grown = self.write(prompt, samples=samples, max_tokens=max_tokens, sampling=sampling, stop=stop)
        done = {growth.sample: growth.done for growth in grown if growth.done is not None}
        return [done[sample] for sample in range(samples)]

    def stream(
        self, prompt: str, *, max_tokens: int = 500, sampling: Sampling | None = None, stop: Sequence[str] = ()
    ) -> Iterator[str]:
        """Generate one text in parts, which concatenated are the text of `generate`. Parts have only whole characters,
        and nothing that may be the beginning of a stop text."""
        grown = self.write(prompt, max_tokens=max_tokens, sampling=sampling, stop=stop)
        return (growth.text for growth in grown if growth.text)

    def write(
        self,
        prompt: str,
        *,
        samples: int = 1,
        max_tokens: int = 500,
        sampling: Sampling | None = None,
        stop: Sequence[str] = (),
    ) -> Iterator[Growth]:
        """Generate all samples in parallel, step by step; the last `Growth` of each has the whole text."""
        for name, value in (("samples", samples), ("max_tokens", max_tokens)):
            if value < 1:
                raise UserError(f"{name} must be at least 1, not {value}")
        if sampling is None and samples > 1:
            raise UserError(f"{samples} samples of greedy search would be equal: give `sampling`, or samples=1")
        stop = [stop] if isinstance(stop, str) else stop
        if "" in stop:
            raise UserError("an empty stop text would end every text before it begins")
        tokens = encode_text(self.tokenizers.target, prompt)
        settings = SearchSettings(sampling=sampling)
        return self._write(
            [_Draft(sample, prompt, tokens, self, max_tokens, stop) for sample in range(samples)], settings
        )

    def attention(self, text: str) -> AttentionMap:
        """The attention map of `text`: `decoder_self`. Raises `UserError` for a blank text and for one longer than the
        learned positions."""
        if not text.strip():
            raise UserError(BLANK)
        tokenizer = self.tokenizers.target
        return text_map(self.model, tokenizer, encode_text(tokenizer, text))

    def _write(self, drafts: Sequence["_Draft"], settings: SearchSettings) -> Iterator[Growth]:
        engine = Engine(self.searched)
        writing = {engine.submit(draft.request(settings)): draft for draft in drafts}
        while writing:
            # Only during a step: callers must not run inside the context.
            with eval_mode(self.model) if self.searched is self.model else nullcontext():
                outcomes = engine.step()
            grown = []
            for outcome in outcomes:
                if outcome.error is not None:
                    raise outcome.error
                grown.append(writing.pop(outcome.id).end(outcome.hypotheses[0].log_probability))
            for number, draft in list(writing.items()):
                latest = engine.partial(number, since=draft.written)
                if latest is None:  # it waits
                    continue
                grown.append(draft.hear(latest.ids[-1], latest.log_probability))
                if draft.done or draft.room == 0:
                    engine.cancel(number)
                    del writing[number]
                if not draft.done and draft.room == 0:
                    writing[engine.submit(draft.request(settings))] = draft
            yield from grown


class _Draft:
    """A text during its generation."""

    def __init__(
        self, sample: int, prompt: str, tokens: Sequence[int], by: TextGenerator, max_tokens: int, stop: Sequence[str]
    ) -> None:
        self.sample, self.done = sample, False
        self.room = 0
        """Number of further tokens before the window is full."""
        self.written = 0
        """Number of tokens generated with the current state."""
        self._windows = 0
        self._prompt, self._window, self._tokenizer = prompt, by.window, by.tokenizers.target
        self._context = [by.model.start_id, *tokens]
        """The tokens with which a new state begins."""
        self._tokens: list[int] = []
        self._left = max_tokens
        after_space = prompt.endswith(" ") and not decode_text(self._tokenizer, tokens).endswith(" ")
        self._writer = Writer(self._tokenizer, tokens, stop=stop, after_space=after_space)
        self._text: list[str] = []
        self._before, self._now = 0.0, 0.0
        """Log-probability of the tokens of previous states, and of the current one."""

    def request(self, settings: SearchSettings) -> Request:
        """The request that begins the text, or continues it with a new state and a new random stream."""
        context = self._context
        if self._window is None:
            self.room = self._left
        else:
            if len(context) > self._window or self._tokens:
                context = context[-max(1, self._window // 2) :]
            # The last token of a state is predicted, but not read by it.
            self.room = min(self._left, self._window - len(context) + 1)
        self._context = context
        self._before, self._now = self._before + self._now, 0.0
        self._windows, self.written = self._windows + 1, 0
        substream = (self.sample, self._windows)
        return Request(context[:-1], self.room, settings, first=context[-1], substream=substream)

    def hear(self, token: int, log_probability: float) -> Growth:
        """Add a token; `log_probability` has the log-probabilities of all tokens in the current state."""
        self._tokens.append(token)
        self._context.append(token)
        self._now = log_probability
        self._left, self.room, self.written = self._left - 1, self.room - 1, self.written + 1
        text = self._writer.hear(token)
        if self._writer.stopped:
            return self._over(text, "stop")
        if not self._left:
            return self._over(text + self._writer.rest(), "length")
        self._text.append(text)
        return Growth(self.sample, text, None)

    def end(self, log_probability: float) -> Growth:
        """End the text after the end token."""
        self._now = log_probability
        return self._over(self._writer.rest(), "end")

    def _over(self, text: str, ended_by: Literal["end", "stop", "length"]) -> Growth:
        self.done = True
        generated = Generated(
            text="".join([*self._text, text]),
            prompt=self._prompt,
            tokens=tuple(self._tokenizer.pieces(self._tokens)),
            log_probability=self._before + self._now,
            ended_by=ended_by,
        )
        return Growth(self.sample, text, generated)


def make_generator(stored: Sequence[StoredModel], *, precision: str | None = None) -> TextGenerator:
    """The text generator of a stored language model; its window is the length of the texts it was trained with."""
    [generator] = stored
    model = cast(DecoderOnly, generator.model)
    precision = precision or search_precision(generator.config.weights, device_of(model))
    return TextGenerator(model, generator.tokenizers, window=generator.config.batching.block, precision=precision)
