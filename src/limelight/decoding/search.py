"""The interface of searches: given log-probabilities, a search chooses the next tokens of its hypotheses."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.decoding.host import Integers, Numbers
from limelight.decoding.request import Hypothesis, Request, length_penalty
from limelight.decoding.rules import RULES, Rule, complete, without
from limelight.decoding.utf8 import Utf8
from limelight.models.interface import Active
from limelight.shapes import Float


class Search(ABC):
    """`width` hypotheses for each of several requests, which have their own settings; all hypotheses of a request have
    the same length.

    `admit` gives a request a slot. Once a request is decided, its slot is free: it remains until another request takes
    it or `keep` drops it. With `utf8`, byte tokens form valid UTF-8.
    """

    ARRAYS: tuple[str, ...] = (
        "open", "ids", "positions", "limits", "tokens", "sums", "log_probabilities", "forced_count", "forced_sum",
    )  # fmt: skip
    """Names of the arrays with an entry for each slot."""
    LISTS: tuple[str, ...] = ("requests", "rules")
    """Names of the lists with an entry for each slot."""

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
        self.requests: list[Request] = []
        """The request in each slot; for a free slot the last one."""
        self.rules: list[list[Rule]] = []
        self.unsound: list[int] = []
        """Slots that the last step has closed, because their predictions are NaN."""

    def admit(self, requests: Sequence[Request], slots: Integers) -> None:
        """Put requests into these slots: free ones, or new ones after the last."""
        limits = np.array([request.limit for request in requests], dtype=np.int64)
        self._grow(int(slots.max()) + 1, int(limits.max()) + 1)
        self.open[slots], self.positions[slots], self.limits[slots] = True, 0, limits
        self.log_probabilities[slots], self.forced_sum[slots] = 0.0, 0.0
        self.forced_count[slots] = [len(request.prefix) for request in requests]
        for slot, request in zip(slots.tolist(), requests, strict=True):
            self.ids[slot] = self.start_id if request.first is None else request.first
            self.requests[slot] = request
            rules = [RULES[name](value) for name, value in request.settings.rules]
            if rules and self.utf8 is not None:
                rules.append(complete(self.utf8.continues))
            self.rules[slot] = [*rules, without(request.constraints.exclude)] if request.constraints.exclude else rules

    def keep(self, slots: Integers) -> None:
        """Keep only these slots, in this order."""
        for name in self.ARRAYS:
            setattr(self, name, getattr(self, name)[slots])
        for name in self.LISTS:
            setattr(self, name, [getattr(self, name)[slot] for slot in slots])

    def active(self) -> Active:
        """The active hypotheses."""
        return Active.of(np.where(self.open, self.width, 0))

    @abstractmethod
    def advance(
        self, log_probabilities: Float[Tensor, "rows vocab"], active: Active, ids: Integers | None = None
    ) -> tuple[Integers | None, Integers]:
        """Choose the next tokens, given log-probabilities (at least fp32) after each active hypothesis.

        `ids` (slots, columns) are the ids of each request's shortlist, ascending; without it the columns are the ids.

        Returns the index of the parent of each hypothesis within its request, or None if each continues itself; and the
        slots that have just been decided. Waits for the device once. `unsound` names requests with NaN.
        """

    @abstractmethod
    def results(self, slot: int) -> list[Hypothesis]:
        """The hypotheses of a decided request, best first."""

    @abstractmethod
    def partial(self, slot: int, since: int) -> Hypothesis:
        """The most probable active hypothesis of a request, with its tokens from number `since` on."""

    def score(self, slot: int, log_probability: float, tokens: int) -> float:
        """The score of a hypothesis of `tokens` tokens, its end included. Forced tokens are not part of it, as in
        transformers and CTranslate2. Without tokens it is not normalized, and neither are samples."""
        settings, penalty = self.requests[slot].settings, 1.0
        if tokens and settings.sampling is None:
            free = max(0, tokens - int(self.forced_count[slot]))
            penalty = float(length_penalty(free, settings.length_penalty, settings.length_offset))
        return (log_probability - float(self.forced_sum[slot])) / penalty

    def hypothesis(
        self, slot: int, row: int, length: int, log_probability: float, *, finished: bool, since: int = 0
    ) -> Hypothesis:
        """The first `length` tokens of a row, and its end if it is finished; without the tokens before `since`."""
        ids = tuple(self.tokens[slot, row, since:length].tolist())
        sums = [*self.sums[slot, row, :length].tolist(), log_probability][: length + finished]
        score = self.score(slot, log_probability, length + finished)
        return Hypothesis(ids, score, log_probability, finished, gains(sums)[since:])

    def restrict(
        self, log_probabilities: Float[Tensor, "rows vocab"], active: Active, ids: Integers | None
    ) -> dict[int, Exception]:
        """Change the log-probabilities in place: those of forbidden tokens to -inf, as the forced tokens and the rules
        of a request and valid UTF-8 say, and those that rules make less probable. `ids` as for `advance`.

        Returns slot -> exception for rules that raised, which closes these slots.
        """
        special = [slot for slot in np.flatnonzero(self.open).tolist() if self._is_special(slot)]
        if self.utf8 is not None:
            self._exclude_stray_bytes(log_probabilities, active, ids, special)
        failed: dict[int, Exception] = {}
        for slot in special:
            own = log_probabilities[active.firsts[slot] : active.firsts[slot + 1]]
            listed = None if ids is None else ids[slot]
            if self.positions[slot] < self.forced_count[slot]:
                self._force(slot, own, listed)
                continue
            try:
                self._follow_rules(slot, own, listed)
            except Exception as error:
                failed[slot] = error
                own.fill_(torch.nan)
        return failed

    def _is_special(self, slot: int) -> bool:
        """Whether more is to be changed for this slot than stray bytes."""
        is_forced, begun = self.positions[slot] < self.forced_count[slot], self.utf8 is not None
        begun = begun and bool(self.utf8.is_high[self.ids[slot]].any())  # type: ignore[union-attr]
        return bool(is_forced) or bool(self.rules[slot]) or begun

    def _exclude_stray_bytes(
        self, log_probabilities: Tensor, active: Active, ids: Integers | None, special: list[int]
    ) -> None:
        """Exclude bytes that cannot begin a character, in the rows of other slots than the special ones."""
        assert self.utf8 is not None
        rows = np.flatnonzero(np.isin(active.sentences, special, invert=True))
        if ids is None:
            at = rows[:, None], np.flatnonzero(self.utf8.is_stray[: self.classes])[None]
        else:
            columns = self.utf8.is_stray[ids.clip(max=self.classes - 1)][active.sentences[rows]]
            at = rows[columns.nonzero()[0]], columns.nonzero()[1]
        device = log_probabilities.device
        log_probabilities[torch.from_numpy(at[0]).to(device), torch.from_numpy(at[1]).to(device)] = -torch.inf

    def _force(self, slot: int, own: Float[Tensor, "rows vocab"], ids: Integers | None) -> None:
        """Exclude all tokens but the forced one."""
        token = self.requests[slot].prefix[self.positions[slot]]
        column = token if ids is None else int(np.searchsorted(ids, token))
        kept = own[:, column].clone()
        own.fill_(-torch.inf)
        own[:, column] = kept

    def _follow_rules(self, slot: int, own: Float[Tensor, "rows vocab"], ids: Integers | None) -> None:
        """Apply the rules of a request, and that of UTF-8. A hypothesis without permitted tokens, as a shortlist may
        lack them, ends."""
        request, position = self.requests[slot], int(self.positions[slot])
        tokens, factors = self.tokens[slot, : len(own), :position], np.ones((len(own), self.classes))
        for rule in self.rules[slot]:
            rule(tokens, factors)
        permitted = factors < np.inf
        factors[~permitted] = 1.0
        columns: Any = slice(None) if ids is None else ids.clip(max=self.classes - 1)
        if (factors != 1.0).any():
            own *= torch.from_numpy(factors[:, columns]).to(own)
        if self.utf8 is not None:
            before = [] if request.first is None else [*request.source[-2:], request.first]
            last = [[*before, *row] for row in tokens[:, max(0, position - 3) :].tolist()]
            permitted &= np.stack([self.utf8.permitted(row)[: self.classes] for row in last])
        permitted = permitted[:, columns]  # columns after the end of a list are -inf already
        end = self.end_id if ids is None else int(np.searchsorted(ids, self.end_id))
        permitted[~permitted.any(axis=1), end] = True
        own.masked_fill_(torch.from_numpy(~permitted).to(own.device) & ~own.isnan(), -torch.inf)

    def _close_unsound(self, slots: Integers, gained: Numbers) -> Integers:
        """The slots without those whose chosen log-probabilities, (slots, any), are NaN."""
        is_nan = np.isnan(gained).any(axis=1)
        self.unsound = slots[is_nan].tolist()
        self.open[self.unsound] = False
        return slots[~is_nan]

    def _note_forced(self, slots: Integers) -> None:
        """Remember the log-probability of forced tokens, of requests that have just read the last one."""
        ended = slots[self.positions[slots] == self.forced_count[slots]]
        sums = self.log_probabilities[ended, 0]
        self.forced_sum[ended] = np.where(np.isfinite(sums), sums, 0.0)

    def _grow(self, slots: int, room: int) -> None:
        """Make room for so many slots and positions."""
        more, room = max(0, slots - len(self.open)), max(room, self.tokens.shape[2])
        if not more and room == self.tokens.shape[2]:
            return
        slots = len(self.open) + more
        for name in self.ARRAYS:
            array = getattr(self, name)
            setattr(self, name, grown(array, slots, *array.shape[1:2], *(room for _ in array.shape[2:])))
        for name in self.LISTS:
            getattr(self, name).extend([None] * more)


def gains(sums: Sequence[float]) -> tuple[float, ...]:
    """The difference of each sum to the one before."""
    return tuple(now - before for before, now in zip([0.0, *sums], sums, strict=False))


def grown(values: npt.NDArray[Any], *sizes: int) -> Any:
    """The values in the corner of a larger array of zeros: numpy's `pad` in a tenth of its time."""
    larger = np.zeros(sizes, dtype=values.dtype)
    larger[tuple(map(slice, values.shape))] = values
    return larger
