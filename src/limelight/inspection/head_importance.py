"""How much the probability of given translations depends on each head: the change of the loss without it.

The loss L is the mean of -log p(y_t | x, y_<t) over all target tokens of a corpus, their ends included. A positive
change says that the head is needed for these translations, and a negative one that they are more probable without it.
Heads do the work of others that are removed, so that numbers of single heads do not add up.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.inspection.batches import Rows, pair_log_probabilities
from limelight.inspection.heads import transformer_of, without_heads
from limelight.inspection.probe import attentions_of, probe
from limelight.models.interface import Seq2Seq

Array = npt.NDArray[np.float64]


class Head(NamedTuple):
    """A head by the name of its attention (`encoder.0.self`, `decoder.1.cross`) and its number."""

    attention: str
    number: int

    def __str__(self) -> str:
        return f"{self.attention} {self.number}"


class Change(NamedTuple):
    """The change of the mean loss per target token, and its standard error over sentences."""

    mean: float
    error: float


def heads_of(model: Seq2Seq) -> list[Head]:
    """All heads. Raises `UserError` for models other than Transformers with encoder and decoder."""
    modules = attentions_of(transformer_of(model))
    return [Head(name, number) for name, attention in modules.items() for number in range(attention.heads)]


def sentence_losses(model: Seq2Seq, corpus: Sequence[Rows], *, removed: Head | None = None, begin: int = 0) -> Array:
    """(sentences,): the sum of -log p(y_t | x, y_<t) over the target tokens of each sentence from `begin` on, its end
    included."""
    off = {removed.attention: [removed.number]} if removed else {}
    with probe(model, without_heads(model, off)):
        return np.array([-values[begin:].sum() for values in pair_log_probabilities(model, corpus)])


def change_of(losses: Array, before: Array, tokens: Array) -> Change:
    """The change of the mean loss per token: sum(d) / sum(n) with d_x the change of the loss of sentence x and n_x its
    tokens, and the standard error of this ratio, sqrt(sum((d_x - mean n_x)^2)) / sum(n)."""
    changes, count = losses - before, tokens.sum()
    mean = changes.sum() / count
    return Change(float(mean), float(np.sqrt(((changes - mean * tokens) ** 2).sum()) / count))
