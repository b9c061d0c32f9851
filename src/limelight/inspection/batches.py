"""Sentence pairs of a corpus in batches, and the log-probabilities of their target tokens."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torch import Tensor

from limelight.batching.batch import Batch
from limelight.decoding.top import log_probabilities
from limelight.models.interface import Seq2Seq, device_of

BATCH_TOKENS = 1500
"""Rows times the longer side of a batch."""


class Rows(NamedTuple):
    """Some sentence pairs of a corpus as one batch."""

    places: list[int]
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
    order = sorted(range(len(sources)), key=lambda row: (len(targets[row]), len(sources[row])))
    return [
        Rows(
            places,
            model.batch([sources[row] for row in places], [targets[row] for row in places]).to(device_of(model)),
        )
        for places in grouped(
            order, [max(map(len, pair)) + 1 for pair in zip(sources, targets, strict=True)], batch_tokens
        )
    ]


def grouped(order: Sequence[int], lengths: Sequence[int], batch_tokens: int) -> Iterator[list[int]]:
    """Rows in this order, divided so that rows times the longest of a group are at most `batch_tokens`."""
    group: list[int] = []
    longest = 0
    for row in order:
        longest = max(longest, lengths[row])
        if group and (len(group) + 1) * longest > batch_tokens:
            yield group
            group, longest = [], lengths[row]
        group.append(row)
    if group:
        yield group


def token_log_probabilities(model: Seq2Seq, batch: Batch) -> Tensor:
    """log p(y_t | x, y_<t) of the target tokens of all sentences of a batch, end to end, their ends included."""
    valid = batch.target_valid
    return log_probabilities(model, model(batch)[valid], batch.target_out[valid])
