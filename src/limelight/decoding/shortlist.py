"""Vocabulary selection: a step scores only the likely target tokens of the current sentences.

The table (`storage/tables.py`) has the most probable target tokens of each source token, and tokens that are always
included. Each sentence has its own list. The union of all lists is projected once; for a sentence, tokens outside its
own list get -inf. Probabilities are a softmax over the sentence's own list.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from limelight.decoding.host import Integers
from limelight.inference.linear import linear_of
from limelight.models.interface import Active, Seq2Seq
from limelight.shapes import Bool, Float, Int
from limelight.storage.tables import Shortlist

VECTOR = 64
"""The number of columns is a multiple of this, so that they are whole vectors on any processor, in any type."""


class Output(NamedTuple):
    """The projection of features to logits; with shortlists, the lists of the slots, padded to one length."""

    project: Callable[[Tensor], Tensor]
    ids: Integers | None = None
    """(slots, columns): target ids, ascending; padded with the size of the vocabulary. None if the columns are the
    ids."""
    columns: Int[Tensor, "slots columns"] | None = None
    """The index of each id in the projection."""
    is_padding: Bool[Tensor, "slots columns"] | None = None
    """True for padding."""

    def logits(self, features: Float[Tensor, "rows features"], active: Active) -> Float[Tensor, "rows columns"]:
        """Logits of the active hypotheses, for all ids or for the list of each hypothesis' request."""
        logits = self.project(features)
        if self.columns is None or self.is_padding is None:
            return logits
        rows = torch.from_numpy(active.sentences).to(logits.device)
        return logits.gather(1, self.columns[rows]).masked_fill_(self.is_padding[rows], -torch.inf)


class ShortOutput:
    """A model's projection onto the shortlists of the current requests."""

    def __init__(self, model: Seq2Seq, shortlist: Shortlist, precision: str) -> None:
        """Raises `UserError` for a shortlist of another vocabulary."""
        shortlist.require_fit(model.source_padding, model.output_size, "the shortlist")
        weights = model.output_weights()
        self.shortlist, self.classes = shortlist, model.output_size
        self.linear, self.device = linear_of(precision)(*weights), weights[0].device

    def listed(self, source: Sequence[int], forced: Sequence[int] = ()) -> Integers:
        """The target ids for a source, ascending; forced ids are always included."""
        listed = self.shortlist.of(source, self.classes)
        listed[list(forced)] = True
        return np.flatnonzero(listed)

    def onto(self, lists: Sequence[Integers | None]) -> Output:
        """The output for the lists of these slots; None for a free slot. The union of all lists is projected once."""
        longest = max(len(each) for each in lists if each is not None)
        # Whole vectors make sums over a list bit-exact, whatever the lengths of the other lists.
        ids = np.full((len(lists), -(-longest // VECTOR) * VECTOR), self.classes, dtype=np.int64)
        for row, each in zip(ids, lists, strict=True):
            if each is not None:
                row[: len(each)] = each
        listed = np.zeros(self.classes + 1, dtype=np.bool_)
        listed[ids] = True
        some = np.flatnonzero(listed[:-1])
        columns, is_padding = (np.cumsum(listed) - 1)[ids].clip(max=len(some) - 1), ids == self.classes
        chosen, at, padding = (torch.from_numpy(part).to(self.device) for part in (some, columns, is_padding))
        return Output(self.linear.some(chosen), ids, at, padding)
