"""Beam search: the best few hypotheses of every sentence, side by side.

A sentence has `beam_size` live hypotheses, all of the same number of pieces, and keeps the `n_best` finished ones that
score best. Finished ones never take the place of live ones. Every step goes like this:

 (1) read     the model reads the last piece of every live hypothesis and predicts the next;
 (2) rank     the 2 * beam_size best continuations of a sentence are put in order, by log-probability. At most
              beam_size of them end, so enough are left to go on with. Those that will hardly win may be pruned
              (`prune`: Freitag and Al-Onaizan 2017, "Beam Search Strategies for Neural Machine Translation", absolute
              threshold pruning; what is new here is that the threshold knows the length penalty, see `_threshold`);
 (3) finish   those that end and stand among the first beam_size are scored with the length penalty, and the best
              finished ones are kept;
 (4) go on    the first beam_size that do not end become the live hypotheses;
 (5) decide   a sentence is decided at its length limit, or when no live hypothesis can still beat the worst of the kept
              finished ones. Log-probabilities only fall and the penalty only grows with length, so the most a live
              hypothesis can reach is `log_probability / length_penalty(limit + 1)`: stopping there loses nothing. That
              bound is far away where the limit is; `patience` decides earlier, when `patience * beam_size` hypotheses
              have finished (Kasai et al. 2022, "Beam Decoding with Controlled Patience");
 (6) leave    decided sentences leave the batch, and the decoder's state follows the hypotheses.

(Wu et al. 2016, section 7, for the penalty.)
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from limelight.config import MAX_LENGTH_PENALTY
from limelight.decoding.engine import decode_batch
from limelight.decoding.greedy import greedy_search
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.length_penalty import LengthPenalty
from limelight.decoding.search import (
    Integers,
    Numbers,
    Request,
    Search,
    Truths,
    numbers,
    requests_for,
)
from limelight.decoding.top import best_continuations, top_logits_with_ties
from limelight.errors import UserError
from limelight.models.interface import Seq2Seq
from limelight.models.state import Living
from limelight.shapes import Bool, Float, Int


def beam_search(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    source_valid: Bool[Tensor, "batch source"],
    *,
    beam_size: int,
    max_lengths: Int[Tensor, " batch"],
    length_penalty: float = 0.6,
    n_best: int = 1,
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses of each source, finished ones first, each kind best first. A beam of 1 is greedy search.

    Limits and prefixes are as in `greedy_search`. Where fewer than `n_best` hypotheses end within the limit, the best
    live ones follow with `finished=False`; there are fewer results only where there are not so many different ones.
    Nothing that could win is left out: the search is as patient as it has to be.

    Args:
        length_penalty: alpha of `LengthPenalty`; 0 to 10; below 0 the stopping rule would not be exact.

    Raises `UserError` for a beam below 1, `n_best` outside of 1 to `beam_size`, a negative `length_penalty`, and
    prefixes that do not fit.
    """
    check_beam(beam_size, n_best, length_penalty)
    penalty = LengthPenalty(length_penalty)
    if beam_size == 1:
        paths = greedy_search(model, source, source_valid, max_lengths=max_lengths, prefix=prefix)
        return [[with_score(path, penalty)] for path in paths]
    search = BeamSearch(
        beam_size, n_best=n_best, penalty=penalty, patience=math.inf, start_id=model.start_id, end_id=model.end_id
    )
    return decode_batch(model, search, source, source_valid, requests_for(model, max_lengths.tolist(), prefix))


def check_beam(beam_size: int, n_best: int, alpha: float) -> None:
    """Raises `UserError` for settings no beam search can follow."""
    if beam_size < 1:
        raise UserError(f"beam_size must be at least 1 (greedy search), not {beam_size}")
    if not 1 <= n_best <= beam_size:
        raise UserError(
            f"n_best must be from 1 to beam_size ({beam_size}), not {n_best}: ask for fewer, or widen the beam"
        )
    if not 0 <= alpha <= MAX_LENGTH_PENALTY:
        raise UserError(f"length_penalty must be from 0 (none) to {MAX_LENGTH_PENALTY:g}, not {alpha}")


class BeamSearch(Search):
    """The live hypotheses of every sentence, best first, and the best that have finished.

    A log-probability of -inf marks a live hypothesis that there is not yet, that is impossible, or pruned. Those
    stand behind the others.

    Args:
        penalty: what log-probabilities are divided by; its alpha from 0 to 10.
        patience: a sentence is decided once `patience * beam_size` hypotheses have finished; inf waits until no live
            one can win.
        prune: how far the log-probability of a hypothesis may fall below `_threshold`'s reference; inf prunes none.
    """

    def __init__(
        self, beam_size: int, *, n_best: int, penalty: LengthPenalty, patience: float, prune: float = math.inf,
        start_id: int, end_id: int,
    ) -> None:  # fmt: skip
        super().__init__(beam_size, start_id=start_id, end_id=end_id)
        self.n_best, self.penalty, self.enough, self.prune = n_best, penalty, patience * beam_size, prune
        self.finished: list[list[Hypothesis]] = []
        """The `n_best` best of each sentence, best first; of equal ones the earlier."""
        self.endings: Integers = np.zeros(0, dtype=np.int64)
        """How many hypotheses of each sentence have finished."""
        self.worst: Numbers = np.zeros(0)
        """The score a further one has to beat."""

    def admit(self, requests: Sequence[Request], places: Integers) -> None:
        more = max(0, int(places.max()) + 1 - len(self.finished))
        self.finished += [[] for _ in range(more)]
        self.endings = np.pad(self.endings, (0, more))
        self.worst = np.pad(self.worst, (0, more))
        super().admit(requests, places)
        self.log_probabilities[places, 1:] = -np.inf  # one empty hypothesis; the other places are empty
        self.endings[places], self.worst[places] = 0, -np.inf
        for place in places:
            self.finished[place] = []

    def keep(self, places: Integers) -> None:
        super().keep(places)
        self.endings, self.worst = self.endings[places], self.worst[places]
        self.finished = [self.finished[place] for place in places]

    def living(self) -> Living:
        there = (self.log_probabilities > -np.inf).sum(axis=1).clip(min=1)
        return Living.of(np.where(self.open, there, 0))

    def advance(
        self, log_probabilities: Float[Tensor, "rows vocab"], living: Living, ids: Integers | None = None
    ) -> tuple[Integers | None, Integers]:
        rows = np.flatnonzero(self.open)
        gained, parents, columns = self._continuations(log_probabilities, living, self.forced(ids))  # (2)
        scores = (gained + np.take_along_axis(self.log_probabilities, parents, axis=1))[rows]
        if self.prune < math.inf:
            scores[scores < self._threshold(rows, scores[:, 0])[:, None]] = -np.inf
        parents, pieces = parents[rows], (columns if ids is None else ids[columns])[rows]
        ends = pieces == self.end_id
        self._finish(rows, scores, parents, ends)  # (3)

        # At most one continuation of each parent ends. Where others are too few, ends stand in the beam, impossible.
        scores = np.where(ends, -np.inf, scores)
        going_on = np.argsort(ends, axis=1, kind="stable")[:, : self.width]  # (4)
        chosen, pieces = np.take_along_axis(parents, going_on, axis=1), np.take_along_axis(pieces, going_on, axis=1)
        at_limit = self.positions[rows] == self.limits[rows]  # these may end but not go on: they stay as they are
        self._go_on(rows[~at_limit], chosen[~at_limit], pieces[~at_limit], scores[~at_limit], going_on[~at_limit])

        decided = rows[at_limit | self._can_gain_nothing(rows)]  # (5)
        self.open[decided] = False
        moved = np.broadcast_to(np.arange(self.width), self.ids.shape).copy()
        moved[rows] = chosen
        return moved, decided

    def _continuations(
        self, log_probabilities: Tensor, living: Living, forced: dict[int, int]
    ) -> tuple[Numbers, Integers, Integers]:
        """(2) The best 2 * beam_size continuations of each sentence: log-probability, parent, column; best first.

        Equal ones stand in the order of their parents, then their columns. Waits for the device once; again only where
        equal ones leave it open which they are.
        """
        among = living.among(self.width)
        before = self.log_probabilities.ravel() if among is None else self.log_probabilities.ravel()[among]
        gained, parents, columns, tied = best_continuations(
            log_probabilities, torch.from_numpy(before).to(log_probabilities), living, 2 * self.width
        )
        for place in sorted({*np.flatnonzero(tied).tolist(), *forced}):
            own = log_probabilities[living.firsts[place] : living.firsts[place + 1]]
            few = self._forced(place, own, forced[place]) if place in forced else self._settled(place, own)
            for all_of_them, some, nothing in zip((gained, parents, columns), few, (-np.inf, 0, 0), strict=True):
                all_of_them[place] = nothing
                all_of_them[place, : len(some)] = some
        return gained, parents, columns

    def _settled(
        self, place: int, log_probabilities: Float[Tensor, "rows vocab"]
    ) -> tuple[Numbers, Integers, Integers]:
        """The continuations of one sentence where some are equal.

        Of each hypothesis one more than the beam holds is enough: if all that go on came from it, one more could be its
        end.
        """
        top = top_logits_with_ties(log_probabilities, self.width + 1)
        before, each = self.log_probabilities[place, : len(log_probabilities)], top.ids.shape[1]
        gained, columns = numbers(top.logits).ravel(), top.ids.cpu().numpy().ravel()
        order = np.argsort(-(gained + before.repeat(each)), kind="stable")[: 2 * self.width]
        return gained[order], order // each, columns[order]

    def _forced(
        self, place: int, log_probabilities: Float[Tensor, "rows vocab"], column: int
    ) -> tuple[Numbers, Integers, Integers]:
        """The continuations of one sentence with the one piece that is possible."""
        own = numbers(log_probabilities[:, column])
        parents = np.argsort(-(own + self.log_probabilities[place, : len(own)]), kind="stable")
        return own[parents], parents, np.full(len(own), column)

    def _threshold(self, rows: Integers, best: Numbers) -> Numbers:
        """(2) The log-probability below which a hypothesis of each sentence is pruned.

        The reference r is the best continuation, or what a finished hypothesis' score is worth at the present length t,
        `score * lp(t)`; the threshold lies `prune` below. With alpha above 1 a score rises with every piece that is as
        probable as those before, so one that is far behind can still win by being longer: after L pieces at the mean
        log-probability r / t one that is d behind has a better score than r / lp(t) where
        r * L / t - d > r * lp(L) / lp(t). So the threshold falls by -r * (lp(L) / lp(t) - L / t), with L at the limit.
        Up to alpha = 1 that is nothing.
        """
        length, limit = self.positions[rows] + 1.0, self.limits[rows] + 1.0
        reference = np.maximum(best, self.worst[rows] * self.penalty.at(length))
        if self.penalty.alpha > 1:
            growth = self.penalty.at(limit) / self.penalty.at(length) - limit / length
            reference = reference * (1 + np.maximum(growth, 0))
        return reference - self.prune

    def _finish(self, rows: Integers, scores: Numbers, parents: Integers, ends: Truths) -> None:
        """(3) Keep the best of those that end now and of those before."""
        heads = ends[:, : self.width] & (scores[:, : self.width] > -np.inf)
        for row, rank in zip(*np.nonzero(heads), strict=True):
            place = rows[row]
            length = int(self.positions[place])
            log_probability = float(scores[row, rank])
            score = log_probability / self.penalty.at(length + 1.0)
            ids = tuple(self.pieces[place, parents[row, rank], :length].tolist())
            kept = [*self.finished[place], Hypothesis(ids, score, log_probability, True)]
            kept.sort(key=lambda hypothesis: -hypothesis.score)
            self.finished[place] = kept[: self.n_best]
            self.endings[place] += 1
            if len(kept) >= self.n_best:
                self.worst[place] = self.finished[place][-1].score

    def _go_on(self, rows: Integers, parents: Integers, ids: Integers, scores: Numbers, going_on: Integers) -> None:
        """(4) The live hypotheses with one more piece."""
        self.pieces[rows] = np.take_along_axis(self.pieces[rows], parents[:, :, None], axis=1)
        self.pieces[rows, :, self.positions[rows]] = ids
        self.log_probabilities[rows] = np.take_along_axis(scores, going_on, axis=1)
        self.positions[rows] += 1
        self.ids[rows] = ids

    def _can_gain_nothing(self, rows: Integers) -> Truths:
        """(5) Which sentences are decided before their limit."""
        most = self.log_probabilities[rows, 0] / self.penalty.at(self.limits[rows] + 1.0)
        worst = self.worst[rows]
        return ((most <= worst) | (self.endings[rows] >= self.enough)) & (worst > -np.inf)

    def results(self, place: int) -> list[Hypothesis]:
        """Finished ones first; live ones only where those are too few, and none that ended at the last moment."""
        length = int(self.positions[place])
        live = [
            Hypothesis(tuple(ids[:length].tolist()), float(log_probability) / self.penalty.at(float(length)),
                       float(log_probability), False)
            for ids, log_probability in zip(self.pieces[place], self.log_probabilities[place], strict=True)
        ]  # fmt: skip
        found = list(self.finished[place])
        known = {hypothesis.ids for hypothesis in found}
        found += [other for other in live if other.ids not in known and other.score > -np.inf]
        return found[: self.n_best] or live[:1]


def with_score(path: Hypothesis, penalty: LengthPenalty) -> Hypothesis:
    """A greedy hypothesis with the score that beam search would give it."""
    pieces = float(len(path.ids) + path.finished)
    return replace(path, score=path.log_probability / penalty.at(pieces))
