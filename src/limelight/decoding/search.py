"""What a search is to the engine: hypotheses that are shown probabilities and say with which tokens they go on."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from limelight.decoding.host import Integers, Numbers
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.request import Request
from limelight.decoding.rules import RULES, Rule, without
from limelight.models.interface import Active
from limelight.shapes import Float


class Search(ABC):
    """`width` hypotheses of each of a number of requests, each with settings of its own; those of a request are all of
    one length.

    A request has a slot from `admit` on. Once it is decided its slot is free: it is carried along until another request
    takes it or `keep` leaves it out.
    """

    def __init__(self, width: int, *, start_id: int, end_id: int, classes: int) -> None:
        self.width, self.start_id, self.end_id, self.classes = width, start_id, end_id, classes
        self.open = np.zeros(0, dtype=bool)
        """Which slots hold a request that is not decided yet."""
        self.ids: Integers = np.zeros((0, width), dtype=np.int64)
        """The token each hypothesis goes on with: what the model reads next."""
        self.positions: Integers = np.zeros(0, dtype=np.int64)
        """How many tokens the hypotheses of a request have."""
        self.limits: Integers = np.zeros(0, dtype=np.int64)
        self.tokens: Integers = np.zeros((0, width, 0), dtype=np.int64)
        self.sums: Numbers = np.zeros((0, width, 0))
        """The log-probability of a hypothesis up to each of its tokens."""
        self.log_probabilities: Numbers = np.zeros((0, width))
        self.requests: list[Request | None] = []
        """Who has each slot; who had it, where it is free."""
        self.rules: list[list[Rule]] = []

    def admit(self, requests: Sequence[Request], slots: Integers) -> None:
        """Requests take these slots: of others that are decided, or behind the last."""
        limits = np.array([request.limit for request in requests], dtype=np.int64)
        self._grow(int(slots.max()) + 1, int(limits.max()) + 1)
        self.open[slots] = True
        self.positions[slots] = 0
        self.limits[slots] = limits
        self.log_probabilities[slots] = 0.0
        for slot, request in zip(slots, requests, strict=True):
            self.ids[slot] = self.start_id if request.first is None else request.first
            self.requests[slot] = request
            self.rules[slot] = [RULES[name](value) for name, value in request.settings.rules]
            if request.constraints.exclude:
                self.rules[slot].append(without(request.constraints.exclude))

    def keep(self, slots: Integers) -> None:
        """These slots alone, in this order."""
        self.open, self.ids, self.positions = self.open[slots], self.ids[slots], self.positions[slots]
        self.limits, self.tokens, self.sums = self.limits[slots], self.tokens[slots], self.sums[slots]
        self.log_probabilities = self.log_probabilities[slots]
        self.requests, self.rules = [self.requests[slot] for slot in slots], [self.rules[slot] for slot in slots]

    def active(self) -> Active:
        """The hypotheses that are worth another step."""
        return Active.of(np.where(self.open, self.width, 0))

    @abstractmethod
    def advance(
        self, log_probabilities: Float[Tensor, "rows vocab"], active: Active, ids: Integers | None = None
    ) -> tuple[Integers | None, Integers]:
        """Choose the next tokens, given what the model thinks of each (fp32 or better) after each active hypothesis.

        `ids` (slots, columns) are those of each request's shortlist, rising; without it the columns are the ids.

        Returns which hypothesis of its request each one continues, or None where each continues itself; and the slots
        that have just been decided. Waits for the device once. Raises `NotANumberError`, before anything has changed,
        where a row has no probabilities.
        """

    @abstractmethod
    def results(self, slot: int) -> list[Hypothesis]:
        """What became of a decided request, best first."""

    @abstractmethod
    def partial(self, slot: int, since: int) -> Hypothesis:
        """The most probable active hypothesis of a request, with its tokens from number `since` on."""

    def request(self, slot: int) -> Request:
        """Who has this slot."""
        request = self.requests[slot]
        assert request is not None
        return request

    def forced(self, ids: Integers | None) -> dict[int, int]:
        """The column of the token that is prescribed now, for each slot where one is."""
        tokens = {
            slot: request.prefix[self.positions[slot]]
            for slot, request in enumerate(self.requests)
            if request is not None and request.prefix
            if self.open[slot] and self.positions[slot] < len(request.prefix)
        }
        if ids is None:
            return tokens
        return {slot: int(np.searchsorted(ids[slot], token)) for slot, token in tokens.items()}

    def follow_rules(
        self, log_probabilities: Float[Tensor, "rows vocab"], active: Active, ids: Integers | None
    ) -> dict[int, Exception]:
        """What a request's rules do not permit becomes impossible, in place; `ids` as for `advance`.

        Returns what was raised by the rules of which slots. Those have no probabilities any more.
        """
        failed: dict[int, Exception] = {}
        for slot, rules in enumerate(self.rules):
            if not rules or not self.open[slot] or self.positions[slot] < len(self.request(slot).prefix):
                continue
            own = log_probabilities[active.firsts[slot] : active.firsts[slot + 1]]
            permitted = np.ones((len(own), self.classes), dtype=np.bool_)
            try:
                for rule in rules:
                    rule(self.tokens[slot, : len(own), : self.positions[slot]], permitted)
            except Exception as error:
                failed[slot] = error
                own.fill_(torch.nan)
                continue
            if ids is not None:  # what is behind the end of a list is impossible as it is
                permitted = permitted[:, ids[slot].clip(max=self.classes - 1)]
            end = self.end_id if ids is None else int(np.searchsorted(ids[slot], self.end_id))
            permitted[~permitted.any(axis=1), end] = True
            own.masked_fill_(torch.from_numpy(~permitted).to(own.device), -torch.inf)
        return failed

    def _grow(self, batch: int, room: int) -> None:
        more, longer = max(0, batch - len(self.open)), max(0, room - self.tokens.shape[2])
        if more or longer:
            added = ((0, more), (0, 0), (0, longer))
            self.tokens, self.sums = np.pad(self.tokens, added), np.pad(self.sums, added)
        if more:
            self.open = np.pad(self.open, (0, more))
            self.ids = np.pad(self.ids, ((0, more), (0, 0)))
            self.positions, self.limits = np.pad(self.positions, (0, more)), np.pad(self.limits, (0, more))
            self.log_probabilities = np.pad(self.log_probabilities, ((0, more), (0, 0)))
            self.requests += [None] * more
            self.rules += [[] for _ in range(more)]


def gains(sums: Sequence[float]) -> tuple[float, ...]:
    """What each of the sums adds to the one before."""
    return tuple(now - before for before, now in zip([0.0, *sums], sums, strict=False))
