"""A lane: requests of one kind of search and one width, which take every step together.

They join and leave between steps. One that is decided releases its slot in the decoder's state at once; the slot is
taken by the next that joins, or is left out when free ones have become too many. Nothing that is kept is copied when
others join.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch

from limelight.batching.batch import pad_rows
from limelight.decoding.beam import BeamSearch
from limelight.decoding.greedy import PathSearch
from limelight.decoding.host import NotANumberError
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request
from limelight.decoding.search import Search
from limelight.decoding.shortlist import Output, ShortOutput
from limelight.decoding.top import normalized
from limelight.models.interface import Seq2Seq
from limelight.models.state import State

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
        """The lane that a request belongs to: greedy search and sampling are paths, the others beams."""
        path = request.settings.sampling is not None or request.settings.beam_size == 1
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
