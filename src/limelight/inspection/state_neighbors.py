"""Neighbors of decoder states: where in other text, such as the training text, the decoder was in a similar state.

A state is the vector from which the next token is predicted, with the target forced; similarity is the cosine. What was
written there shows what the model takes for similar (Strobelt et al. 2019, "Seq2Seq-Vis: A Visual Debugging Tool for
Sequence-to-Sequence Models").
"""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor
from torch.nn import functional

from limelight.models.interface import Seq2Seq, eval_mode

PAIRS = 64
"""Pairs of a batch."""
Ids = tuple[Sequence[int], Sequence[int]]
"""Source and target tokens, without start and end."""


class Neighbor(NamedTuple):
    """A position in the sample."""

    similarity: float
    """Cosine, at most 1."""
    pair: int
    position: int
    """Of the token that is predicted there; one after the last is the end."""


def neighbors(model: Seq2Seq, pair: Ids, sample: Sequence[Ids], *, count: int = 5) -> list[list[Neighbor]]:
    """For each target token of `pair`, and its end, the `count` most similar positions of the sample, best first.

    It takes a forward pass over the sample, and memory for the states of `PAIRS` pairs.
    """
    nearest: list[list[Neighbor]] = [[] for _ in range(len(pair[1]) + 1)]
    with eval_mode(model):
        asked = _states(model, [pair])[0]
        for first in range(0, len(sample), PAIRS):
            some = sample[first : first + PAIRS]
            for number, states in enumerate(_states(model, some), start=first):
                similar = (asked @ states.T).tolist()
                for found, row in zip(nearest, similar, strict=True):
                    found += [Neighbor(value, number, place) for place, value in enumerate(row)]
            nearest = [heapq.nlargest(count, found) for found in nearest]
    return nearest


def _states(model: Seq2Seq, pairs: Sequence[Ids]) -> list[Tensor]:
    """The features of each pair at its own positions, with length 1."""
    batch = model.batch([source for source, _ in pairs], [target for _, target in pairs])
    features = functional.normalize(model.forward(batch.to(next(model.parameters()).device)).float(), dim=-1)
    return [row[: len(target) + 1].cpu() for row, (_, target) in zip(features, pairs, strict=True)]
