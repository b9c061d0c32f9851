"""Beam search: the best few hypotheses of every sentence, side by side.

A sentence has `beam_size` live hypotheses, all of the same number of pieces, and keeps the `n_best` finished ones that
score best. Finished ones never take the place of live ones. Every step goes like this:

 (1) read     the model reads the last piece of every live hypothesis and predicts the next;
 (2) rank     the 2 * beam_size best continuations of a sentence are put in order, by log-probability. At most
              beam_size of them end, so enough are left to go on with;
 (3) finish   those that end and stand among the first beam_size are scored with the length penalty, and the best
              finished ones are kept;
 (4) go on    the first beam_size that do not end become the live hypotheses;
 (5) decide   a sentence is decided at its length limit, or when no live hypothesis can still beat the worst of the kept
              finished ones. Log-probabilities only fall and the penalty only grows with length, so the most a live
              hypothesis can reach is `log_probability / length_penalty(limit + 1)`: stopping there loses nothing;
 (6) leave    decided sentences leave the batch, and the decoder's state follows the hypotheses.

(Wu et al. 2016, section 7, for the penalty; the beams as a record that moves are the form of Flax's example for WMT.)
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import torch
from torch import Tensor

from limelight.decoding.forced import FREE, forced_ids, limits_with
from limelight.decoding.greedy import greedy_search
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.length_penalty import length_penalty as penalty
from limelight.decoding.top import Top, in_full, top_logits, top_logits_with_ties
from limelight.errors import UserError
from limelight.models.interface import Seq2Seq
from limelight.shapes import Bool, Float, Int


@dataclass(frozen=True, slots=True)
class BeamState:
    """What is known of the sentences that are searched. `beam` is beam_size, `best` is n_best, `room` is for pieces.

    A log-probability or score of -inf marks a place that is still empty.
    """

    limits: Int[Tensor, " batch"]
    """int64: most pieces of a hypothesis, the end not counted."""
    live_ids: Int[Tensor, "batch beam room"]
    """int64: the pieces of the live hypotheses; as many are written as there were steps."""
    live_log_probabilities: Float[Tensor, "batch beam"]
    """fp32 or better, best first."""
    finished_ids: Int[Tensor, "batch best room"]
    """int64, without the end."""
    finished_lengths: Int[Tensor, "batch best"]
    """int64, the end not counted."""
    finished_log_probabilities: Float[Tensor, "batch best"]
    """fp32 or better, the end included."""
    finished_scores: Float[Tensor, "batch best"]
    """fp32 or better, with the length penalty; best first."""

    def keep(self, rows: Int[Tensor, " rows"]) -> "BeamState":
        """The state of these sentences alone."""
        return BeamState(*(getattr(self, field.name)[rows] for field in fields(self)))

    @classmethod
    def join(cls, parts: Sequence["BeamState"]) -> "BeamState":
        """The sentences of all parts, one after another."""
        return cls(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(cls)))


class Rules(NamedTuple):
    """What stays the same throughout a search."""

    beam_size: int
    n_best: int
    alpha: float
    end_id: int


class Ranking(NamedTuple):
    """The best continuations of each sentence, best first; equal ones in the order of their parents, then their ids."""

    log_probabilities: Float[Tensor, "batch rank"]
    parents: Int[Tensor, "batch rank"]
    """Which live hypothesis is continued."""
    ids: Int[Tensor, "batch rank"]
    """With which piece (or the end)."""


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

    Args:
        length_penalty: alpha of `length_penalty.length_penalty`; 0 or more, or the stopping rule would not be exact.

    Raises `UserError` for a beam below 1, `n_best` outside of 1 to `beam_size`, a negative `length_penalty`, and
    prefixes that do not fit.
    """
    check_beam(beam_size, n_best, length_penalty)
    if beam_size == 1:
        paths = greedy_search(model, source, source_valid, max_lengths=max_lengths, prefix=prefix)
        return [[_scored(path, length_penalty)] for path in paths]
    if not len(source):
        return []
    forced = forced_ids(prefix, model, source)
    beams = start_beams(limits_with(max_lengths, forced), beam_size, n_best)
    rules = Rules(beam_size, n_best, length_penalty, model.end_id)
    return hypotheses_of(_search(model, source, source_valid, forced, beams, rules), length_penalty)


def check_beam(beam_size: int, n_best: int, alpha: float) -> None:
    """Raises `UserError` for settings no beam search can follow."""
    if beam_size < 1:
        raise UserError(f"beam_size must be at least 1 (greedy search), not {beam_size}")
    if not 1 <= n_best <= beam_size:
        raise UserError(
            f"n_best must be from 1 to beam_size ({beam_size}), not {n_best}: ask for fewer, or widen the beam"
        )
    if not 0 <= alpha < float("inf"):
        raise UserError(f"length_penalty must be 0 (none) or above and finite, not {alpha}")


@torch.inference_mode()
def _search(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    source_valid: Bool[Tensor, "batch source"],
    forced: Int[Tensor, "batch prefix"],
    beams: BeamState,
    rules: Rules,
) -> BeamState:
    """Take steps until every sentence is decided; the last state of each, in the order of the sources."""
    sentences = torch.arange(len(source), device=source.device)
    state = model.start(model.encode(source, source_valid)).keep(sentences.repeat_interleave(rules.beam_size))
    ids = sentences.new_full((len(source) * rules.beam_size,), model.start_id)
    left: list[tuple[Tensor, BeamState]] = []
    for position in range(beams.live_ids.shape[-1]):
        features, state = model.step(ids, state)  # (1)
        logits = unflatten_beams(in_full(model.project(features)), rules.beam_size)
        only = forced[sentences, position] if position < forced.shape[1] else None
        beams, parents, decided = _step(beams, logits, only, position, rules)  # (2) to (5)

        leaving = [row for row, is_decided in enumerate(decided) if is_decided]  # (6)
        staying = [row for row, is_decided in enumerate(decided) if not is_decided]
        rows = parents + rules.beam_size * torch.arange(len(decided), device=source.device)[:, None]
        if leaving:
            out = torch.tensor(leaving, device=source.device)
            left.append((sentences[out], beams.keep(out)))
        if not staying:
            break
        if leaving:
            kept = torch.tensor(staying, device=source.device)
            sentences, beams, state = sentences[kept], beams.keep(kept), state.keep(flatten_beams(rows[kept]))
        else:
            state = state.reorder(flatten_beams(rows))
        ids = flatten_beams(beams.live_ids[:, :, position])
    order = torch.cat([out for out, _ in left]).argsort()
    return BeamState.join([part for _, part in left]).keep(order)


def _step(
    beams: BeamState,
    logits: Float[Tensor, "batch beam vocab"],
    only: Int[Tensor, " batch"] | None,
    position: int,
    rules: Rules,
) -> tuple[BeamState, Int[Tensor, "batch beam"], list[bool]]:
    """The state after a step, whose continuation each live hypothesis is, and which sentences are decided.

    Waits for the device once; a second time only where equal logits leave the ranking open.
    """
    top, tied = top_logits(logits, 2 * rules.beam_size)
    after, parents = advance(beams, rank(beams, logits, top, only), position, rules)
    decided = is_decided(after, position, rules.alpha)
    ties, *answer = torch.cat([tied[None], decided]).tolist()
    if ties:
        top = top_logits_with_ties(logits, 2 * rules.beam_size)
        after, parents = advance(beams, rank(beams, logits, top, only), position, rules)
        answer = is_decided(after, position, rules.alpha).tolist()
    return after, parents, answer


def start_beams(limits: Int[Tensor, " batch"], beam_size: int, n_best: int) -> BeamState:
    """One empty live hypothesis per sentence; the other places are empty."""
    batch, room = len(limits), int(limits.max()) + 1
    live = torch.full((batch, beam_size), -torch.inf, device=limits.device)
    live[:, 0] = 0
    empty = torch.full((batch, n_best), -torch.inf, device=limits.device)
    return BeamState(
        limits=limits,
        live_ids=limits.new_zeros((batch, beam_size, room)),
        live_log_probabilities=live,
        finished_ids=limits.new_zeros((batch, n_best, room)),
        finished_lengths=limits.new_zeros((batch, n_best)),
        finished_log_probabilities=empty,
        finished_scores=empty,
    )


def rank(
    beams: BeamState, logits: Float[Tensor, "batch beam vocab"], top: Top, only: Int[Tensor, " batch"] | None
) -> Ranking:
    """(2) The best 2 * beam_size continuations of each sentence, from the best of each hypothesis.

    The softmax is taken at those few alone. `only` names the one piece a sentence may go on with, or `FREE`.
    """
    if only is not None:
        top = force(top, logits, only)
    log_probabilities = top.logits - logits.logsumexp(dim=-1, keepdim=True) + beams.live_log_probabilities[..., None]
    # (batch, beam, rank) -> (batch, beam * rank): a stable sort leaves equal ones in the order of parents, then ids
    best, places = log_probabilities.flatten(1).sort(dim=-1, descending=True, stable=True)
    count = 2 * logits.shape[1]
    best, places = best[:, :count], places[:, :count]
    parents = places.div(top.ids.shape[-1], rounding_mode="floor")
    return Ranking(best, parents, top.ids.flatten(1).gather(1, places))


def force(top: Top, logits: Float[Tensor, "batch beam vocab"], only: Int[Tensor, " batch"]) -> Top:
    """Where a piece is forced, it is the one continuation that is possible."""
    piece = only.clamp(min=0)[:, None, None].expand(-1, logits.shape[1], 1)
    forced = (only != FREE)[:, None, None]
    first = torch.arange(top.ids.shape[-1], device=only.device) == 0
    alone = torch.where(first, logits.gather(-1, piece), -torch.inf)
    return Top(torch.where(forced, alone, top.logits), torch.where(forced & first, piece, top.ids))


def advance(
    beams: BeamState, ranking: Ranking, position: int, rules: Rules
) -> tuple[BeamState, Int[Tensor, "batch beam"]]:
    """Steps (3) and (4): the state with one more piece, and the parent of each live hypothesis.

    Hypotheses that have all the pieces their limit allows may end but not go on: they stay as they are.
    """
    after = _finish(beams, ranking, position, rules)
    # At most one continuation of each of the beam_size parents ends, so at least beam_size of twice as many do not.
    open_first = (ranking.ids == rules.end_id).sort(dim=-1, stable=True).indices[:, : rules.beam_size]
    parents, ids = ranking.parents.gather(1, open_first), ranking.ids.gather(1, open_first)
    live_ids = gather_beams(beams.live_ids, parents)
    live_ids[:, :, position] = ids
    live = ranking.log_probabilities.gather(1, open_first)

    at_limit = (beams.limits == position)[:, None]
    live_ids = torch.where(at_limit[..., None], beams.live_ids, live_ids)
    live = torch.where(at_limit, beams.live_log_probabilities, live)
    return replace(after, live_ids=live_ids, live_log_probabilities=live), parents


def _finish(beams: BeamState, ranking: Ranking, position: int, rules: Rules) -> BeamState:
    """(3) The state with the best of the kept finished hypotheses and those that end now; of equal ones the earlier."""
    heads = slice(0, rules.beam_size)
    ends = ranking.ids[:, heads] == rules.end_id
    new = ranking.log_probabilities[:, heads].masked_fill(~ends, -torch.inf)
    new_ids = gather_beams(beams.live_ids, ranking.parents[:, heads])
    new_lengths = torch.full_like(ranking.parents[:, heads], position)

    scores = torch.cat([beams.finished_scores, new / penalty(position + 1, rules.alpha)], dim=1)
    scores, best = scores.sort(dim=1, descending=True, stable=True)
    best = best[:, : rules.n_best]
    return replace(
        beams,
        finished_ids=gather_beams(torch.cat([beams.finished_ids, new_ids], dim=1), best),
        finished_lengths=torch.cat([beams.finished_lengths, new_lengths], dim=1).gather(1, best),
        finished_log_probabilities=torch.cat([beams.finished_log_probabilities, new], dim=1).gather(1, best),
        finished_scores=scores[:, : rules.n_best],
    )


def is_decided(beams: BeamState, position: int, alpha: float) -> Bool[Tensor, " batch"]:
    """(5) Which sentences can gain nothing any more."""
    most = beams.live_log_probabilities[:, 0] / penalty(beams.limits + 1, alpha)
    worst = beams.finished_scores[:, -1]
    return ((most <= worst) & (worst > -torch.inf)) | (beams.limits == position)


def flatten_beams(values: Int[Tensor, "batch beam"]) -> Int[Tensor, " rows"]:
    """(batch, beam) -> (batch * beam): one row per live hypothesis, as the model sees them."""
    return values.flatten()


def unflatten_beams(values: Float[Tensor, "rows vocab"], beam_size: int) -> Float[Tensor, "batch beam vocab"]:
    """(batch * beam, vocab) -> (batch, beam, vocab): the rows of a sentence together."""
    return values.unflatten(0, (-1, beam_size))


def gather_beams(
    values: Int[Tensor, "batch beam room"], places: Int[Tensor, "batch to"]
) -> Int[Tensor, "batch to room"]:
    """The pieces of the hypotheses at these places of each sentence."""
    return values.gather(1, places[..., None].expand(-1, -1, values.shape[-1]))


def hypotheses_of(beams: BeamState, alpha: float) -> list[list[Hypothesis]]:
    """The `n_best` results of decided sentences as plain records."""
    n_best = beams.finished_scores.shape[1]
    finished = _records(
        beams.finished_ids,
        beams.finished_lengths,
        beams.finished_scores,
        beams.finished_log_probabilities,
        finished=True,
    )
    # What is still live was stopped by its limit.
    lengths = beams.limits[:, None].expand_as(beams.live_log_probabilities)
    scores = beams.live_log_probabilities / penalty(lengths, alpha)
    live = _records(beams.live_ids, lengths, scores, beams.live_log_probabilities, finished=False)
    return [_best(ended, stopped, n_best) for ended, stopped in zip(finished, live, strict=True)]


def _records(
    ids: Int[Tensor, "batch beam room"],
    lengths: Int[Tensor, "batch beam"],
    scores: Float[Tensor, "batch beam"],
    log_probabilities: Float[Tensor, "batch beam"],
    *,
    finished: bool,
) -> list[list[Hypothesis]]:
    """The hypotheses of each sentence, fetched from the device at once."""
    tables = (ids.tolist(), lengths.tolist(), scores.tolist(), log_probabilities.tolist())
    return [
        [
            Hypothesis(tuple(row[:length]), score, log_probability, finished)
            for row, length, score, log_probability in zip(*sentence, strict=True)
        ]
        for sentence in zip(*tables, strict=True)
    ]


def _best(finished: list[Hypothesis], live: list[Hypothesis], n_best: int) -> list[Hypothesis]:
    """Finished ones first; live ones only where those are too few, and none that ended at the last moment."""
    results = [hypothesis for hypothesis in finished if hypothesis.score > -torch.inf]
    known = {hypothesis.ids for hypothesis in results}
    results += [other for other in live if other.ids not in known and other.score > -torch.inf]
    return results[:n_best] or live[:1]


def _scored(path: Hypothesis, alpha: float) -> Hypothesis:
    """A greedy hypothesis with the score that beam search would give it."""
    pieces = len(path.ids) + path.finished
    return replace(path, score=path.log_probability / penalty(pieces, alpha))
