"""The search: the best few hypotheses of every request, side by side. Greedy search and sampling are cases of it.

A request has `beam_size` active hypotheses, all with the same number of tokens, and keeps the `n_best` best finished
ones. Finished hypotheses never take the place of active ones. Every step is:

 (1) read     the model reads the last token of every active hypothesis and predicts the next;
 (2) rank     the 2 * beam_size best continuations of a request are sorted by log-probability (for a request with
              phrases to include, `allocation.py` chooses them). At most beam_size of them end, so enough are left to
              continue. Improbable ones may be pruned (`prune`: Freitag and Al-Onaizan 2017, "Beam Search Strategies
              for Neural Machine Translation", absolute threshold pruning, see `_threshold`);
 (3) finish   those that end and are among the first beam_size are scored with the length penalty, and the best
              finished ones are kept;
 (4) go on    the first beam_size that do not end become the active hypotheses;
 (5) decide   a request is decided at its length limit, or when no active hypothesis can still beat the worst of the
              kept finished ones. Log-probabilities only fall and the penalty only grows with length, so an upper
              bound of an active hypothesis' score is `log_probability / length_penalty(limit + 1)`: stopping there is
              exact. With a large limit this bound is loose; `patience` decides earlier, when `patience * beam_size`
              hypotheses have finished (Kasai et al. 2022, "Beam Decoding with Controlled Patience");
 (6) leave    decided requests release their slots, and the decoder's state follows the hypotheses.

(Wu et al. 2016, section 7, for the penalty.) Greedy search has one hypothesis and is decided when it ends. Sampling
begins with `n_best` hypotheses; in (2) each has one continuation, which is drawn.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.decoding.allocation import Allocation
from limelight.decoding.host import Integers, Numbers, Truths
from limelight.decoding.request import Hypothesis, Request, length_penalty
from limelight.decoding.rules import RULES, Rule
from limelight.decoding.sampling import Sampling, draw
from limelight.decoding.top import Top, top_logits_with_ties
from limelight.models.interface import Active, Seq2Seq
from limelight.shapes import Float
from limelight.tokens.tokenizer import END

LOWEST = -1e4
"""The minimum log-probability of a forced token."""

Continuations = tuple[Numbers, Integers, Integers]
"""(slots, rank) each, best first: log-probability of the token alone, index of the hypothesis that is continued, and
column of the token. A log-probability of -inf marks that there are fewer."""


class Slot(NamedTuple):
    """A request, and what belongs to it alone."""

    request: Request
    rules: Sequence[Rule]
    finished: list[Hypothesis]
    """The best finished hypotheses, best first; among equal ones the earlier."""
    allocation: Allocation | None
    """The beam allocation of a request with phrases to include."""
    generator: np.random.Generator | None
    """The random generator of a request that samples."""


class Search:
    """The active hypotheses of every request, best first, and the best that have finished.

    `admit` gives a request a slot. Once a request is decided, its slot is free: it remains until another request takes
    it or `keep` drops it.
    """

    open: Truths
    """Which slots have a request that is not decided yet."""
    ids: Integers
    """(slots, width): the last token of each hypothesis, which the model reads next."""
    log_probabilities: Numbers
    """(slots, width): -inf marks an active hypothesis that does not exist yet, is impossible, or is pruned; these are
    last."""
    samples: Integers
    """(slots, width): the number of each sample of a request, by which it has its random numbers."""
    positions: Integers
    """Number of tokens of the hypotheses of each request."""
    limits: Integers
    forced_count: Integers
    """Number of forced tokens of each request, which are not part of its scores."""
    forced_sum: Numbers
    """Their log-probability, once all of them are read."""
    endings: Integers
    """Number of finished hypotheses of each request."""
    worst: Numbers
    """The score that a further hypothesis has to exceed."""
    enough: Numbers
    """Number of finished hypotheses that decide a request."""
    prune: Numbers
    alpha: Numbers
    offset: Numbers
    at_limit: Numbers
    """The length penalty at the length limit of each request."""

    def __init__(self, model: Seq2Seq, width: int) -> None:
        """For requests to this model, with `width` hypotheses each."""
        self.width, self.start_id, self.classes = width, model.start_id, model.output_size
        of_hypotheses = [("ids", "i8", width), ("log_probabilities", "f8", width), ("samples", "i8", width)]
        integers = ("positions", "limits", "forced_count", "endings")
        numbers = ("forced_sum", "worst", "enough", "prune", "alpha", "offset", "at_limit")
        single = [*((name, "i8") for name in integers), *((name, "f8") for name in numbers)]
        kinds = np.dtype([("open", "?"), *of_hypotheses, *single], align=True)  # torch wants whole strides
        self._take(np.zeros(0, dtype=kinds))
        self.tokens: Integers = np.zeros((0, width, 0), dtype=np.int64)
        self.sums: Numbers = np.zeros((0, width, 0))
        """The log-probability of a hypothesis up to each of its tokens."""
        self.slots: list[Slot] = []
        """The request in each slot; for a free slot the last one."""
        self.unsound: list[int] = []
        """Slots that the last step has closed, because their predictions are NaN."""

    def _take(self, table: npt.NDArray[Any]) -> None:
        """Use this table of all that a slot has; its columns are the arrays of the class."""
        self._table = table
        for name in table.dtype.names or ():
            setattr(self, name, table[name])

    def admit(self, requests: Sequence[Request], slots: Integers) -> None:
        """Put requests into these slots: free ones, or new ones after the last."""
        limits = [request.limit for request in requests]
        self._grow(int(slots.max()) + 1, max(limits) + 1)
        self.open[slots], self.positions[slots], self.limits[slots] = True, 0, limits
        self.log_probabilities[slots], self.log_probabilities[slots, 0] = -np.inf, 0.0  # one empty hypothesis
        self.forced_sum[slots], self.endings[slots], self.worst[slots] = 0.0, 0, -np.inf
        self.samples[slots] = np.arange(self.width)
        for slot, request in zip(slots.tolist(), requests, strict=True):
            how, forced = request.settings, len(request.prefix)
            self.ids[slot] = self.start_id if request.first is None else request.first
            enough, prune, allocation, generator = how.patience * self.width, how.prune, None, None
            if request.phrases:  # hypotheses that have phrases are less probable at first
                prune = math.inf
                allocation = Allocation(request.phrases, self.width)
            elif self.width == 1:
                enough = 1
            elif how.sampling is not None:
                enough = math.inf
            if how.sampling is not None:
                generator = how.sampling.generator(request.substream)
                self.log_probabilities[slot] = 0.0
            rules = [RULES[name](value) for name, value in how.rules]
            self.slots[slot] = Slot(request, rules, [], allocation, generator)
            self.enough[slot], self.prune[slot], self.forced_count[slot] = enough, prune, forced
            self.alpha[slot], self.offset[slot] = how.length_penalty, how.length_offset
            self.at_limit[slot] = length_penalty(request.limit + 1.0 - forced, how.length_penalty, how.length_offset)

    def keep(self, slots: Integers) -> None:
        """Keep only these slots, in this order."""
        self._take(self._table[slots])
        self.tokens, self.sums = self.tokens[slots], self.sums[slots]
        self.slots = [self.slots[slot] for slot in slots]

    def active(self) -> Active:
        """The active hypotheses."""
        counts = np.maximum((self.log_probabilities > -np.inf).sum(axis=1), 1)
        return Active(counts * self.open)

    def advance(
        self, log_probabilities: Float[Tensor, "rows vocab"], active: Active, ids: Integers | None = None
    ) -> tuple[Integers, Integers]:
        """Choose the next tokens, given log-probabilities (at least fp32) after each active hypothesis.

        `ids` (slots, columns) are the ids of each request's shortlist, ascending; without it the columns are the ids.

        Returns the index of the parent of each hypothesis within its request, and the slots that have just been
        decided. `unsound` names requests with NaN.
        """
        gained, parents, columns = self._continuations(log_probabilities, active, ids)  # (2)
        self.unsound = np.flatnonzero(np.isnan(gained).any(axis=1)).tolist()
        self.open[self.unsound] = False
        slots = self.open.nonzero()[0]
        scores = (gained + _chosen(self.log_probabilities, parents))[slots]
        if (self.prune < np.inf).any():
            scores[scores < self._threshold(slots, scores[:, 0])[:, None]] = -np.inf
        parents, tokens = parents[slots], (columns if ids is None else _chosen(ids, columns))[slots]
        ends = (tokens == END) & (scores > -np.inf)
        if ends.any():
            self._finish(slots, scores, parents, ends)  # (3)
            # At most one continuation of each parent ends. If others are too few, ends fill the beam, with -inf.
            scores[ends] = -np.inf
            order = np.argsort(ends, axis=1, kind="stable")  # (4)
            parents, tokens, scores = (_chosen(values, order) for values in (parents, tokens, scores))
        chosen, tokens, scores = (values[:, : self.width] for values in (parents, tokens, scores))
        at_limit = self.positions[slots] == self.limits[slots]  # these may end but not continue
        goes_on = ~at_limit
        self._go_on(slots[goes_on], chosen[goes_on], tokens[goes_on], scores[goes_on])

        bound = (self.log_probabilities[:, 0] - self.forced_sum) / self.at_limit
        gains_nothing = ((bound <= self.worst) | (self.endings >= self.enough)) & (self.worst > -np.inf)
        decided = slots[at_limit | gains_nothing[slots]]  # (5)
        self.open[decided] = False
        parents_of_all = np.zeros_like(self.ids)
        parents_of_all[slots] = chosen
        return parents_of_all, decided

    def _continuations(self, log_probabilities: Tensor, active: Active, ids: Integers | None) -> Continuations:
        """(2) The continuations of each request. Waits for the device once; again only for ties, phrases and samples.

        Equal ones are ordered by parent, then column.
        """
        slots, size = self.open.nonzero()[0].tolist(), (len(self.open), 2 * self.width)
        result = np.full(size, -np.inf), np.zeros(size, np.int64), np.zeros(size, np.int64)
        if not all(self.slots[slot].generator for slot in slots):
            self._find_best(log_probabilities, active, result)
        alike: dict[Sampling, list[int]] = {}
        for slot in slots:
            allocation, sampling = self.slots[slot].allocation, self.slots[slot].request.settings.sampling
            if sampling is not None:
                alike.setdefault(replace(sampling, seed=None), []).append(slot)
            elif allocation is not None:
                own = log_probabilities[active.firsts[slot] : active.firsts[slot + 1]]
                room, listed = int(self.limits[slot] - self.positions[slot]), None if ids is None else ids[slot]
                _put(result, slot, allocation.choose(own, self.log_probabilities[slot, : len(own)], room, listed))
        for how, drawn in alike.items():
            self._draw(log_probabilities, active, how, drawn, result)
        return result

    def _find_best(self, log_probabilities: Float[Tensor, "rows vocab"], active: Active, result: Continuations) -> None:
        """The 2 * beam_size continuations of each request with the largest sums of log-probabilities, or the best one
        for greedy search."""
        rows = active.sentences
        if self.width == 1:  # the first maximum
            result[0][rows, :1], result[2][rows, :1] = _first_maximum(log_probabilities)
            return
        gained, columns = self._best_of_rows(log_probabilities, min(2 * self.width + 1, log_probabilities.shape[1]))
        batch, per_row = len(self.open), gained.shape[1]
        hypotheses = np.arange(len(rows)) - active.firsts[rows]
        before = self.log_probabilities[rows, hypotheses].astype(gained.dtype)
        # (slots, width, per_row) of each continuation: log-probability of all tokens, of the last one, its column
        size = batch, self.width, per_row
        sums, single, tokens = np.full(size, -np.inf, gained.dtype), np.full(size, -np.inf), np.zeros(size, np.int64)
        sums[rows, hypotheses] = np.nan_to_num(gained + before[:, None], nan=np.inf, neginf=-np.inf)  # NaN is first
        single[rows, hypotheses], tokens[rows, hypotheses] = gained, columns
        best = np.argsort(-sums.reshape(batch, -1), axis=1, kind="stable")[:, : 2 * self.width]
        there = slice(best.shape[1])
        result[0][:, there], result[1][:, there] = _chosen(single.reshape(batch, -1), best), best // per_row
        result[2][:, there] = _chosen(tokens.reshape(batch, -1), best)

    def _best_of_rows(self, log_probabilities: Tensor, per_row: int) -> tuple[npt.NDArray[Any], Integers]:
        """The best tokens of each hypothesis and their columns; among equal ones the lower column first.

        One more than the beam size is enough: if all active hypotheses came from one, the additional token could be its
        end. torch selects arbitrarily among equal ones, so more are taken, and sorted here; where even they may not
        suffice, `top_logits_with_ties` decides.
        """
        gained, columns = _on_the_host(Top(*log_probabilities.topk(per_row, dim=1)))
        least = gained[:, -1]
        tied = (
            (gained[:, min(self.width, per_row - 1)] == least)
            & (least > -np.inf)
            & (per_row < log_probabilities.shape[1])
        )
        if tied.any():
            own = log_probabilities[torch.from_numpy(tied).to(log_probabilities.device)]
            gained[tied], columns[tied] = _on_the_host(top_logits_with_ties(own, per_row))
        order = np.lexsort((columns, -gained), axis=1)
        return _chosen(gained, order), _chosen(columns, order)

    def _draw(
        self, log_probabilities: Tensor, active: Active, how: Sampling, slots: list[int], result: Continuations
    ) -> None:
        """Draw a continuation of each hypothesis of these requests."""
        rows = np.concatenate([np.arange(*active.firsts[slot : slot + 2]) for slot in slots])
        uniform = []
        for slot in slots:
            generator = self.slots[slot].generator
            assert generator is not None
            uniform.append(generator.random(self.width)[self.samples[slot, : active.counts[slot]]])
        own = log_probabilities[torch.from_numpy(rows).to(log_probabilities.device)]
        chosen = draw(own, how, torch.from_numpy(np.concatenate(uniform)))[:, None]
        gained, columns = _on_the_host(Top(own.gather(1, chosen), chosen))
        start = 0
        for slot in slots:
            count = int(active.counts[slot])
            these = slice(start, start + count)
            _put(result, slot, (gained[these, 0], np.arange(count), columns[these, 0]))
            start += count

    def _threshold(self, slots: Integers, best: Numbers) -> Numbers:
        """(2) The log-probability below which a hypothesis of each request is pruned: `prune` below the best
        continuation or, if that is higher, below the score of the worst kept finished hypothesis, converted to the
        current length t: `score * lp(t)`."""
        forced = self.forced_sum[slots]
        length = np.maximum(self.positions[slots] + 1.0 - self.forced_count[slots], 1.0)
        penalty = length_penalty(length, self.alpha[slots], self.offset[slots])
        threshold: Numbers = np.maximum(best - forced, self.worst[slots] * penalty) + forced - self.prune[slots]
        return threshold

    def _finish(self, slots: Integers, scores: Numbers, parents: Integers, ends: Truths) -> None:
        """(3) Keep the best of the hypotheses that finish now and the previous ones."""
        for row, rank in np.argwhere(ends[:, : self.width]):
            slot, parent = int(slots[row]), int(parents[row, rank])
            finished, kept = self.slots[slot].finished, self.slots[slot].request.settings.kept
            finished.append(self.hypothesis(slot, parent, float(scores[row, rank]), finished=True))
            finished.sort(key=lambda hypothesis: -hypothesis.score)
            del finished[kept:]
            self.endings[slot] += 1
            if len(finished) == kept:
                self.worst[slot] = finished[-1].score
            if self.positions[slot] == self.limits[slot]:  # it is not a result without its end
                self.log_probabilities[slot, parent] = -np.inf

    def _go_on(self, slots: Integers, parents: Integers, ids: Integers, scores: Numbers) -> None:
        """(4) The active hypotheses with one more token."""
        for values in (self.tokens, self.sums, self.samples) if self.width > 1 else ():
            values[slots] = values[slots[:, None], parents]
        self.tokens[slots, :, self.positions[slots]] = ids
        self.sums[slots, :, self.positions[slots]] = scores
        self.log_probabilities[slots], self.ids[slots] = scores, ids
        self.positions[slots] += 1
        ended = slots[self.positions[slots] == self.forced_count[slots]]
        forced = self.log_probabilities[ended, 0]
        self.forced_sum[ended] = np.where(np.isfinite(forced), forced, 0.0)

    def results(self, slot: int) -> list[Hypothesis]:
        """The hypotheses of a decided request, best first: finished ones, then active ones if these are fewer than
        asked for. Samples are sorted by their scores alone."""
        settings, allocation = self.slots[slot].request.settings, self.slots[slot].allocation
        ranks = list(range(self.width))
        if allocation is not None:  # first those that lack the fewest tokens of their phrases
            impossible = self.log_probabilities[slot] == -np.inf
            ranks.sort(key=lambda rank: (impossible[rank], allocation.needs[rank].missing))
        active = [self._active(slot, rank) for rank in ranks]
        hypotheses = self.slots[slot].finished + [other for other in active if other.score > -np.inf]
        if settings.sampling is not None:
            return sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)
        return hypotheses[: settings.kept] or active[:1]

    def partial(self, slot: int, since: int) -> Hypothesis:
        """The most probable active hypothesis of a request, with its tokens from number `since` on."""
        return self._active(slot, int(self.log_probabilities[slot].argmax()), since)

    def _active(self, slot: int, rank: int, since: int = 0) -> Hypothesis:
        return self.hypothesis(slot, rank, float(self.log_probabilities[slot, rank]), finished=False, since=since)

    def hypothesis(self, slot: int, rank: int, log_probability: float, *, finished: bool, since: int = 0) -> Hypothesis:
        """The tokens of an active hypothesis, and its end if it is finished; without the tokens before `since`."""
        length = int(self.positions[slot])
        ids = tuple(self.tokens[slot, rank, since:length].tolist())
        sums = [*self.sums[slot, rank, :length].tolist(), log_probability][: length + finished]
        score = self.score(slot, log_probability, length + finished)
        return Hypothesis(ids, score, log_probability, finished, gains(sums)[since:])

    def score(self, slot: int, log_probability: float, tokens: int) -> float:
        """The score of a hypothesis of `tokens` tokens, its end included. Forced tokens are not part of it, as in
        transformers and CTranslate2. Without tokens it is not normalized, and neither are samples."""
        settings, penalty = self.slots[slot].request.settings, 1.0
        if tokens and settings.sampling is None:
            free = max(0, tokens - int(self.forced_count[slot]))
            penalty = float(length_penalty(free, settings.length_penalty, settings.length_offset))
        return (log_probability - float(self.forced_sum[slot])) / penalty

    def restrict(
        self, log_probabilities: Float[Tensor, "rows vocab"], active: Active, ids: Integers | None = None
    ) -> None:
        """Change the log-probabilities in place, as the forced tokens and the rules of a request say: forbidden tokens
        get -inf. `ids` as for `advance`."""
        for slot in self.open.nonzero()[0].tolist():
            if self.slots[slot].rules or self.positions[slot] < self.forced_count[slot]:
                own = log_probabilities[active.firsts[slot] : active.firsts[slot + 1]]
                self._follow_rules(slot, own, None if ids is None else ids[slot])

    def _follow_rules(self, slot: int, own: Float[Tensor, "rows vocab"], ids: Integers | None) -> None:
        """Apply the rules of a request, or force a token. A hypothesis without permitted tokens, as a shortlist may
        lack them, ends."""
        request, position = self.slots[slot].request, int(self.positions[slot])
        tokens, factors = self.tokens[slot, : len(own), :position], np.ones((len(own), self.classes))
        if position < len(request.prefix):
            factors[:] = np.inf
            factors[:, request.prefix[position]] = 1.0
        else:
            for rule in self.slots[slot].rules:
                rule(tokens, factors)
        if ids is not None:
            factors = np.insert(factors, self.classes, np.inf, axis=1)[:, ids]  # lists are padded with `classes`
        permitted = factors < np.inf
        factors[~permitted] = 1.0
        if (factors != 1.0).any():
            own *= torch.from_numpy(factors).to(own)
        if position < len(request.prefix):  # it is followed even if the model gives it no probability
            own.clamp_(min=LOWEST)
        end = END if ids is None else int(np.searchsorted(ids, END))
        permitted[~permitted.any(axis=1), end] = True
        own.masked_fill_(torch.from_numpy(~permitted).to(own.device) & ~own.isnan(), -torch.inf)

    def _grow(self, slots: int, room: int) -> None:
        """Make room for so many slots and positions."""
        slots, room = max(slots, len(self.open)), max(room, self.tokens.shape[2])
        if slots > len(self.open):
            self.slots += [None] * (slots - len(self.open))  # type: ignore[list-item]  # until they are admitted
            self._take(grown(self._table, slots))
        if (slots, room) != self.tokens.shape[::2]:
            self.tokens, self.sums = (grown(values, slots, self.width, room) for values in (self.tokens, self.sums))


def gains(sums: Sequence[float]) -> tuple[float, ...]:
    """The difference of each sum to the one before."""
    return tuple(now - before for before, now in zip([0.0, *sums], sums, strict=False))


def grown(values: npt.NDArray[Any], *sizes: int) -> Any:
    """The values in the corner of a larger array of zeros: numpy's `pad` in a tenth of its time."""
    larger = np.zeros(sizes, dtype=values.dtype)
    larger[tuple(map(slice, values.shape))] = values
    return larger


def _chosen(values: npt.NDArray[Any], indices: Integers) -> Any:
    """The values of each row at these indices: numpy's `take_along_axis` in a third of its time."""
    return values[np.arange(len(indices))[:, None], indices]


def _put(result: Continuations, slot: int, continuations: Sequence[npt.NDArray[Any]]) -> None:
    """The continuations of one request in the result."""
    for values, row, nothing in zip(result, continuations, (-np.inf, 0, 0), strict=True):
        values[slot] = nothing
        values[slot, : len(row)] = row


def _first_maximum(log_probabilities: Tensor) -> tuple[npt.NDArray[Any], Integers]:
    """The largest of each row and its column, on the host."""
    if log_probabilities.device.type != "cpu":
        return _on_the_host(Top(*log_probabilities.max(dim=1, keepdim=True)))
    table = log_probabilities.numpy()  # numpy takes a tenth of torch's time
    columns = table.argmax(axis=1, keepdims=True)
    return _chosen(table, columns), columns


def _on_the_host(top: Top) -> tuple[npt.NDArray[Any], Integers]:
    """Logits and ids in one copy, in the type of the logits: fp32 represents every id exactly, and not every GPU has
    float64."""
    if top.ids.device.type == "cpu":
        return top.logits.numpy(), top.ids.numpy()
    logits, ids = torch.stack([top.logits, top.ids.to(top.logits.dtype)]).cpu().numpy()
    return logits, ids.astype(np.int64)
