"""Continuous batching: sentences join and leave between steps, so that short ones do not wait for long ones.

All that are being decoded take each step together. One that is decided leaves at once; its place in the decoder's state
is taken by the next that waits, or is left out when places like it have become too many. Nothing that is kept is copied
when others join.
"""

from collections import deque
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import Tensor

from limelight.batching.batch import pad_rows
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.search import Integers, Request, Search
from limelight.decoding.shortlist import Output, ShortOutput
from limelight.decoding.top import normalised
from limelight.models.interface import Seq2Seq
from limelight.models.state import State
from limelight.shapes import Bool, Int

Key = TypeVar("Key", bound=Hashable)

ROWS = {"cpu": 256, "cuda": 4096, "mps": 4096}
"""So many hypotheses keep a device busy; more of them only take memory, and on a CPU they leave its caches."""

SENTENCES = {"cpu": 96, "cuda": 4096, "mps": 4096}
"""The same for sentences, where each has few hypotheses."""

DEAD_SHARE = 4
"""One place in so many may be dead before they are left out, which copies what is kept."""


@dataclass(frozen=True, slots=True)
class Waiting(Generic[Key]):
    """A sentence that has not been begun."""

    key: Key
    source: Sequence[int]
    """Source ids, with the end; a prompt has none and may be empty."""
    request: Request


class Engine(Generic[Key]):
    """Decodes sentences as they come, with one kind of search.

    Args:
        batch_tokens: bounds what is decoded at a time: sentences * source pieces of the longest (an empty one counts as
            one) * hypotheses of each. One that alone has more is decoded alone. `ROWS` bounds it, too.
        short: scores the pieces that are on the sentences' shortlist alone; without it all of them are scored.
    """

    def __init__(self, model: Seq2Seq, search: Search, *, batch_tokens: int, short: ShortOutput | None = None) -> None:
        self.model, self.search, self.batch_tokens = model, search, batch_tokens
        self._short, self._output = short, Output(model.project)
        self._device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
        self._waiting: deque[Waiting[Key]] = deque()
        self._running: list[Waiting[Key] | None] = []
        """Who has each place; None where it is dead."""
        self._state: State | None = None

    def add(self, key: Key, source: Sequence[int], request: Request) -> None:
        """Put a sentence in line. It joins at one of the next steps."""
        self._waiting.append(Waiting(key, source, request))

    @property
    def busy(self) -> bool:
        """Whether there is anything left to do."""
        return bool(self._waiting) or self._state is not None

    @torch.inference_mode()
    def step(self) -> list[tuple[Key, list[Hypothesis]]]:
        """Admit who waits, take one step with all; returns those that have just been decided."""
        joining = self._joining()
        self._leave_out_dead(len(joining))
        if joining:
            self._admit(joining)
        if self._state is None:
            return []
        self._state, decided = take_step(self.model, self.search, self._state, self._output, self._device)
        done = []
        for place in decided.tolist():
            who = self._running[place]
            assert who is not None
            done.append((who.key, self.search.results(place)))
        self._bury(decided.tolist())
        return done

    def latest(self) -> list[tuple[Key, list[int], list[float]]]:
        """For each sentence that is being decoded the last piece of every hypothesis, and its log-probability so far.

        Only searches whose hypotheses stay what they are (`PathSearch`) can be followed so, piece by piece.
        """
        return [
            (who.key, self.search.ids[place].tolist(), self.search.log_probabilities[place].tolist())
            for place, who in enumerate(self._running)
            if who is not None
        ]

    @torch.inference_mode()
    def drop(self, keys: Collection[Key]) -> None:
        """Give up sentences that are being decoded: nobody wants more of them. They have no results."""
        places = [place for place, who in enumerate(self._running) if who is not None and who.key in keys]
        self.search.open[places] = False
        self._bury(places)

    def _bury(self, places: Sequence[int]) -> None:
        """These places are dead from now on."""
        for place in places:
            self._running[place] = None
        if not any(self._running):
            self._state, self._running = None, []
            self.search.keep(np.zeros(0, dtype=np.int64))
        elif places and self._state is not None:
            # All that are dead, not the latest alone: else one could live on beyond the positions a model has learned.
            dead = [place for place, who in enumerate(self._running) if who is None]
            self._state = self._state.release(torch.tensor(dead, device=self._device))

    def _joining(self) -> list[Waiting[Key]]:
        """Who joins now: as many as there is room for. While others run, a few at a time are not worth the encoder."""
        running = [who for who in self._running if who is not None]
        longest, count = max((len(who.source) for who in running), default=0), 0
        for who in self._waiting:
            longest = max(longest, len(who.source))
            if (running or count) and not self._fit(len(running) + count + 1, longest):
                break
            count += 1
        if running and count < len(self._waiting) and len(running) > DEAD_SHARE * count:
            return []
        return [self._waiting.popleft() for _ in range(count)]

    def _fit(self, sentences: int, longest: int) -> bool:
        """Whether so many sentences may be decoded together, the longest having so many pieces."""
        kind, rows = self._device.type, sentences * self.search.width
        return rows * max(longest, 1) <= self.batch_tokens and rows <= ROWS[kind] and sentences <= SENTENCES[kind]

    def _admit(self, joining: Sequence[Waiting[Key]]) -> None:
        free = [place for place, who in enumerate(self._running) if who is None][: len(joining)]
        free += range(len(self._running), len(self._running) + len(joining) - len(free))
        self._running += [None] * (max(free) + 1 - len(self._running))
        for place, who in zip(free, joining, strict=True):
            self._running[place] = who
        places = np.array(free, dtype=np.int64)
        source, valid = pad_rows([who.source for who in joining], self.model.source_padding)
        fresh = begin(self.model, self.search, source.to(self._device), valid.to(self._device))
        self.search.admit([who.request for who in joining], places)
        if self._short is not None:
            all_of_them = [who for who in self._running if who is not None]
            self._output = self._short.onto(
                [who.source for who in all_of_them], [who.request.prefix for who in all_of_them]
            )
        if self._state is None:
            self._state = fresh
        else:
            self._state = self._state.admit(fresh, torch.from_numpy(places).to(self._device))

    def _leave_out_dead(self, joining: int) -> None:
        """Where too many places are dead, also after those who join have taken some."""
        alive = [place for place, who in enumerate(self._running) if who is not None]
        if self._state is None or DEAD_SHARE * (len(self._running) - len(alive) - joining) < len(self._running):
            return
        places = np.array(alive, dtype=np.int64)
        self._running = [self._running[place] for place in alive]
        self.search.keep(places)
        self._state = self._state.keep(torch.from_numpy(places).to(self._device))


def decode_batch(
    model: Seq2Seq,
    search: Search,
    source: Int[Tensor, "batch source"],
    source_valid: Bool[Tensor, "batch source"],
    requests: Sequence[Request],
) -> list[list[Hypothesis]]:
    """What the search finds for each source, all of them in one batch."""
    engine = Engine[int](model, search, batch_tokens=len(source) * max(source.shape[1], 1) * search.width)
    for row, (ids, valid, request) in enumerate(zip(source, source_valid, requests, strict=True)):
        engine.add(row, ids[valid].tolist(), request)
    found: dict[int, list[Hypothesis]] = {}
    while engine.busy:
        found.update(engine.step())
    return [found[row] for row in range(len(requests))]


def begin(
    model: Seq2Seq, search: Search, source: Int[Tensor, "batch source"], source_valid: Bool[Tensor, "batch source"]
) -> State:
    """The state of sentences before their first step."""
    return model.start(model.encode(source, source_valid), search.width)


def take_step(
    model: Seq2Seq, search: Search, state: State, output: Output, device: torch.device
) -> tuple[State, Integers]:
    """One position for every hypothesis that lives: the state after it, and the places that are decided."""
    living = search.living()
    features, state = model.step_some(torch.from_numpy(search.ids).to(device), state, living)
    parents, decided = search.advance(normalised(output.project(features)), living, output.ids)
    if parents is not None:
        state = state.reorder(torch.from_numpy(parents).to(device))
    return state, decided
