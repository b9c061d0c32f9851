"""The interface of searches: given log-probabilities, a search chooses the next tokens of its hypotheses."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.decoding.host import Integers, Numbers, Truths
from limelight.decoding.request import Hypothesis, Request
from limelight.decoding.rules import RULES, Rule, complete, without
from limelight.decoding.utf8 import Utf8
from limelight.models.interface import Active, Ranking
from limelight.shapes import Float


class Search(ABC):
    """`width` hypotheses for each of several requests, which have their own settings; all hypotheses of a request have
    the same length.

    `admit` gives a request a slot. Once a request is decided, its slot is free: it remains until another request takes
    it or `keep` drops it. With `utf8`, byte tokens form valid UTF-8.
    """

    def __init__(self, width: int, *, start_id: int, end_id: int, classes: int, utf8: Utf8 | None = None) -> None:
        self.width, self.start_id, self.end_id, self.classes = width, start_id, end_id, classes
        self.utf8 = utf8
        self.open = np.zeros(0, dtype=bool)
        """Which slots have a request that is not decided yet."""
        self.ids: Integers = np.zeros((0, width), dtype=np.int64)
        """The last token of each hypothesis, which the model reads next."""
        self.positions: Integers = np.zeros(0, dtype=np.int64)
        """Number of tokens of the hypotheses of each request."""
        self.limits: Integers = np.zeros(0, dtype=np.int64)
        self.tokens: Integers = np.zeros((0, width, 0), dtype=np.int64)
        self.sums: Numbers = np.zeros((0, width, 0))
        """The log-probability of a hypothesis up to each of its tokens."""
        self.log_probabilities: Numbers = np.zeros((0, width))
        self.forced_count: Integers = np.zeros(0, dtype=np.int64)
        """Number of forced tokens of each request, which are not part of its scores."""
        self.forced_sum: Numbers = np.zeros(0)
        """Their log-probability, once all of them are read."""
        self.requests: list[Request | None] = []
        """The request in each slot; for a free slot the last one."""
        self.rules: list[list[Rule]] = []

    def admit(self, requests: Sequence[Request], slots: Integers) -> None:
        """Put requests into these slots: free ones, or new ones after the last."""
        limits = np.array([request.limit for request in requests], dtype=np.int64)
        self._grow(int(slots.max()) + 1, int(limits.max()) + 1)
        self.open[slots] = True
        self.positions[slots] = 0
        self.limits[slots] = limits
        self.log_probabilities[slots] = 0.0
        self.forced_count[slots] = [len(request.prefix) for request in requests]
        self.forced_sum[slots] = 0.0
        for slot, request in zip(slots, requests, strict=True):
            self.ids[slot] = self.start_id if request.first is None else request.first
            self.requests[slot] = request
            self.rules[slot] = [RULES[name](value) for name, value in request.settings.rules]
            if self.rules[slot] and self.utf8 is not None:
                self.rules[slot].append(complete(self.utf8.continues))
            if request.constraints.exclude:
                self.rules[slot].append(without(request.constraints.exclude))

    def keep(self, slots: Integers) -> None:
        """Keep only these slots, in this order."""
        self.open, self.ids, self.positions = self.open[slots], self.ids[slots], self.positions[slots]
        self.limits, self.tokens, self.sums = self.limits[slots], self.tokens[slots], self.sums[slots]
        self.log_probabilities = self.log_probabilities[slots]
        self.forced_count, self.forced_sum = self.forced_count[slots], self.forced_sum[slots]
        self.requests, self.rules = [self.requests[slot] for slot in slots], [self.rules[slot] for slot in slots]

    def active(self) -> Active:
        """The active hypotheses."""
        return Active.of(np.where(self.open, self.width, 0))

    @abstractmethod
    def advance(
        self, log_probabilities: Float[Tensor, "rows vocab"] | Ranking, active: Active, ids: Integers | None = None
    ) -> tuple[Integers | None, Integers]:
        """Choose the next tokens, given log-probabilities (at least fp32) after each active hypothesis.

        `ids` (slots, columns) are the ids of each request's shortlist, ascending; without it the columns are the ids.

        Returns the index of the parent of each hypothesis within its request, or None if each continues itself; and the
        slots that have just been decided. Waits for the device once. Raises `NotANumberError`, before any state
        changes, if a row is NaN.
        """

    @abstractmethod
    def results(self, slot: int) -> list[Hypothesis]:
        """The hypotheses of a decided request, best first."""

    @abstractmethod
    def partial(self, slot: int, since: int) -> Hypothesis:
        """The most probable active hypothesis of a request, with its tokens from number `since` on."""

    def request(self, slot: int) -> Request:
        """The request in this slot."""
        request = self.requests[slot]
        assert request is not None
        return request

    def score(self, slot: int, log_probability: float, tokens: int) -> float:
        """The score of a hypothesis of `tokens` tokens, its end included. Forced tokens are not part of it, as in
        transformers and CTranslate2. Without tokens it is not normalized."""
        free = float(max(0, tokens - int(self.forced_count[slot])))
        penalty = self.request(slot).settings.penalty.at(free) if tokens else 1.0
        return (log_probability - float(self.forced_sum[slot])) / penalty

    def _note_forced(self, slots: Integers) -> None:
        """Remember the log-probability of forced tokens, of requests that have just read the last one."""
        ended = slots[self.positions[slots] == self.forced_count[slots]]
        sums = self.log_probabilities[ended, 0]
        self.forced_sum[ended] = np.where(np.isfinite(sums), sums, 0.0)

    def forced(self, ids: Integers | None) -> dict[int, int]:
        """Slot -> the column of its forced token, for slots that have one at this position."""
        tokens = {
            slot: request.prefix[self.positions[slot]]
            for slot, request in enumerate(self.requests)
            if request is not None and request.prefix
            if self.open[slot] and self.positions[slot] < len(request.prefix)
        }
        if ids is None:
            return tokens
        return {slot: int(np.searchsorted(ids[slot], token)) for slot, token in tokens.items()}

    @property
    def has_rules(self) -> bool:
        """Whether any request that is not decided has a rule."""
        return any(rules and self.open[slot] for slot, rules in enumerate(self.rules))

    def follow_rules(
        self, log_probabilities: Float[Tensor, "rows vocab"] | Ranking, active: Active, ids: Integers | None
    ) -> dict[int, Exception]:
        """Change the log-probabilities of tokens as a request's rules say, in place; `ids` as for `advance`. If any
        request has rules, they must be a table.

        Returns slot -> exception for rules that raised. The rows of these slots are no longer valid.
        """
        failed: dict[int, Exception] = {}
        for slot, rules in enumerate(self.rules):
            if not rules or not self.open[slot] or self.positions[slot] < len(self.request(slot).prefix):
                continue
            assert isinstance(log_probabilities, Tensor)
            own = log_probabilities[active.firsts[slot] : active.firsts[slot + 1]]
            factors = np.ones((len(own), self.classes))
            try:
                for rule in rules:
                    rule(self.tokens[slot, : len(own), : self.positions[slot]], factors)
            except Exception as error:
                failed[slot] = error
                own.fill_(torch.nan)
                continue
            permitted = factors < np.inf
            factors[~permitted] = 1.0
            if (factors != 1.0).any():
                columns = slice(None) if ids is None else ids[slot].clip(max=self.classes - 1)
                own *= torch.from_numpy(factors[:, columns]).to(own)
            self._forbid(slot, own, permitted, ids)
        return failed

    def invalid(self, slots: Integers, tokens: Integers) -> set[int]:
        """The slots that `keep_valid` is needed for: one of the chosen `tokens`, (slots, any), or the last token of a
        hypothesis is a byte that may make it invalid. For most steps there are none, so the rule costs nothing."""
        if self.utf8 is None:
            return set()
        found = self.utf8.is_stray[tokens].any(axis=1) | self.utf8.is_high[self.ids[slots]].any(axis=1)
        return set(slots[found].tolist())

    def keep_valid(self, slot: int, own: Float[Tensor, "rows vocab"], ids: Integers | None) -> None:
        """Set the log-probabilities of tokens that would make invalid UTF-8 to -inf, in place, in the rows of a slot.
        A hypothesis without permitted tokens, as a shortlist may lack them, ends."""
        if self.utf8 is None:
            return
        first, position = self.request(slot).first, int(self.positions[slot])
        before = [] if first is None else [*self.request(slot).source[-2:], first]
        rows = [
            [*before, *tokens] for tokens in self.tokens[slot, : len(own), max(0, position - 3) : position].tolist()
        ]
        permitted = np.stack([self.utf8.permitted(row)[: self.classes] for row in rows])
        self._forbid(slot, own, permitted, ids)

    def _forbid(self, slot: int, own: Tensor, permitted: Truths, ids: Integers | None) -> None:
        """Set all but the permitted columns to -inf; where none is permitted, the end is.

        `permitted` is (rows, vocab), `own` (rows, listed) if the slot has a list of `ids`.
        """
        if ids is not None:  # columns after the end of a list are -inf already
            permitted = permitted[:, ids[slot].clip(max=self.classes - 1)]
        end = self.end_id if ids is None else int(np.searchsorted(ids[slot], self.end_id))
        permitted[~permitted.any(axis=1), end] = True
        own.masked_fill_(torch.from_numpy(~permitted).to(own.device) & ~own.isnan(), -torch.inf)

    def _grow(self, batch: int, room: int) -> None:
        more, width = max(0, batch - len(self.open)), self.width
        batch, room = len(self.open) + more, max(room, self.tokens.shape[2])
        if more or room > self.tokens.shape[2]:
            self.tokens, self.sums = grown(self.tokens, batch, width, room), grown(self.sums, batch, width, room)
        if more:
            self.open, self.ids = grown(self.open, batch), grown(self.ids, batch, width)
            self.positions, self.limits = grown(self.positions, batch), grown(self.limits, batch)
            self.log_probabilities = grown(self.log_probabilities, batch, width)
            self.forced_count, self.forced_sum = grown(self.forced_count, batch), grown(self.forced_sum, batch)
            self.requests += [None] * more
            self.rules += [[] for _ in range(more)]


def gains(sums: Sequence[float]) -> tuple[float, ...]:
    """The difference of each sum to the one before."""
    return tuple(now - before for before, now in zip([0.0, *sums], sums, strict=False))


def grown(values: npt.NDArray[Any], *sizes: int) -> Any:
    """The values in the corner of a larger array of zeros: numpy's `pad` in a tenth of its time."""
    larger = np.zeros(sizes, dtype=values.dtype)
    larger[tuple(map(slice, values.shape))] = values
    return larger
