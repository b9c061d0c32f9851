"""The largest logits of each row, in a deterministic order even if some are equal."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from limelight.decoding.host import Integers, NotANumberError, Numbers, Truths
from limelight.inference.linear import is_pending
from limelight.models.interface import Active, Best, Ranking, Seq2Seq
from limelight.shapes import Float, Int

try:
    from limelight.inference.cpu import largest_sums as loops
except ImportError:  # numba is an extra; torch is used without it
    loops = None  # type: ignore[assignment]

BLOCK = 64
"""Logits in a block; see `_largest`."""

FEW = 2048
"""Minimum number of classes for which a search by blocks is faster than torch's functions."""


PROJECTED = 2048
"""Positions whose logits are computed at once: with 32,000 tokens they take 250 MB in fp32, whatever the batch."""


class Top(NamedTuple):
    """Logits and their ids, largest first; among equal logits the lower id first."""

    logits: Float[Tensor, "*rows rank"]
    ids: Int[Tensor, "*rows rank"]


class Continuations(NamedTuple):
    """The best continuations of each sentence, over all its hypotheses, best first; on the host.

    If there are fewer, the rest have a log-probability of -inf.
    """

    log_probabilities: Numbers
    """(batch, rank): of the token alone, given the hypothesis."""
    parents: Integers
    """(batch, rank): the index of the hypothesis that is continued."""
    ids: Integers
    """(batch, rank): the id of the new token."""
    tied: Truths
    """(batch,): whether equal sums make the selection or its order ambiguous."""


def in_full(logits: Float[Tensor, "*rows vocab"]) -> Float[Tensor, "*rows vocab"]:
    """At least fp32: sums over a vocabulary and over a sentence lose digits in bf16."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def normalized(logits: Float[Tensor, "*rows vocab"]) -> Float[Tensor, "*rows vocab"]:
    """Log-softmax in at least fp32. The logits must not be used afterwards: on a CPU the result overwrites them.

    Writing a second tensor of batch times vocabulary would take a third longer.
    """
    full = in_full(logits)
    return torch.log_softmax(full, dim=-1, out=full if full.device.type == "cpu" else None)


def log_probabilities(
    model: Seq2Seq, features: Float[Tensor, "pieces features"], ids: Int[Tensor, " pieces"]
) -> Float[Tensor, " pieces"]:
    """Log-softmax of the projected features at the given ids, computed in slices of positions."""
    chosen = []
    for some, wanted in zip(features.split(PROJECTED), ids.split(PROJECTED), strict=True):
        scores = in_full(model.project(some)).log_softmax(dim=-1)
        chosen.append(scores.gather(-1, wanted[:, None])[:, 0])
    return torch.cat(chosen)


def best_continuations(
    log_probabilities: Float[Tensor, "rows vocab"] | Ranking,
    before: Float[Tensor, " rows"],
    active: Active,
    count: int,
) -> Continuations:
    """The `count` continuations of each sentence with the largest sums of log-probabilities.

    torch selects arbitrarily among equal sums. One continuation more than requested shows whether the selection is
    ambiguous; if so, `top_logits_with_ties` decides. Waits for the device once.

    Raises `RunError` if the log-probabilities of a hypothesis are NaN.
    """
    if isinstance(log_probabilities, Ranking):
        found = log_probabilities.best(before.numpy(), active.firsts, count + 1)
    else:
        found = _best_of_table(log_probabilities, before.to(log_probabilities), active, count + 1)
    sums, gained, parents, ids = found
    tied = ((sums[:, 1:] == sums[:, :-1]) & (sums[:, 1:] > -np.inf)).any(axis=1)
    return Continuations(gained[:, :-1], parents[:, :-1], ids[:, :-1], tied)


def _best_of_table(log_probabilities: Tensor, before: Tensor, active: Active, count: int) -> Best:
    fits = log_probabilities.device.type == "cpu" and log_probabilities.dtype == torch.float32
    fast = loops is not None and fits and not is_pending()
    return (_best_in_loops if fast else _best_in_torch)(log_probabilities, before, active, count)


def _best_in_loops(log_probabilities: Tensor, before: Tensor, active: Active, count: int) -> Best:
    batch, vocab = len(active.firsts) - 1, log_probabilities.shape[1]
    table = log_probabilities.contiguous().numpy()
    if np.isnan(table[:, 0]).any():  # one NaN logit makes all log-probabilities of its row NaN
        raise NotANumberError
    sums, places = np.full((batch, count), -np.inf, dtype=np.float32), np.zeros((batch, count), dtype=np.int64)
    loops.find_largest_sums(table, before.numpy(), active.firsts, BLOCK, sums, places)
    parents, ids = np.divmod(places, vocab)
    rows = np.minimum(active.firsts[:-1, None] + parents, len(table) - 1)  # the last sentence may have no rows
    gained = np.where(sums > -np.inf, table[rows, ids], -np.inf)
    return Best(sums.astype(np.float64), gained.astype(np.float64), parents, ids)


def _best_in_torch(log_probabilities: Tensor, before: Tensor, active: Active, count: int) -> Best:
    """The best continuations of each hypothesis, then the best of these for each sentence."""
    batch, width, each = len(active.firsts) - 1, int(active.counts.max()), min(count, log_probabilities.shape[1])
    gained, ids = _largest(log_probabilities, each)
    among = active.among(width)
    places = slice(None) if among is None else torch.from_numpy(among).to(ids.device)

    def of_sentences(part: Tensor, nothing: float = 0.0) -> Tensor:
        table = part.new_full((batch * width, each), nothing)
        table[places] = part
        return functional.pad(table.view(batch, -1), (0, max(0, count - width * each)), value=nothing)

    sums, best = of_sentences(gained + before[:, None], -torch.inf).topk(count, dim=1)
    parents = (best // each).clamp(max=width - 1)
    parts = sums, of_sentences(gained, -torch.inf).gather(1, best), parents, of_sentences(ids).gather(1, best)
    # One copy for all, in the type of the sums: fp32 represents every id exactly, and not every GPU has float64.
    on_the_host = torch.stack([part.to(sums.dtype) for part in parts]).cpu().double().numpy()
    if np.isnan(on_the_host[0]).any():  # top-k sorts NaN as the largest value
        raise NotANumberError
    return Best(on_the_host[0], on_the_host[1], *on_the_host[2:].astype(np.int64))


def _largest(logits: Float[Tensor, "rows vocab"], count: int) -> tuple[Tensor, Tensor]:
    """The largest logits of each row and their ids, ties in any order.

    On a CPU maxima are much cheaper than a sort: only the blocks with the largest maxima are searched.
    """
    if not _in_blocks(logits) or count >= logits.shape[1] // BLOCK:
        return torch.topk(logits, count, dim=1)
    blocks, tail = _blocks(logits)
    chosen = blocks.amax(dim=-1).topk(count, dim=1).indices
    inside = blocks.gather(1, chosen[..., None].expand(-1, -1, BLOCK)).flatten(1)
    ids = (chosen[..., None] * BLOCK + torch.arange(BLOCK)).flatten(1)
    last = torch.arange(logits.shape[1] - tail.shape[1], logits.shape[1]).expand(len(logits), -1)
    values, best = torch.cat([inside, tail], dim=1).topk(count, dim=1)
    return values, torch.cat([ids, last], dim=1).gather(1, best)


def most_probable(logits: Float[Tensor, "*rows vocab"]) -> Int[Tensor, "*rows"]:
    """The id of the largest logit of each row; among equal ones the first."""
    if logits.device.type != "cpu":
        return logits.argmax(dim=-1)  # documented to return the first maximum
    return torch.from_numpy(in_full(logits).numpy().argmax(axis=-1))  # also the first, in a fifth of torch's time


def _in_blocks(logits: Tensor) -> bool:
    return logits.device.type == "cpu" and logits.shape[-1] >= FEW


def _blocks(
    logits: Float[Tensor, "*rows vocab"],
) -> tuple[Float[Tensor, "*rows block inside"], Float[Tensor, "*rows tail"]]:
    """The logits divided into blocks, and the remaining logits; nothing is copied."""
    whole = logits.shape[-1] // BLOCK * BLOCK
    return logits[..., :whole].unflatten(-1, (-1, BLOCK)), logits[..., whole:]


def top_logits_with_ties(logits: Float[Tensor, "*rows vocab"], count: int) -> Top:
    """The largest `count` logits of rows with ties, the lower ids first among equal ones.

    Needs a second top-k over the vocabulary, which is much cheaper than sorting it.
    """
    vocab = logits.shape[-1]
    values, ids = logits.topk(min(count, vocab), dim=-1)
    smallest = values[..., -1:]
    # All ids above the smallest value are selected; of those equal to it, the lowest ids.
    certain = values > smallest
    descending = torch.arange(vocab, 0, -1, device=logits.device)
    lowest = vocab - torch.where(logits == smallest, descending, 0).topk(values.shape[-1], dim=-1).values
    place = torch.arange(values.shape[-1], device=logits.device) - certain.sum(dim=-1, keepdim=True)
    # Only a row of NaN has no id at its smallest value; it must not affect the others.
    ids = torch.where(certain, ids, lowest.gather(-1, place.clamp(min=0)).clamp(max=vocab - 1))
    # Two stable sorts, the second one by value, leave equal values in the order of their ids.
    ids = ids.sort(dim=-1).values
    values, order = logits.gather(-1, ids).sort(dim=-1, descending=True, stable=True)
    return Top(values, ids.gather(-1, order))
