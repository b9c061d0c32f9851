"""Leaving out one source word at a time, and how that changes the probability of each target token.

A weight of attention says what a model looks at, and an erasure what it needs (Li, Monroe and Jurafsky 2016,
"Understanding Neural Networks through Representation Erasure", equation 1). No weight is read here, so that the two can
be compared.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from limelight.models.interface import KeepHeads, Seq2Seq, eval_mode


class Rows(NamedTuple):
    """A sentence pair as token ids, without ends, and the words of each source token."""

    source: Sequence[int]
    target: Sequence[int]
    words_of: Sequence[Sequence[int]]
    size: int
    """Source words."""


MAX_POSITIONS = 1000
"""Target positions whose probabilities of all tokens exist at a time: with 32,000 tokens 130 MB."""


def erasures(model: Seq2Seq, rows: Rows, *, keep_heads: KeepHeads | None = None) -> npt.NDArray[np.float64]:
    """(source words, target tokens): log p(y_t | x, y_<t) - log p(y_t | x without word w, y_<t).

    A word without tokens changes nothing: its row is zero. Shortened sources are computed in batches of at most
    `MAX_POSITIONS` target positions.
    """
    kept = [
        [token for token, words in zip(rows.source, rows.words_of, strict=True) if word not in words]
        for word in range(rows.size)
    ]
    sources, size = [list(rows.source), *kept], max(1, MAX_POSITIONS // (len(rows.target) + 1))
    found = np.concatenate(
        [_given(model, sources[at : at + size], rows, keep_heads) for at in range(0, len(sources), size)]
    )
    drops: npt.NDArray[np.float64] = found[:1] - found[1:]
    return drops


def _given(
    model: Seq2Seq, sources: Sequence[Sequence[int]], rows: Rows, keep_heads: KeepHeads | None
) -> npt.NDArray[np.float64]:
    """(sources, target tokens): log p(y_t | source, y_<t)"""
    batch = model.batch(sources, [rows.target] * len(sources))
    with eval_mode(model) as device:
        features = model.forward(batch.to(device), keep_heads=keep_heads)[:, : len(rows.target)]
        of_all = torch.log_softmax(model.project(features).float(), dim=-1)
        ids = torch.tensor(list(rows.target), dtype=torch.long, device=device).expand(len(sources), -1)
        found: npt.NDArray[np.float64] = of_all.gather(-1, ids.unsqueeze(-1)).squeeze(-1).double().cpu().numpy()
        return found


def rank_correlation(weights: npt.NDArray[np.floating], drops: npt.NDArray[np.floating]) -> float | None:
    """How well the order of weights is that of drops: Kendall's tau-b, from -1 to 1, the mean over target words.

    Both are (target words, source words). This is the comparison of Jain and Wallace 2019, "Attention is not
    Explanation", section 4.1. A target word with equal weights, or equal drops, of all source words has no order and
    is left out; None if no word has one.
    """
    found = [tau for row, other in zip(weights, drops, strict=True) if (tau := _tau(row, other)) is not None]
    return sum(found) / len(found) if found else None


def _tau(one: npt.NDArray[np.floating], other: npt.NDArray[np.floating]) -> float | None:
    """(concordant - discordant) / sqrt(pairs without a tie in one * pairs without a tie in the other)"""
    upper = np.triu_indices(len(one), 1)
    signs, others = (np.sign(np.subtract.outer(each, each))[upper] for each in (one, other))
    bound = float(np.sqrt((signs**2).sum() * (others**2).sum()))
    return float((signs * others).sum()) / bound if bound else None


MIN_DROP = 0.1
"""Nats: a smaller change of a log-probability says nothing of what a token needs."""


def needed_words(model: Seq2Seq, rows: Rows) -> list[list[int]]:
    """For each target token, and none for the end after them, the source tokens of the word whose removal lowers its
    log-probability most; none if all changes are smaller than `MIN_DROP`."""
    drops = erasures(model, rows)
    tokens_of = [[token for token, words in enumerate(rows.words_of) if word in words] for word in range(rows.size)]
    found = []
    for column in drops.T:
        word = int(column.argmax()) if len(column) else -1
        found.append(tokens_of[word] if word >= 0 and column[word] >= MIN_DROP else [])
    return [*found, []]
