"""From a prompt to the text that goes on from it: language models, with the search and the engine of translation."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch

from limelight.config import RecurrentLanguageModelConfig, RunConfig
from limelight.decoding.engine import Engine
from limelight.decoding.request import Request
from limelight.decoding.sampling import Sampling
from limelight.decoding.settings import SearchSettings
from limelight.errors import UserError
from limelight.inference.prepare import prepare
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.maps import text_map
from limelight.models.interface import eval_mode, longest_sequence
from limelight.models.language_model import LanguageModel
from limelight.pipelines.writer import Writer
from limelight.tokens import Tokenizers
from limelight.tokens.text import decode_text, encode_text

BATCH_TOKENS = 16384
"""Tokens of prompts that are read at a time."""


@dataclass(frozen=True, slots=True)
class Generated:
    """A text that a model has written."""

    text: str
    """What was written: neither the prompt nor a stop text is part of it."""
    prompt: str
    tokens: tuple[str, ...]
    """The tokens that were drawn, those of a stop text included, without the end."""
    log_probability: float
    """Natural logarithm of what the model gives these tokens, and the end if it came, before temperature and cuts."""
    ended_by: Literal["end", "stop", "length"]
    """The model's own end of the text, a stop text, or the limit of tokens."""


class Growth(NamedTuple):
    """What one step has added to one of the texts."""

    sample: int
    """Which text, counted from 0."""
    text: str
    done: Generated | None
    """The whole of it, once it is complete."""


class TextGenerator:
    """A language model with all it takes to write text. The model is left as it was found: still training, if it was.

    Args:
        window: most tokens that the model has learned to see at once; None where it carries a state as long as it
            likes. When so many are used up, the last half of them is read anew as the prompt of a new state: a text of
            any length is written in a window that never grows. That costs reading each token once more, and what lies
            further back than the window is forgotten.
        precision: packs the model for searching, see `Translator`.

    Raises `UserError` for a precision that is not to be had.
    """

    def __init__(
        self,
        model: LanguageModel,
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
        """Texts that go on from `prompt`; an empty one is the beginning of a document.

        Args:
            samples: how many, drawn independently.
            max_tokens: the maximum number of tokens of each.
            sampling: how to draw; None takes the most probable token each time (greedy search).
            stop: texts that end a text where they appear in it.

        Raises `UserError` for settings out of bounds, and `RunError` where the model predicts no numbers.
        """
        grown = self.write(prompt, samples=samples, max_tokens=max_tokens, sampling=sampling, stop=stop)
        done = {each.sample: each.done for each in grown if each.done is not None}
        return [done[sample] for sample in range(samples)]

    def stream(
        self, prompt: str, *, max_tokens: int = 500, sampling: Sampling | None = None, stop: Sequence[str] = ()
    ) -> Iterator[str]:
        """One text as it comes, in parts that make up what `generate` gives: whole characters, and nothing that may be
        the beginning of a stop text."""
        grown = self.write(prompt, max_tokens=max_tokens, sampling=sampling, stop=stop)
        return (each.text for each in grown if each.text)

    def write(
        self,
        prompt: str,
        *,
        samples: int = 1,
        max_tokens: int = 500,
        sampling: Sampling | None = None,
        stop: Sequence[str] = (),
    ) -> Iterator[Growth]:
        """All texts as they come, side by side; each ends with a `Growth` that has the whole of it."""
        if samples < 1 or max_tokens < 1:
            name, value = ("samples", samples) if samples < 1 else ("max_tokens", max_tokens)
            raise UserError(f"{name} must be at least 1, not {value}")
        if sampling is None and samples > 1:
            raise UserError(f"{samples} samples of greedy search would be the same text: give a sampling to draw them")
        if "" in stop:
            raise UserError("an empty stop text would end every text before it begins")
        tokens = encode_text(self.tokenizers.target, prompt)
        settings = SearchSettings(sampling=sampling)
        return self._write(
            [_Draft(sample, prompt, tokens, self, max_tokens, stop) for sample in range(samples)], settings
        )

    def attention(self, text: str) -> AttentionMap:
        """What the model attends to while it reads `text` from its beginning: `decoder_self`, and nothing in a
        recurrent model. Raises `UserError` for a blank text, and for one longer than learned positions reach."""
        if not text.strip():
            raise UserError("the text is blank: there is nothing to attend to; give a sentence")
        tokenizer = self.tokenizers.target
        return text_map(self.model, tokenizer, encode_text(tokenizer, text))

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        weight = next(self.model.parameters(), None)
        return torch.device("cpu") if weight is None else weight.device

    def _write(self, drafts: Sequence["_Draft"], settings: SearchSettings) -> Iterator[Growth]:
        engine = Engine(self.searched, batch_tokens=BATCH_TOKENS)
        writing = {engine.submit(draft.request(settings)): draft for draft in drafts}
        while writing:
            # For a step alone: who is handed its result is not to be within it.
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
    """A text that is being written."""

    def __init__(
        self, sample: int, prompt: str, tokens: Sequence[int], by: TextGenerator, max_tokens: int, stop: Sequence[str]
    ) -> None:
        self.sample, self.done = sample, False
        self.room = 0
        """How many tokens it may get before it has to be read anew."""
        self.written = 0
        """How many it has got since it was read."""
        self._windows = 0
        self._prompt, self._window, self._tokenizer = prompt, by.window, by.tokenizers.target
        self._context = [by.model.start_id, *tokens]
        """What a new state begins with."""
        self._tokens: list[int] = []
        self._left = max_tokens
        after_space = prompt.endswith(" ") and not decode_text(self._tokenizer, tokens).endswith(" ")
        self._writer = Writer(self._tokenizer, tokens, stop=stop, after_space=after_space)
        self._text: list[str] = []
        self._before, self._now = 0.0, 0.0
        """Log-probabilities of what former states have written, and of what this one has."""

    def request(self, settings: SearchSettings) -> Request:
        """Begin to write, or go on with a new state, which draws other numbers."""
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
        """One more token; the log-probability is that of all that this state has written."""
        self._tokens.append(token)
        self._context.append(token)
        self._now = log_probability
        self._left, self.room, self.written = self._left - 1, self.room - 1, self.written + 1
        text = self._writer.hear(token)
        if self._writer.stopped:
            return self._over(text, "stop")
        if not self._left:
            text += self._writer.rest()
            return self._over(text, "stop" if self._writer.stopped else "length")
        self._text.append(text)
        return Growth(self.sample, text, None)

    def end(self, log_probability: float) -> Growth:
        """The model itself has ended it."""
        self._now = log_probability
        text = self._writer.rest()
        return self._over(text, "stop" if self._writer.stopped else "end")

    def _over(self, text: str, ended_by: Literal["end", "stop", "length"]) -> Growth:
        self.done = True
        whole = Generated(
            text="".join([*self._text, text]),
            prompt=self._prompt,
            tokens=tuple(self._tokenizer.pieces(self._tokens)),
            log_probability=self._before + self._now,
            ended_by=ended_by,
        )
        return Growth(self.sample, text, whole)


def window_of(config: RunConfig) -> int | None:
    """How many tokens a language model has learned to see at once; None for one that carries a state."""
    return None if isinstance(config.model, RecurrentLanguageModelConfig) else config.batching.block
