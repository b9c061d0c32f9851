"""Continuous batching: one engine decodes requests with any settings side by side, each as if it were alone.

Those of one kind of search and one width share a lane (`lane.py`), which takes each step for all of them at once; every
step of the engine is one of every lane. Requests join and leave between any two steps: a short one does not wait for a
long one, and the answer of each is a function of the request alone.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

import torch

from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.lane import FREE_SHARE, Entry, Kind, Lane, Outcome
from limelight.decoding.request import Request, check_request
from limelight.decoding.shortlist import ShortOutput
from limelight.errors import UserError
from limelight.models.interface import Seq2Seq
from limelight.models.language_model import LanguageModel
from limelight.models.room import longest_sequence

BATCH_TOKENS = 16384
"""Source tokens * hypotheses that are decoded at a time by default."""

ROWS = {"cpu": 256, "cuda": 4096, "mps": 4096}
"""So many hypotheses keep a device busy; more of them only take memory, and on a CPU they leave its caches."""

SOURCES = {"cpu": 96, "cuda": 4096, "mps": 4096}
"""The same for requests, where each has few hypotheses."""

AHEAD = 16
"""So many waiting requests that do not fit yet may be passed by those behind them."""

MAX_PASSED = 100
"""One that was passed by so many waits no longer: nobody joins before it."""


@dataclass(slots=True, eq=False)
class Waiting:
    """A request that has not been begun."""

    entry: Entry
    passed: int = 0
    """By how many that came later."""


class Engine:
    """Decodes requests as they come.

        engine = Engine(model)
        number = engine.submit(Request(source, max_tokens=50, settings=SearchSettings(beam_size=4)))
        while engine.busy:
            for outcome in engine.step():
                ...

    It belongs to one thread at a time, and does nothing between calls. The model has to be in evaluation mode.

    Args:
        batch_tokens: bounds what is decoded at a time: in every lane requests * source tokens of the longest (an empty
            one counts as one) * hypotheses of each. One that alone has more is decoded alone. `ROWS` and `SOURCES`
            bound it, too. Others wait, in the order in which they came; a few that do not fit may be passed.
        short: projects onto shortlists; without it requests must not have any.
    """

    def __init__(self, model: Seq2Seq, *, batch_tokens: int = BATCH_TOKENS, short: ShortOutput | None = None) -> None:
        self.model, self.batch_tokens, self._short = model, batch_tokens, short
        self._device = next((weight.device.type for weight in model.parameters()), "cpu")
        self._longest = longest_sequence(model)
        self._numbers = count()
        self._waiting: deque[Waiting] = deque()
        self._lanes: dict[Kind, Lane] = {}

    def submit(self, request: Request) -> int:
        """Put a request in line; it joins at one of the next steps. Returns its number.

        Raises `UserError` for settings no search can follow, ids that the model does not have, and more positions than
        it has learned: what is wrong with one request is told here, and never to others.
        """
        check_request(request, self.model)
        if request.shortlist is not None and self._short is None:
            raise UserError("the request has a shortlist, and this engine scores all tokens")
        self._require_positions(request)
        number = next(self._numbers)
        self._waiting.append(Waiting(Entry(number, request, Kind.of(request))))
        return number

    @property
    def active(self) -> int:
        """How many requests are being decoded."""
        return sum(len(lane.active) for lane in self._lanes.values())

    @property
    def waiting(self) -> int:
        """How many are in line."""
        return len(self._waiting)

    @property
    def busy(self) -> bool:
        """Whether there is anything left to do."""
        return bool(self._waiting or self._lanes)

    @torch.inference_mode()
    def step(self, *, max_rows: int | None = None, max_joining: int | None = None) -> list[Outcome]:
        """Admit who waits, then take one step in each lane: one more token for every active hypothesis.

        `max_rows` bounds the hypotheses beside which others still join, `max_joining` the source tokens that join in
        this step: both bound what a step costs. One request alone may have more.

        Returns the outcomes of the requests that have just been decided. One that failed has an `error`: where its
        numbers went wrong it fails alone; where the model itself raised something, with all that shared its lane.
        """
        joining: dict[Kind, list[Entry]] = {}
        for entry in self._joining(max_rows, max_joining):
            joining.setdefault(entry.kind, []).append(entry)
        outcomes = []
        for kind in dict.fromkeys([*self._lanes, *joining]):
            lane = self._lanes.get(kind) or Lane(self.model, kind, self._short if kind.listed else None)
            self._lanes[kind] = lane
            outcomes += lane.step(joining.get(kind, ()))
            if not lane.active:
                del self._lanes[kind]
        return outcomes

    @torch.inference_mode()
    def cancel(self, number: int) -> bool:
        """Give up a request: it leaves the line, or releases its slot for the next step. It has no outcome.

        Returns whether it was there; one that has its outcome is not.
        """
        for waiting in self._waiting:
            if waiting.entry.id == number:
                self._waiting.remove(waiting)
                return True
        for kind, lane in self._lanes.items():
            if lane.cancel(number):
                if not lane.active:
                    del self._lanes[kind]
                return True
        return False

    def partial(self, number: int, *, since: int = 0) -> Hypothesis | None:
        """What a request has by now: its most probable active hypothesis, with the tokens from number `since` on.

        With a beam of 1, greedy or sampled, tokens that are there stay; those of a wider beam may change from step to
        step. None for a request that waits, and for one that is decided or unknown.
        """
        found = (lane.partial(number, since) for lane in self._lanes.values())
        return next((hypothesis for hypothesis in found if hypothesis is not None), None)

    def _require_positions(self, request: Request) -> None:
        """Raises `UserError` for a request that would go beyond the positions the model has learned."""
        if self._longest is None:
            return
        if len(request.source) > self._longest:
            raise UserError(
                f"the source has {len(request.source)} tokens, and this model takes at most {self._longest}"
            )
        # The source of a language model is the beginning of its text. Who stops it at the last position may use it.
        most = self._longest - (len(request.source) if isinstance(self.model, LanguageModel) else 1)
        if request.limit > most:
            raise UserError(f"max_tokens and the prefix must be at most {most} here, not {request.limit}")

    def _joining(self, max_rows: int | None, max_joining: int | None) -> list[Entry]:
        """Who joins now: as many as there is room for. While others run, a few at a time are not worth the encoder."""
        if not self._waiting:
            return []
        load = {kind: lane.load for kind, lane in self._lanes.items()}
        running = sum(number for number, _ in load.values())
        most = min(ROWS[self._device], max_rows or ROWS[self._device])
        joining: list[Waiting] = []
        passed: list[Waiting] = []
        tokens = 0
        for waiting in self._waiting:
            tokens += len(waiting.entry.request.source)
            if joining and max_joining is not None and tokens > max_joining:
                break
            number, longest = load.get(waiting.entry.kind, (0, 1))
            grown = {**load, waiting.entry.kind: (number + 1, max(longest, len(waiting.entry.request.source)))}
            if self._fits(grown, most):
                joining.append(waiting)
                load = grown
                continue
            passed.append(waiting)
            if len(passed) == AHEAD or waiting.passed >= MAX_PASSED:
                break
        if running and len(joining) < len(self._waiting) and running > FREE_SHARE * len(joining):
            return []
        for waiting in passed:
            waiting.passed += sum(other.entry.id > waiting.entry.id for other in joining)
        taken = {waiting.entry.id for waiting in joining}
        self._waiting = deque(waiting for waiting in self._waiting if waiting.entry.id not in taken)
        return [waiting.entry for waiting in joining]

    def _fits(self, load: Mapping[Kind, tuple[int, int]], most: int) -> bool:
        """Whether so many of each kind, with a longest source, may be decoded together, with at most
        `most` hypotheses. One alone always may."""
        sources = sum(number for number, _ in load.values())
        rows = sum(number * kind.width for kind, (number, _) in load.items())
        tokens = sum(number * kind.width * longest for kind, (number, longest) in load.items())
        here = self._device
        return sources == 1 or (tokens <= self.batch_tokens and rows <= most and sources <= SOURCES[here])
