"""Continuous batching: one engine decodes requests with different settings together, batch-invariantly.

Requests of the same width share a lane, which takes each step for all of them in one batch; a step of the engine is one
step of every lane. Requests join and leave between steps: a decided request releases its slot in the decoder's state
immediately, and the next one takes it without copying the other slots. The result of a request depends only on the
request itself.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import count, islice
from typing import NamedTuple

import numpy as np
import torch

from limelight.batching.batch import pad_rows
from limelight.decoding.host import NotANumberError
from limelight.decoding.request import Hypothesis, Request, check_request, length_penalty
from limelight.decoding.search import Search, gains
from limelight.decoding.shortlist import Output, ShortOutput
from limelight.decoding.top import log_softmax_
from limelight.errors import UserError
from limelight.models.interface import Path, Query, Seq2Seq, State, device_of, longest_sequence
from limelight.models.transformer.halves import DecoderOnly

FREE_SHARE = 4
"""Free slots are dropped when they exceed a share of 1 / `FREE_SHARE`, as this copies the state of the others; requests
wait to be encoded together while there are more than so many active ones for each."""


class Entry(NamedTuple):
    """A request in the engine."""

    id: int
    request: Request


class Outcome(NamedTuple):
    """The outcome of a request."""

    id: int
    hypotheses: list[Hypothesis]
    """Best first; empty if the request failed."""
    error: Exception | None = None
    """Why it failed."""


class Lane:
    """The requests of one width that are being decoded."""

    def __init__(self, model: Seq2Seq, width: int, short: ShortOutput | None) -> None:
        self.model, self._short = model, short
        self.search = Search(model, width)
        self.entries: dict[int, Entry] = {}
        """The request in each slot that is not free."""
        self._output, self._device = Output(model.project), device_of(model)
        self._state: State | None = None

    @property
    def load(self) -> tuple[int, int]:
        """The number of requests, and the number of tokens of the longest source."""
        sources = [len(entry.request.source) for entry in self.entries.values()]
        return len(sources), max([1, *sources])

    def step(self, joining: Sequence[Entry]) -> list[Outcome]:
        """Admit requests and take one step with all; returns those that have just been decided or have failed.

        If sources cannot be encoded, all joining requests fail; a request whose log-probabilities are NaN fails alone.
        Any other exception invalidates the state of the lane, and all its requests fail.
        """
        try:
            fresh = self._begun([entry.request for entry in joining]) if joining else None
        except Exception as error:
            return [*(Outcome(entry.id, [], error) for entry in joining), *self.step(())]
        try:
            self._leave_out_free(len(joining))
            if fresh is not None:
                self._admit(joining, fresh)
            return self._advance()
        except Exception as error:
            lost = sorted({entry.id for entry in (*self.entries.values(), *joining)})
            self.entries = {}
            return [Outcome(number, [], error) for number in lost]

    def cancel(self, number: int) -> bool:
        """Release the slot of a request, which has no outcome; returns whether it is here."""
        for slot, entry in self.entries.items():
            if entry.id == number:
                self.search.open[slot] = False
                self._release([slot])
                return True
        return False

    @property
    def _free(self) -> list[int]:
        """The free slots."""
        return [slot for slot in range(len(self.search.open)) if slot not in self.entries]

    def _begun(self, requests: Sequence[Request]) -> State:
        """The state of requests before their first step."""
        source, valid = pad_rows([request.source for request in requests], self.model.source_padding)
        memory = self.model.encode(source.to(self._device), valid.to(self._device))
        return self.model.start(memory, self.search.width)

    def _admit(self, joining: Sequence[Entry], fresh: State) -> None:
        """Put requests with their `fresh` state into free slots, and into new ones if these are too few."""
        chosen = list(islice((slot for slot in count() if slot not in self.entries), len(joining)))
        self.entries |= zip(chosen, joining, strict=True)
        slots = np.array(chosen, dtype=np.int64)
        self.search.admit([entry.request for entry in joining], slots)
        self._list()
        if self._state is None:
            self._state = fresh
        else:
            self._state = self._state.admit(fresh, torch.from_numpy(slots).to(self._device))

    def _advance(self) -> list[Outcome]:
        """One step of all requests; the decided and the failed ones release their slots."""
        if self._state is None:
            return []
        self._state, decided = take_step(self.model, self.search, self._state, self._output, self._device)
        unsound = self.search.unsound
        outcomes = [Outcome(self.entries[slot].id, self.search.results(slot)) for slot in decided]
        outcomes += [Outcome(self.entries[slot].id, [], NotANumberError()) for slot in unsound]
        self._release([*decided, *unsound])
        return outcomes

    def _release(self, slots: Sequence[int]) -> None:
        """Release these slots."""
        for slot in slots:
            del self.entries[slot]
        if slots and self._state is not None:
            # All free slots, not only the latest: else one could exceed the positions that a model has learned.
            self._state = self._state.release(torch.tensor(self._free, device=self._device))

    def _leave_out_free(self, joining: int) -> None:
        """Drop free slots if there are too many, also after joining requests have taken some."""
        if self._state is None or FREE_SHARE * (len(self._free) - joining) < len(self.search.open):
            return
        taken = sorted(self.entries)
        self.entries = {new: self.entries[slot] for new, slot in enumerate(taken)}
        slots = np.array(taken, dtype=np.int64)
        self.search.keep(slots)
        self._list()
        self._state = self._state.keep(torch.from_numpy(slots).to(self._device))

    def _list(self) -> None:
        """Project onto the lists of the current requests."""
        if self._short is not None:
            entries = (self.entries.get(slot) for slot in range(len(self.search.open)))
            self._output = self._short.onto([entry and entry.request.shortlist for entry in entries])


def take_step(
    model: Seq2Seq, search: Search, state: State, output: Output, device: torch.device
) -> tuple[State, list[int]]:
    """Decode one position of every active hypothesis. Returns the new state and the decided slots; `search.unsound` are
    slots that failed."""
    active = search.active()
    features, state = model.step_some(torch.from_numpy(search.ids).to(device), state, active)
    log_probabilities = log_softmax_(output.logits(features, active))
    search.restrict(log_probabilities, active, output.ids)
    parents, decided = search.advance(log_probabilities, active, output.ids)
    if search.width > 1:
        state = state.reorder(torch.from_numpy(parents).to(device))
    return state, decided.tolist()


def search_from(model: Seq2Seq, memory: object, search: Search) -> None:
    """Take all steps of a search whose requests have this memory. Raises `NotANumberError`."""
    device = device_of(model)
    state, output = model.start(memory, search.width), Output(model.project)
    while search.open.any():
        state, _ = take_step(model, search, state, output, device)
        if search.unsound:
            raise NotANumberError


BATCH_TOKENS = 16384
"""Default limit of source tokens * hypotheses that are decoded at a time."""

ROWS = {"cpu": 256, "cuda": 4096, "mps": 4096}
"""Maximum number of hypotheses. More take memory without gaining speed, and on a CPU they exceed its caches."""

SOURCES = {"cpu": 96, "cuda": 4096, "mps": 4096}
"""Maximum number of requests, for requests with few hypotheses."""

CALL_TOKENS = 1024
"""Maximum of source tokens * hypotheses that a model searches for in one call, as others wait meanwhile; a request with
more is searched for in steps."""


class Engine:
    """Decodes a stream of requests.

        engine = Engine(model)
        number = engine.submit(Request(source, max_tokens=50, settings=SearchSettings(beam_size=4)))
        while engine.busy:
            for outcome in engine.step():
                ...

    It is not thread-safe, and does nothing between calls. The model has to be in evaluation mode.

    Args:
        batch_tokens: limit of the sum over lanes of requests * source tokens of the longest (at least one) * hypotheses
            of each. A request that exceeds it is decoded alone. `ROWS` and `SOURCES` are further limits. Other requests
            wait, in order of arrival.
        short: projection onto shortlists, which all requests have then, and otherwise none.
    """

    def __init__(
        self,
        model: Seq2Seq,
        *,
        batch_tokens: int = BATCH_TOKENS,
        short: ShortOutput | None = None,
    ) -> None:
        self.model, self.batch_tokens, self._short = model, batch_tokens, short
        self._device = device_of(model).type
        self._longest = longest_sequence(model)
        self._numbers = count()
        self._plain: deque[Entry] = deque()
        """Requests that the model may search for by itself."""
        self._waiting: deque[Entry] = deque()
        self._lanes: dict[int, Lane] = {}

    def submit(self, request: Request, *, first: bool = False) -> int:
        """Queue a request, `first` before those that wait; it joins at one of the next steps. Returns its number.

        Raises `UserError` for invalid settings, ids that the model does not have, and more positions than it has
        learned: an invalid request raises here, and does not affect others.
        """
        check_request(request, self.model)
        if (request.shortlist is None) != (self._short is None):
            raise UserError("an engine with shortlists takes requests that have one, and any other engine takes none")
        self._require_positions(request)
        number = next(self._numbers)
        entry = Entry(number, request)
        is_short = len(request.source) * request.width <= CALL_TOKENS
        queue = self._plain if self.model.searches and request.is_plain and is_short else self._waiting
        (queue.appendleft if first else queue.append)(entry)
        return number

    def change_form(self, model: Seq2Seq, short: ShortOutput | None) -> None:
        """Use another form of the same model for lanes that begin from now on, and for searches in one call."""
        self.model, self._short = model, short

    @property
    def waiting(self) -> int:
        """Number of requests in the queue."""
        return len(self._plain) + len(self._waiting)

    @property
    def busy(self) -> bool:
        """Whether any request is not decided yet."""
        return bool(self._plain or self._waiting or self._lanes)

    @torch.inference_mode()
    def step(self) -> list[Outcome]:
        """Admit waiting requests, then take one step in each lane: one more token for every active hypothesis.

        Returns the outcomes of the requests that have just been decided. A failed request has an `error`: with NaN it
        fails alone; if the model itself raised an exception, with all requests of its lane.
        """
        outcomes = self._search_together()
        joining: dict[int, list[Entry]] = {}
        for entry in self._joining():
            joining.setdefault(entry.request.width, []).append(entry)
        for width in dict.fromkeys([*self._lanes, *joining]):
            lane = self._lanes.get(width) or Lane(self.model, width, self._short)
            self._lanes[width] = lane
            outcomes += lane.step(joining.get(width, ()))
            if not lane.load[0]:
                del self._lanes[width]
        return outcomes

    @torch.inference_mode()
    def cancel(self, number: int) -> bool:
        """Cancel a request: remove it from the queue, or release its slot before the next step. It has no outcome.

        Returns whether the request was waiting or active.
        """
        for queue in (self._plain, self._waiting):
            for entry in queue:
                if entry.id == number:
                    queue.remove(entry)
                    return True
        is_active = any(lane.cancel(number) for lane in self._lanes.values())
        self._lanes = {width: lane for width, lane in self._lanes.items() if lane.load[0]}
        return is_active

    def partial(self, number: int, *, since: int = 0) -> Hypothesis | None:
        """The most probable active hypothesis of a request, with the tokens from `since` on; None for one that waits,
        is decided or unknown. With a beam wider than 1 its tokens may change from step to step."""
        for lane in self._lanes.values():
            for slot, entry in lane.entries.items():
                if entry.id == number:
                    return lane.search.partial(slot, since)
        return None

    def _require_positions(self, request: Request) -> None:
        """Raise `UserError` for a request that would exceed the positions that the model has learned."""
        if self._longest is None:
            return
        if len(request.source) > self._longest:
            raise UserError(
                f"the source has {len(request.source)} tokens, and this model takes at most {self._longest}"
            )
        # The source of a language model is a prefix of its text, so its tokens take positions of the text.
        most = self._longest - (len(request.source) if isinstance(self.model, DecoderOnly) else 1)
        if request.limit > most:
            raise UserError(f"max_tokens and the prefix must be at most {most} here, not {request.limit}")

    def _search_together(self) -> list[Outcome]:
        """The outcomes of the first plain requests, of one width, which the model searches for in one call. What it
        leaves to others will join a lane."""
        taken, tokens = list[Entry](), 0
        for entry in self._plain:
            if entry.request.width == self._plain[0].request.width:
                tokens += len(entry.request.source) * entry.request.width
                if tokens > CALL_TOKENS:  # never the first: see `submit`
                    break
                taken.append(entry)
        if not taken:
            return []
        for entry in taken:
            self._plain.remove(entry)
        try:
            searched = self.model.search([_query(entry.request) for entry in taken])
        except Exception as error:
            return [Outcome(entry.id, [], error) for entry in taken]
        left = [entry for entry, paths in zip(taken, searched, strict=True) if paths is None]
        self._waiting.extendleft(reversed(left))
        return [
            Outcome(entry.id, [_hypothesis(path, entry.request) for path in paths])
            for entry, paths in zip(taken, searched, strict=True)
            if paths is not None
        ]

    def _joining(self) -> list[Entry]:
        """The requests that join now: as many as fit, in order. While others are active, a few alone do not justify a
        call of the encoder."""
        load = {width: lane.load for width, lane in self._lanes.items()}
        running, joining = sum(number for number, _ in load.values()), list[Entry]()
        for entry in self._waiting:
            request = entry.request
            number, longest = load.get(request.width, (0, 1))
            grown = {**load, request.width: (number + 1, max(longest, len(request.source)))}
            if not self._fits(grown):
                break
            joining.append(entry)
            load = grown
        if running > FREE_SHARE * len(joining) and len(joining) < len(self._waiting):
            return []
        for _ in joining:
            self._waiting.popleft()
        return joining

    def _fits(self, load: Mapping[int, tuple[int, int]]) -> bool:
        """Whether these numbers of requests of each width, with their longest sources, may be decoded together. A
        single request always may."""
        sources = sum(number for number, _ in load.values())
        rows = sum(number * width for width, (number, _) in load.items())
        tokens = sum(number * width * longest for width, (number, longest) in load.items())
        here = self._device
        return sources == 1 or (tokens <= self.batch_tokens and rows <= ROWS[here] and sources <= SOURCES[here])


def _query(request: Request) -> Query:
    """A plain request as the model takes it."""
    how = request.settings
    return Query(
        request.source, how.beam_size, how.kept, request.limit, how.length_penalty, how.length_offset,
        how.patience * how.beam_size, how.prune,
    )  # fmt: skip


def _hypothesis(path: Path, request: Request) -> Hypothesis:
    """What the model has found, scored as by `search.py`."""
    settings, tokens = request.settings, len(path.ids) + path.finished
    penalty = length_penalty(tokens, settings.length_penalty, settings.length_offset) if tokens else 1.0
    score = path.log_probability / float(penalty)
    return Hypothesis(path.ids, score, path.log_probability, path.finished, gains(path.sums))
