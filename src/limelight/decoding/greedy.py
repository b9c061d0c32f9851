"""Greedy search: always the most probable piece. Also the loop of every search that follows one path per sentence."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from limelight.decoding.forced import FREE, forced_ids, limits_with
from limelight.decoding.hypothesis import Hypothesis
from limelight.decoding.top import in_full
from limelight.models.interface import Seq2Seq
from limelight.shapes import Bool, Float, Int

Choose = Callable[[Float[Tensor, "batch vocab"]], Int[Tensor, " batch"]]
"""Logits of a step (fp32 or better) to the id with which each row goes on."""


def greedy_search(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    source_valid: Bool[Tensor, "batch source"],
    *,
    max_lengths: Int[Tensor, " batch"],
    prefix: Sequence[Sequence[int]] | None = None,
) -> list[Hypothesis]:
    """The hypothesis of each source that takes the most probable piece at every step; of equal ones the lower id.

    Args:
        source: source ids, each row with its end, padded.
        max_lengths: most pieces of each row, the end not counted. A row that has so many and does not end there is
            returned as it is, with `finished=False`.
        prefix: target pieces each row has to begin with, without start and end; a longer one raises the row's limit.

    Raises `UserError` for prefixes that do not fit.
    """
    return follow(model, source, source_valid, choose=_most_probable, max_lengths=max_lengths, prefix=prefix)


def _most_probable(logits: Float[Tensor, "batch vocab"]) -> Int[Tensor, " batch"]:
    return logits.argmax(dim=-1)  # documented to take the first of equal ones


@torch.inference_mode()
def follow(
    model: Seq2Seq,
    source: Int[Tensor, "batch source"],
    source_valid: Bool[Tensor, "batch source"],
    *,
    choose: Choose,
    max_lengths: Int[Tensor, " batch"],
    prefix: Sequence[Sequence[int]] | None,
) -> list[Hypothesis]:
    """One hypothesis per source, extended by what `choose` picks from the logits. Rows that finish leave the batch.

    The computation waits for the device once a step, to learn which rows go on.
    """
    batch = len(source)
    if not batch:
        return []
    forced = forced_ids(prefix, model, source)
    limits = limits_with(max_lengths, forced)
    longest = int(limits.max())
    pieces = source.new_zeros((batch, longest + 1))
    lengths = source.new_zeros(batch)
    finished = torch.zeros_like(lengths, dtype=torch.bool)
    log_probabilities = torch.zeros_like(lengths, dtype=torch.float64)

    state = model.start(model.encode(source, source_valid))
    rows = torch.arange(batch, device=source.device)
    ids = torch.full_like(rows, model.start_id)
    for position in range(longest + 1):
        features, state = model.step(ids, state)
        logits = in_full(model.project(features))
        ids = choose(logits)
        if position < forced.shape[1]:
            ids = torch.where(forced[rows, position] == FREE, ids, forced[rows, position])
        ended = ids == model.end_id
        cut = ~ended & (limits[rows] == position)
        gained = logits.gather(-1, ids[:, None])[:, 0] - logits.logsumexp(dim=-1)
        log_probabilities[rows] += gained.masked_fill(cut, 0)
        pieces[rows, position] = ids
        lengths[rows] = position  # a row that leaves now has as many pieces
        finished[rows] = ended
        going_on = (~(ended | cut)).nonzero()[:, 0]
        if not len(going_on):
            break
        if len(going_on) < len(rows):
            rows, ids, state = rows[going_on], ids[going_on], state.keep(going_on)

    return [
        Hypothesis(tuple(row[:length]), log_probability, log_probability, done)
        for row, length, log_probability, done in zip(
            pieces.tolist(), lengths.tolist(), log_probabilities.tolist(), finished.tolist(), strict=True
        )
    ]
