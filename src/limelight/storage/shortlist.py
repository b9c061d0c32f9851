"""A shortlist and its file: the target tokens that each source token most likely becomes.

`preparation/shortlist.py` learns it, `decoding/shortlist.py` projects onto it.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

from limelight.errors import UserError
from limelight.storage.weights import read_weights, save_weights
from limelight.tokens import END, UNKNOWN, Tokenizers
from limelight.untrusted import shown

Ids = npt.NDArray[np.integer]

MAX_CANDIDATES = 256
"""For each source token; more are no shortlist, and nothing else bounds those of an untrusted file."""

LISTED, FEWEST = 8192, 24
"""Candidates of all present source tokens together, and of each at least. Many sentences have what one another's tokens
become; one alone has room for more of its own, and needs them."""

_AXES = {"candidates": 2, "always": 1}
"""The tensors of the file."""


@dataclass(frozen=True, slots=True)
class Shortlist:
    """Target tokens for each source token.

    Attributes:
        candidates: (source tokens, candidates) target ids, the likeliest first; what is left of a row is filled with
            the end.
        always: (tokens,) target ids that are candidates of every sentence. The end and the unknown token need not be
            among them: they are so all the same.
    """

    candidates: Ids
    always: Ids

    def require_fit(self, sources: int, classes: int, where: str) -> None:
        """Raises `UserError` that begins with `where` unless it is for so many source tokens and target classes."""
        rows, width = self.candidates.shape
        if rows != sources:
            raise UserError(f"{where}: it is for {rows:,} source tokens, and the model has {sources:,}")
        if not 1 <= width <= MAX_CANDIDATES:
            raise UserError(f"{where}: {width:,} candidates for each token; there are from 1 to {MAX_CANDIDATES}")
        for name, ids in (("candidates", self.candidates), ("always", self.always)):
            if ids.size and not 0 <= ids.min() <= ids.max() < classes:
                outside = ids.min() if ids.min() < 0 else ids.max()
                raise UserError(f"{where}: {name} has the id {outside}, and the model's are from 0 to {classes - 1}")

    def of(self, sources: Iterable[Sequence[int] | Ids], classes: int) -> npt.NDArray[np.bool_]:
        """(classes,) which target tokens any of the sources may become: `LISTED` of them, `FEWEST` of each token."""
        listed = np.zeros(classes, dtype=bool)
        listed[[END, UNKNOWN]] = True
        listed[self.always] = True
        pieces = np.unique(np.concatenate([np.asarray(source, dtype=np.int64) for source in sources]))
        each = max(FEWEST, LISTED // max(len(pieces), 1))
        listed[self.candidates[pieces, :each]] = True
        return listed


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
        raise UserError(f"{path}: not a shortlist: {'; '.join(faults[:8])}")
    shortlist = Shortlist(tensors["candidates"].numpy(), tensors["always"].numpy())
    shortlist.require_fit(tokenizers.source.padding, tokenizers.target.padding, str(path))
    if notes.get("vocabulary") != _fingerprint(tokenizers):
        raise UserError(f"{path}: it was learned for another vocabulary; learn it again with `limelight shortlist`")
    return shortlist


def _fingerprint(tokenizers: Tokenizers) -> str:
    """SHA-256 of the tokens of both sides in the order of their ids."""
    pieces = [tokenizer.pieces(range(tokenizer.size)) for tokenizer in tokenizers]
    return hashlib.sha256(json.dumps(pieces).encode()).hexdigest()
