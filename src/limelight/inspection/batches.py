"""Sentence pairs of a corpus in batches, and the log-probabilities of their target tokens."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.batching.batch import Batch, cut_batches
from limelight.decoding.top import PROJECTED, at_least_fp32
from limelight.models.interface import Seq2Seq, device_of, eval_mode

BATCH_TOKENS = 1500
"""Rows times the longer side of a batch."""


class Rows(NamedTuple):
    """Some sentence pairs of a corpus as one batch."""

    places: npt.NDArray[np.int64]
    """Their numbers in the corpus."""
    batch: Batch


def batches_of(
    model: Seq2Seq,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    batch_tokens: int = BATCH_TOKENS,
) -> list[Rows]:
    """Sentence pairs of similar lengths as batches on the model's device. Ids are without start and end."""
    lengths = [np.array([len(row) + 1 for row in side]) for side in (sources, targets)]
    device, batches = device_of(model), cut_batches(*lengths, tokens=batch_tokens, generator=np.random.default_rng(0))
    return [
        Rows(places, model.batch([sources[row] for row in places], [targets[row] for row in places]).to(device))
        for places in batches
    ]


def token_log_probabilities(model: Seq2Seq, batch: Batch) -> Tensor:
    """log p(y_t | x, y_<t) of the target tokens of all sentences of a batch, end to end, their ends included;
    computed in slices of positions."""
    features, ids = (part[batch.target_valid].split(PROJECTED) for part in (model(batch), batch.target_out))
    chosen = []
    for some, wanted in zip(features, ids, strict=True):
        scores = at_least_fp32(model.project(some)).log_softmax(dim=-1)
        chosen.append(scores.gather(-1, wanted[:, None])[:, 0])
    return torch.cat(chosen)


def pair_log_probabilities(model: Seq2Seq, corpus: Sequence[Rows]) -> list[npt.NDArray[np.float64]]:
    """log p(y_t | x, y_<t) of the target tokens of each sentence pair, its end included, in the order of the corpus."""
    found = dict[int, npt.NDArray[np.float64]]()
    with eval_mode(model):
        # The largest first, so that running out of memory shows at once.
        for places, batch in sorted(corpus, key=lambda rows: -rows.batch.positions):
            lengths = batch.target_valid.sum(dim=1).tolist()
            values = token_log_probabilities(model, batch).cpu().double().split(lengths)
            found.update(zip(places.tolist(), [part.numpy() for part in values], strict=True))
    return [found[row] for row in range(len(found))]
