"""A step scores the tokens that the sentences at hand may become, instead of the whole vocabulary.

Each source token has the target tokens it most likely becomes, and some tokens are always there
(`training/shortlist.py` learns both). Each sentence has a list of its own: what is on the list of any is scored for
all, and is impossible for those that do not have it. Probabilities are those of the softmax over a sentence's own list.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.decoding.host import Integers
from limelight.errors import UserError
from limelight.inference.linear import linear_of
from limelight.models.interface import Seq2Seq
from limelight.models.state import Active
from limelight.models.weights import read_weights, save_weights
from limelight.shapes import Bool, Float, Int
from limelight.tokens import END, UNKNOWN, Tokenizers
from limelight.untrusted import shown

Ids = npt.NDArray[np.integer]

MOST_CANDIDATES = 256
"""For each source piece; more are no shortlist, and of a stranger's file nothing else bounds them."""

LISTED, FEWEST = 8192, 24
"""Candidates of all source pieces at hand together, and of each at least. Many sentences have what one another's pieces
become; one alone has room for more of its own, and needs them."""

VECTOR = 64
"""Columns in whole vectors, of any processor and type."""

_AXES = {"candidates": 2, "always": 1}
"""The tensors of the file."""


@dataclass(frozen=True, slots=True)
class Shortlist:
    """Target pieces for each source piece.

    Attributes:
        candidates: (source pieces, candidates) target ids, the likeliest first; what is left of a row is filled with
            the end.
        always: (pieces,) target ids that are candidates of every sentence. The end and the unknown piece need not be
            among them: they are so all the same.
    """

    candidates: Ids
    always: Ids

    def require_fit(self, sources: int, classes: int, where: str) -> None:
        """Raises `UserError` that begins with `where` unless it is for so many source pieces and target classes."""
        rows, width = self.candidates.shape
        if rows != sources:
            raise UserError(f"{where}: it is for {rows:,} source pieces, and the model has {sources:,}")
        if not 1 <= width <= MOST_CANDIDATES:
            raise UserError(f"{where}: {width:,} candidates for each piece; there are from 1 to {MOST_CANDIDATES}")
        for name, ids in (("candidates", self.candidates), ("always", self.always)):
            if ids.size and not 0 <= ids.min() <= ids.max() < classes:
                outside = ids.min() if ids.min() < 0 else ids.max()
                raise UserError(f"{where}: {name} has the id {outside}, and the model's are from 0 to {classes - 1}")

    def of(self, sources: Iterable[Sequence[int] | Ids], classes: int) -> npt.NDArray[np.bool_]:
        """(classes,) which target pieces any of the sources may become: `LISTED` of them, `FEWEST` of each piece."""
        listed = np.zeros(classes, dtype=bool)
        listed[[END, UNKNOWN]] = True
        listed[self.always] = True
        pieces = np.unique(np.concatenate([np.asarray(source, dtype=np.int64) for source in sources]))
        each = max(FEWEST, LISTED // max(len(pieces), 1))
        listed[self.candidates[pieces, :each]] = True
        return listed


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
    """A model's projection onto the shortlists of the requests at hand."""

    def __init__(self, model: Seq2Seq, shortlist: Shortlist, precision: str) -> None:
        """Raises `UserError` for another vocabulary's shortlist, and for a model that is an ensemble."""
        shortlist.require_fit(model.source_padding, model.output_size, "the shortlist")
        try:
            weights = model.output_weights()
        except TypeError:
            raise UserError(
                "an ensemble takes no shortlist, since it averages the probabilities of all pieces: give one model"
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


def save_shortlist(path: Path, shortlist: Shortlist, tokenizers: Tokenizers) -> None:
    """Write it, with what tells its vocabulary from others. Raises `RunError` naming path and cause when that fails."""
    tensors = {name: torch.from_numpy(getattr(shortlist, name).astype(np.int32)) for name in _AXES}
    save_weights(path, tensors, {"vocabulary": _fingerprint(tokenizers)})


def read_shortlist(path: Path, tokenizers: Tokenizers) -> Shortlist:
    """The shortlist in a file. Raises `UserError` naming it where it is missing, damaged, or for other tokenizers."""
    if not path.exists():
        raise UserError(f"{path}: there is no shortlist yet; `limelight shortlist --model RUN` learns it")
    tensors, notes = read_weights(path, "shortlist")
    faults = [f"{name} is missing" for name in _AXES if name not in tensors]
    faults += [f"unknown {shown(name)}" for name in tensors if name not in _AXES]
    faults += [
        f"{name} is {tensors[name].dtype} of shape {tuple(tensors[name].shape)}, expected int32 with axes: {axes}"
        for name, axes in _AXES.items()
        if name in tensors and (tensors[name].dtype != torch.int32 or tensors[name].ndim != axes)
    ]
    if faults:
        raise UserError(f"{path}: this is no shortlist: {'; '.join(faults[:8])}")
    shortlist = Shortlist(tensors["candidates"].numpy(), tensors["always"].numpy())
    shortlist.require_fit(tokenizers.source.padding, tokenizers.target.padding, str(path))
    if notes.get("vocabulary") != _fingerprint(tokenizers):
        raise UserError(f"{path}: it was learned for another vocabulary; learn it anew with `limelight shortlist`")
    return shortlist


def _fingerprint(tokenizers: Tokenizers) -> str:
    """SHA-256 of the pieces of both sides in the order of their ids."""
    pieces = [tokenizer.pieces(range(tokenizer.size)) for tokenizer in tokenizers]
    return hashlib.sha256(json.dumps(pieces).encode()).hexdigest()
