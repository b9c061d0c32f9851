"""A step scores the tokens that the present sentences may become, instead of the whole vocabulary.

Each source token has the target tokens it most likely becomes, and some tokens are always there
(`storage/shortlist.py` is the table). Each sentence has a list of its own: what is on the list of any is scored for
all, and is impossible for those that do not have it. Probabilities are those of the softmax over a sentence's own list.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from limelight.decoding.host import Integers
from limelight.errors import UserError
from limelight.inference.linear import linear_of
from limelight.models.interface import Active, Seq2Seq
from limelight.shapes import Bool, Float, Int
from limelight.storage.shortlist import Shortlist

VECTOR = 64
"""Columns in whole vectors, of any processor and type."""


class Output(NamedTuple):
    """What turns features into logits."""

    project: Callable[[Tensor], Tensor]
    lists: "Lists | None" = None
    """The shortlists, where there are any."""

    def logits(self, features: Float[Tensor, "rows features"], active: Active) -> Float[Tensor, "rows columns"]:
        """Of the active hypotheses: for each id, or for what is on the list of a hypothesis' request."""
        logits = self.project(features)
        if self.lists is None:
            return logits
        rows = torch.from_numpy(active.sentences).to(logits.device)
        return logits.gather(1, self.lists.columns[rows]).masked_fill_(self.lists.beyond[rows], -torch.inf)

    @property
    def ids(self) -> Integers | None:
        """(slots, columns): the target ids that the columns stand for, rising; None where the columns are the ids."""
        return None if self.lists is None else self.lists.ids

    def keep(self, slots: Integers) -> "Output":
        """For these slots alone, in this order."""
        return self if self.lists is None else self._replace(lists=self.lists.keep(slots))


class Lists(NamedTuple):
    """The shortlists of the slots, in rows of one length."""

    ids: Integers
    """(slots, columns): rising; behind the end of a list the size of the vocabulary, which is no id."""
    columns: Int[Tensor, "slots columns"]
    """Where each stands in what is projected."""
    beyond: Bool[Tensor, "slots columns"]
    """Behind the end of a list."""

    def keep(self, slots: Integers) -> "Lists":
        """Of these slots alone, in this order."""
        there = torch.from_numpy(slots).to(self.columns.device)
        return Lists(self.ids[slots], self.columns[there], self.beyond[there])


class ShortOutput:
    """A model's projection onto the shortlists of the present requests."""

    def __init__(self, model: Seq2Seq, shortlist: Shortlist, precision: str) -> None:
        """Raises `UserError` for another vocabulary's shortlist, and for a model that is an ensemble."""
        shortlist.require_fit(model.source_padding, model.output_size, "the shortlist")
        try:
            weights = model.output_weights()
        except TypeError:
            raise UserError(
                "an ensemble takes no shortlist, since it averages the probabilities of all tokens: give one model"
            ) from None
        self.shortlist, self.classes = shortlist, model.output_size
        self.linear, self.device = linear_of(precision)(*weights), weights[0].device

    def listed(self, source: Sequence[int], prefix: Sequence[int] = ()) -> Integers:
        """The target ids that a source may become, rising; those that are forced are on the list, whatever they are."""
        listed = self.shortlist.of([source], self.classes)
        listed[list(prefix)] = True
        return np.flatnonzero(listed)

    def onto(self, lists: Sequence[Integers | None]) -> Output:
        """The lists of these slots; None stands for a free one. What is on any of them is projected once."""
        longest = max(len(each) for each in lists if each is not None)
        # Whole vectors: sums over a list are then the same to the last bit, however long the lists beside it are.
        ids = np.full((len(lists), -(-longest // VECTOR) * VECTOR), self.classes, dtype=np.int64)
        for row, each in zip(ids, lists, strict=True):
            if each is not None:
                row[: len(each)] = each
        listed = np.zeros(self.classes + 1, dtype=np.bool_)
        listed[ids] = True
        some = np.flatnonzero(listed[:-1])
        columns, beyond = (np.cumsum(listed) - 1)[ids].clip(max=len(some) - 1), ids == self.classes
        at = self.device
        placed = Lists(ids, torch.from_numpy(columns).to(at), torch.from_numpy(beyond).to(at))
        return Output(self.linear.some(torch.from_numpy(some).to(at)), placed)
