"""A step scores the pieces that the sentences at hand may become, instead of the whole vocabulary.

Each source piece has the target pieces it most likely becomes, and some pieces are always there
(`training/shortlist.py` learns both). The sentences that are decoded together share their lists: what any of them may
become is scored for all. Probabilities are those of the softmax over these pieces alone.
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

from limelight.decoding.search import Integers
from limelight.errors import UserError
from limelight.inference.linear import linear_of
from limelight.models.interface import Seq2Seq
from limelight.models.weights import read_weights, save_weights
from limelight.tokens import END, UNKNOWN, Tokenizers
from limelight.untrusted import shown

Ids = npt.NDArray[np.integer]

MOST_CANDIDATES = 256
"""For each source piece; more are no shortlist, and of a stranger's file nothing else bounds them."""

LISTED, FEWEST = 8192, 24
"""Candidates of all source pieces at hand together, and of each at least. Many sentences have what one another's pieces
become; one alone has room for more of its own, and needs them."""

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
    ids: Integers | None = None
    """The target id of each column, rising; None where the columns are the ids."""


class ShortOutput:
    """A model's projection onto the shortlist of the sentences at hand."""

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

    def onto(self, sources: Iterable[Sequence[int]], forced: Iterable[Sequence[int]]) -> Output:
        """For these sources; the target pieces that are forced on them are on their list, whatever they are."""
        listed = self.shortlist.of(sources, self.classes)
        for prefix in forced:
            listed[list(prefix)] = True
        ids = np.flatnonzero(listed)
        return Output(self.linear.some(torch.from_numpy(ids).to(self.device)), ids)


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
