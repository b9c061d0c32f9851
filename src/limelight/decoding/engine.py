"""Continuous batching: one engine decodes requests with any settings side by side, each as if it were alone.

Requests of one kind of search and one width share a lane, which takes each step for all of them at once; a step of the
engine is one step of every lane. Requests join and leave between steps: a decided request releases its slot in the
decoder's state at once, and the next one takes it without a copy of what is kept. The answer of each is a function of
the request alone.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal, NamedTuple

import numpy as np
import torch

from limelight.batching.batch import pad_rows
from limelight.decoding.beam import BeamSearch
from limelight.decoding.greedy import PathSearch
from limelight.decoding.host import NotANumberError
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request, check_request
from limelight.decoding.search import Search
from limelight.decoding.shortlist import Output, ShortOutput
from limelight.decoding.top import normalized
from limelight.errors import UserError
from limelight.models.interface import Seq2Seq, State, longest_sequence
from limelight.models.language_model import LanguageModel

FREE_SHARE = 4
"""One slot in so many may be free before they are left out, which copies what is kept."""


class Kind(NamedTuple):
    """What the requests of a lane have in common."""

    search: Literal["beam", "path"]
    width: int
    listed: bool
    """Whether they have shortlists."""

    @classmethod
    def of(cls, request: Request) -> "Kind":
        """The lane that a request belongs to: greedy search and sampling are paths, the others beams, and so is what
        has to contain phrases."""
        settings = request.settings
        path = settings.sampling is not None or (settings.beam_size == 1 and not request.constraints.include)
        return cls("path" if path else "beam", request.width, request.shortlist is not None)


class Entry(NamedTuple):
    """A request in the engine."""

    id: int
    request: Request
    kind: Kind


class Outcome(NamedTuple):
    """What became of a request."""

    id: int
    hypotheses: list[Hypothesis]
    """Best first; none where it failed."""
    error: Exception | None = None
    """Why it failed."""


class Lane:
    """The requests of one kind that are being decoded."""

    def __init__(self, model: Seq2Seq, kind: Kind, short: ShortOutput | None) -> None:
        make = BeamSearch if kind.search == "beam" else PathSearch
        self.model, self.width, self._short = model, kind.width, short
        self.search: Search = make(kind.width, start_id=model.start_id, end_id=model.end_id, classes=model.output_size)
        self._output = Output(model.project)
        self._device = next((weight.device for weight in model.parameters()), torch.device("cpu"))
        self._slots: list[Entry | None] = []
        """Who has each slot; None where it is free."""
        self._state: State | None = None

    @property
    def active(self) -> list[Entry]:
        """Those that are being decoded."""
        return [entry for entry in self._slots if entry is not None]

    @property
    def load(self) -> tuple[int, int]:
        """How many requests there are, and how many tokens the longest source has."""
        lengths = [len(entry.request.source) for entry in self._slots if entry is not None]
        return len(lengths), max([1, *lengths])

    def step(self, joining: Sequence[Entry]) -> list[Outcome]:
        """Let these join, take one step with all; returns those that have just been decided, or have failed.

        One whose source cannot be read, or that has no probabilities, fails alone. What else is raised has spoiled the
        state of all, and all fail.
        """
        outcomes: list[Outcome] = []
        fresh = None
        try:
            fresh = self._begun([entry.request for entry in joining]) if joining else None
        except Exception as error:
            outcomes, joining = [Outcome(entry.id, [], error) for entry in joining], ()
        try:
            self._leave_out_free(len(joining))
            if fresh is not None:
                self._admit(joining, fresh)
            return outcomes + self._advance()
        except Exception as error:
            lost = {entry.id for entry in (*self.active, *joining)}
            self._slots, self._state = [], None
            self.search.keep(np.zeros(0, dtype=np.int64))
            return outcomes + [Outcome(each, [], error) for each in sorted(lost)]

    def cancel(self, id: int) -> bool:
        """Release the slot of a request; it has no outcome. Returns whether it was there."""
        slots = [slot for slot, entry in enumerate(self._slots) if entry is not None and entry.id == id]
        self.search.open[slots] = False
        self._release(slots)
        return bool(slots)

    def partial(self, id: int, since: int) -> Hypothesis | None:
        """See `Engine.partial`."""
        for slot, entry in enumerate(self._slots):
            if entry is not None and entry.id == id:
                return self.search.partial(slot, since)
        return None

    def _begun(self, requests: Sequence[Request]) -> State:
        """The state of requests before their first step."""
        source, valid = pad_rows([request.source for request in requests], self.model.source_padding)
        memory = self.model.encode(source.to(self._device), valid.to(self._device))
        return self.model.start(memory, self.width)

    def _admit(self, joining: Sequence[Entry], fresh: State) -> None:
        free = [slot for slot, entry in enumerate(self._slots) if entry is None][: len(joining)]
        free += range(len(self._slots), len(self._slots) + len(joining) - len(free))
        self._slots += [None] * (max(free) + 1 - len(self._slots))
        for slot, entry in zip(free, joining, strict=True):
            self._slots[slot] = entry
        slots = np.array(free, dtype=np.int64)
        self.search.admit([entry.request for entry in joining], slots)
        if self._short is not None:
            self._output = self._short.onto([entry and entry.request.shortlist for entry in self._slots])
        if self._state is None:
            self._state = fresh
        else:
            self._state = self._state.admit(fresh, torch.from_numpy(slots).to(self._device))

    def _advance(self) -> list[Outcome]:
        if self._state is None:
            return []
        self._state, decided, failed = take_step(self.model, self.search, self._state, self._output, self._device)
        outcomes = [Outcome(self._entry(slot).id, self.search.results(slot)) for slot in decided]
        outcomes += [Outcome(self._entry(slot).id, [], error) for slot, error in failed.items()]
        self._release([*decided, *failed])
        return outcomes

    def _entry(self, slot: int) -> Entry:
        entry = self._slots[slot]
        assert entry is not None
        return entry

    def _release(self, slots: Sequence[int]) -> None:
        """These slots are free from now on."""
        for slot in slots:
            self._slots[slot] = None
        if not any(self._slots):
            self._state, self._slots = None, []
            self.search.keep(np.zeros(0, dtype=np.int64))
        elif slots and self._state is not None:
            # All that are free, not the latest alone: else one could go on beyond the positions a model has learned.
            free = [slot for slot, entry in enumerate(self._slots) if entry is None]
            self._state = self._state.release(torch.tensor(free, device=self._device))

    def _leave_out_free(self, joining: int) -> None:
        """Where too many slots are free, also after those who join have taken some."""
        taken = [slot for slot, entry in enumerate(self._slots) if entry is not None]
        if self._state is None or FREE_SHARE * (len(self._slots) - len(taken) - joining) < len(self._slots):
            return
        slots = np.array(taken, dtype=np.int64)
        self._slots = [self._slots[slot] for slot in taken]
        self.search.keep(slots)
        self._output = self._output.keep(slots)
        self._state = self._state.keep(torch.from_numpy(slots).to(self._device))


def take_step(
    model: Seq2Seq, search: Search, state: State, output: Output, device: torch.device
) -> tuple[State, list[int], dict[int, Exception]]:
    """One position for every active hypothesis: the state after it, the slots that are decided, and what those that
    failed failed with: they are no longer open."""
    active = search.active()
    features, state = model.step_some(torch.from_numpy(search.ids).to(device), state, active)
    log_probabilities = normalized(output.logits(features, active))
    failed = search.follow_rules(log_probabilities, active, output.ids)
    try:
        parents, decided = search.advance(log_probabilities, active, output.ids)
    except NotANumberError as error:
        for slot in np.unique(active.sentences[log_probabilities[:, 0].isnan().cpu().numpy()]).tolist():
            failed.setdefault(slot, error)
        search.open[list(failed)] = False
        if not search.open.any():
            return state, [], failed
        sound = torch.from_numpy(np.isin(active.sentences, list(failed), invert=True)).to(device)
        parents, decided = search.advance(log_probabilities[sound], search.active(), output.ids)
    if parents is not None:
        state = state.reorder(torch.from_numpy(parents).to(device))
    return state, decided.tolist(), failed


BATCH_TOKENS = 16384
"""Source tokens * hypotheses that are decoded at a time by default."""

ROWS = {"cpu": 256, "cuda": 4096, "mps": 4096}
"""So many hypotheses keep a device busy; more of them only take memory, and on a CPU they leave its caches."""

SOURCES = {"cpu": 96, "cuda": 4096, "mps": 4096}
"""The same for requests, where each has few hypotheses."""

AHEAD = 16
"""So many waiting requests that do not fit yet may be passed by those behind them."""

MAX_PASSED = 100
"""One that was passed by so many waits no longer: no request joins before it."""


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
        it has learned: a faulty request raises here, and does not disturb others.
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
