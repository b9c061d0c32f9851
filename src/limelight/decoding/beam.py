"""Beam search: the best few hypotheses of every request, side by side.

A request has `beam_size` active hypotheses, all with the same number of tokens, and keeps the `n_best` best finished
ones. Finished hypotheses never take the place of active ones. Every step is:

 (1) read     the model reads the last token of every active hypothesis and predicts the next;
 (2) rank     the 2 * beam_size best continuations of a request are sorted by log-probability (for a request with
              phrases to include, `allocation.py` chooses them). At most beam_size of them end, so enough are left to
              continue. Improbable ones may be pruned (`prune`: Freitag and Al-Onaizan 2017, "Beam Search Strategies
              for Neural Machine Translation", absolute threshold pruning; here the threshold also depends on the
              length penalty, see `_threshold`);
 (3) finish   those that end and are among the first beam_size are scored with the length penalty, and the best
              finished ones are kept;
 (4) go on    the first beam_size that do not end become the active hypotheses;
 (5) decide   a request is decided at its length limit, or when no active hypothesis can still beat the worst of the
              kept finished ones. Log-probabilities only fall and the penalty only grows with length, so an upper
              bound of an active hypothesis' score is `log_probability / length_penalty(limit + 1)`: stopping there is
              exact. With a large limit this bound is loose; `patience` decides earlier, when `patience * beam_size`
              hypotheses have finished (Kasai et al. 2022, "Beam Decoding with Controlled Patience");
 (6) leave    decided requests release their slots, and the decoder's state follows the hypotheses.

(Wu et al. 2016, section 7, for the penalty.)
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.decoding.allocation import Allocation
from limelight.decoding.host import Integers, Numbers, Truths, numbers
from limelight.decoding.request import Hypothesis, Request, length_penalty
from limelight.decoding.search import Search
from limelight.decoding.top import best_continuations, top_logits_with_ties
from limelight.decoding.utf8 import Utf8
from limelight.models.interface import Active
from limelight.shapes import Float

NUMBERS = np.dtype([(name, "f8") for name in ("n_best", "enough", "prune", "alpha", "offset", "at_limit")])
"""Settings of a request that a step needs: `enough` finished hypotheses decide it, `at_limit` is the length penalty at
its length limit."""


class BeamSearch(Search):
    """The active hypotheses of every request, best first, and the best that have finished.

    A log-probability of -inf marks an active hypothesis that does not exist yet, is impossible, or is pruned; these are
    last. Settings of each request: `n_best`, `length_penalty`, `length_offset`, `patience`, `prune`.
    """

    ARRAYS = (*Search.ARRAYS, "endings", "worst", "settings")
    LISTS = (*Search.LISTS, "finished", "allocations")

    def __init__(self, beam_size: int, *, start_id: int, end_id: int, classes: int, utf8: Utf8 | None = None) -> None:
        super().__init__(beam_size, start_id=start_id, end_id=end_id, classes=classes, utf8=utf8)
        self.finished: list[list[Hypothesis]] = []
        """The `n_best` best finished hypotheses of each request, best first; among equal ones the earlier."""
        self.endings: Integers = np.zeros(0, dtype=np.int64)
        """Number of finished hypotheses of each request."""
        self.worst: Numbers = np.zeros(0)
        """The score that a further hypothesis has to exceed."""
        self.settings = np.zeros(0, dtype=NUMBERS)
        self.allocations: list[Allocation | None] = []
        """The beam allocation of each request with phrases to include."""

    def admit(self, requests: Sequence[Request], slots: Integers) -> None:
        super().admit(requests, slots)
        self.log_probabilities[slots, 1:] = -np.inf  # one empty hypothesis; the others do not exist yet
        self.endings[slots], self.worst[slots] = 0, -np.inf
        for slot, request in zip(slots.tolist(), requests, strict=True):
            how, self.finished[slot], self.allocations[slot] = request.settings, [], None
            free, prune = request.limit + 1.0 - len(request.prefix), how.prune
            at_limit = length_penalty(free, how.length_penalty, how.length_offset)
            if request.constraints.include:  # those that have phrases are less probable at first
                asked = request.constraints.checked(self.end_id, self.classes)
                self.allocations[slot], prune = Allocation(asked, self.width, self.end_id), math.inf
            enough = how.patience * self.width
            self.settings[slot] = how.kept, enough, prune, how.length_penalty, how.length_offset, at_limit

    def active(self) -> Active:
        there = (self.log_probabilities > -np.inf).sum(axis=1).clip(min=1)
        return Active.of(np.where(self.open, there, 0))

    def advance(
        self, log_probabilities: Float[Tensor, "rows vocab"], active: Active, ids: Integers | None = None
    ) -> tuple[Integers | None, Integers]:
        gained, parents, columns = self._continuations(log_probabilities, active, ids)  # (2)
        slots = np.flatnonzero(self.open)
        slots = self._close_unsound(slots, gained[slots])
        scores = (gained + _chosen(self.log_probabilities, parents))[slots]
        if (self.settings["prune"][slots] < np.inf).any():
            scores[scores < self._threshold(slots, scores[:, 0])[:, None]] = -np.inf
        tokens = (columns if ids is None else _chosen(ids, columns))[slots]
        parents = parents[slots]
        ends = tokens == self.end_id
        self._finish(slots, scores, parents, ends)  # (3)

        # At most one continuation of each parent ends. If others are too few, ends fill the beam, with -inf.
        scores = np.where(ends, -np.inf, scores)
        going_on = np.argsort(ends, axis=1, kind="stable")[:, : self.width]  # (4)
        chosen, tokens, scores = (_chosen(each, going_on) for each in (parents, tokens, scores))
        at_limit = self.positions[slots] == self.limits[slots]  # these may end but not continue
        goes_on = ~at_limit
        self._go_on(slots[goes_on], chosen[goes_on], tokens[goes_on], scores[goes_on])

        decided = slots[at_limit | self._can_gain_nothing(slots)]  # (5)
        self.open[decided] = False
        moved = np.empty_like(self.ids)
        moved[:] = np.arange(self.width)
        moved[slots] = chosen
        return moved, decided

    def _continuations(
        self, log_probabilities: Tensor, active: Active, ids: Integers | None
    ) -> tuple[Numbers, Integers, Integers]:
        """(2) The best 2 * beam_size continuations of each request: log-probability, parent, column; best first.

        Equal ones are ordered by parent, then column. Waits for the device once; again only if ties make the selection
        ambiguous.
        """
        among = active.among(self.width)
        before = self.log_probabilities.ravel() if among is None else self.log_probabilities.ravel()[among]
        gained, parents, columns, tied = best_continuations(
            log_probabilities, torch.from_numpy(before), active, 2 * self.width
        )
        for slot in np.flatnonzero(self.open).tolist():
            if self.allocations[slot] is None and not tied[slot]:
                continue
            own = log_probabilities[active.firsts[slot] : active.firsts[slot + 1]]
            if self.allocations[slot] is None:
                few = self._settled(slot, own)
            else:
                few = self._allotted(slot, own, None if ids is None else ids[slot])
            for all_of_them, some, nothing in zip((gained, parents, columns), few, (-np.inf, 0, 0), strict=True):
                all_of_them[slot] = nothing
                all_of_them[slot, : len(some)] = some
        return gained, parents, columns

    def _settled(self, slot: int, log_probabilities: Float[Tensor, "rows vocab"]) -> tuple[Numbers, Integers, Integers]:
        """The continuations of one request with ties.

        For each hypothesis one more than the beam size is enough: if all active ones came from it, the additional one
        could be its end.
        """
        top = top_logits_with_ties(log_probabilities, self.width + 1)
        before, each = self.log_probabilities[slot, : len(log_probabilities)], top.ids.shape[1]
        gained, columns = numbers(top.logits).ravel(), top.ids.cpu().numpy().ravel()
        order = np.argsort(-(gained + before.repeat(each)), kind="stable")[: 2 * self.width]
        return gained[order], order // each, columns[order]

    def _allotted(
        self, slot: int, log_probabilities: Float[Tensor, "rows vocab"], ids: Integers | None
    ) -> tuple[Numbers, Integers, Integers]:
        """The continuations of one request with phrases to include; those that end are first."""
        allocation, before = self.allocations[slot], self.log_probabilities[slot, : len(log_probabilities)]
        assert allocation is not None
        return allocation.choose(log_probabilities, before, int(self.limits[slot] - self.positions[slot]), ids)

    def _threshold(self, slots: Integers, best: Numbers) -> Numbers:
        """(2) The log-probability below which a hypothesis of each request is pruned.

        The reference r is the best continuation, or the score of a finished hypothesis converted to the current length
        t, `score * lp(t)`; the threshold is `prune` below it. With alpha above 1 a score rises with every token that is
        as probable as those before, so a hypothesis that is far behind can still win by being longer: after L tokens at
        the mean log-probability r / t a hypothesis that is d behind has a better score than r / lp(t) if
        r * L / t - d > r * lp(L) / lp(t). So the threshold falls by -r * (lp(L) / lp(t) - L / t), with L at the limit.
        Up to alpha = 1 this is 0.
        """
        settings, limit = self.settings[slots], self.limits[slots] + 1.0 - self.forced_count[slots]
        length = np.maximum(self.positions[slots] + 1.0 - self.forced_count[slots], 1.0)
        penalty, forced = length_penalty(length, settings["alpha"], settings["offset"]), self.forced_sum[slots]
        reference = np.maximum(best - forced, self.worst[slots] * penalty)
        if (settings["alpha"] > 1).any():
            growth = settings["at_limit"] / penalty - limit / length
            reference = reference * np.where(settings["alpha"] > 1, 1 + np.maximum(growth, 0), 1.0)
        threshold: Numbers = reference + forced - settings["prune"]
        return threshold

    def _finish(self, slots: Integers, scores: Numbers, parents: Integers, ends: Truths) -> None:
        """(3) Keep the best of the hypotheses that finish now and the previous ones."""
        heads = ends[:, : self.width] & (scores[:, : self.width] > -np.inf)
        for row, rank in np.argwhere(heads) if heads.any() else ():
            slot, kept = int(slots[row]), self.requests[slots[row]].settings.kept
            length, log_probability = int(self.positions[slot]), float(scores[row, rank])
            ended = self.hypothesis(slot, int(parents[row, rank]), length, log_probability, finished=True)
            self.finished[slot] = sorted([*self.finished[slot], ended], key=lambda other: -other.score)[:kept]
            self.endings[slot] += 1
            if len(self.finished[slot]) == kept:
                self.worst[slot] = self.finished[slot][-1].score

    def _go_on(self, slots: Integers, parents: Integers, ids: Integers, scores: Numbers) -> None:
        """(4) The active hypotheses with one more token."""
        self.tokens[slots] = self.tokens[slots[:, None], parents]
        self.tokens[slots, :, self.positions[slots]] = ids
        self.sums[slots] = self.sums[slots[:, None], parents]
        self.log_probabilities[slots] = scores
        self.sums[slots, :, self.positions[slots]] = scores
        self.positions[slots] += 1
        self._note_forced(slots)
        self.ids[slots] = ids

    def _can_gain_nothing(self, slots: Integers) -> Truths:
        """(5) Which requests are decided before their limit."""
        most = (self.log_probabilities[slots, 0] - self.forced_sum[slots]) / self.settings["at_limit"][slots]
        worst = self.worst[slots]
        return ((most <= worst) | (self.endings[slots] >= self.settings["enough"][slots])) & (worst > -np.inf)

    def results(self, slot: int) -> list[Hypothesis]:
        """Finished hypotheses first, then active ones if the finished ones are fewer than `n_best`."""
        active = [self._active(slot, rank) for rank in self._ranks(slot)]
        found = list(self.finished[slot])
        known = {hypothesis.ids for hypothesis in found}
        found += [other for other in active if other.ids not in known and other.score > -np.inf]
        return found[: self.requests[slot].settings.kept] or active[:1]

    def _ranks(self, slot: int) -> Sequence[int]:
        """The active hypotheses in order; for a request with phrases to include, first those that lack the fewest
        tokens."""
        allocation, ranks = self.allocations[slot], range(self.width)
        if allocation is None:
            return ranks
        impossible, needs = self.log_probabilities[slot] == -np.inf, allocation.needs
        return sorted(ranks, key=lambda rank: (impossible[rank], needs[rank].missing))

    def partial(self, slot: int, since: int) -> Hypothesis:
        return self._active(slot, 0, since)

    def _active(self, slot: int, rank: int, since: int = 0) -> Hypothesis:
        log_probability = float(self.log_probabilities[slot, rank])
        return self.hypothesis(slot, rank, int(self.positions[slot]), log_probability, finished=False, since=since)


def _chosen(values: npt.NDArray[Any], indices: Integers) -> Any:
    """The values of each row at these indices: numpy's `take_along_axis` in a third of its time."""
    return values[np.arange(len(indices))[:, None], indices]
