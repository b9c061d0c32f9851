"""Begin a run with the weights and the vocabulary of an existing model, instead of random weights."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from torch import Tensor

from limelight.batching.store import TokenStore
from limelight.errors import UserError
from limelight.files import write_whole
from limelight.models.interface import Model
from limelight.models.transformer.encoder_only import Classifier
from limelight.preparation.pairs import Say
from limelight.storage.compact import expand
from limelight.storage.layout import CARD, LABELS, WEIGHTS, find_model
from limelight.storage.weights import named_weights, put_weights, read_weights
from limelight.text.labels import read_labels
from limelight.tokens import Tokenizers
from limelight.tokens.tokenizer import UNKNOWN
from limelight.untrusted import read_plain

PARENT = "parent.md"
"""The card of the model that a run began with, in the run folder."""
MAX_POOR = 0.02
"""Share of unknown tokens above which there is a warning."""
COUNTED = 1_000_000
_BYTE = re.compile("<0x[0-9A-F]{2}>")
MAX_CARD = 4_000_000
"""Maximum bytes of a card, which includes those of its parents."""
HEAD = "output."
"""Prefix of the weights of a classifier's last layer."""


def borrow_weights(model: Model, begin_with: str, say: Say) -> None:
    """Copy the weights of another model, and report which weights are new and which are not used.

    A classifier takes the encoder of a masked model, or all but the last layer of a classifier with other labels.
    Raises `UserError` if no weights fit, or one has another shape.
    """
    place = find_model(begin_with)
    theirs = expand(read_weights(place / WEIGHTS)[0], where=str(place / WEIGHTS))
    if isinstance(model, Classifier) and (place / LABELS).is_file() and read_labels(place / LABELS) != model.labels:
        theirs = {name: tensor for name, tensor in theirs.items() if not name.startswith(HEAD)}
        say(f"the labels are not those of {begin_with}: the last layer begins with random weights")
    own = named_weights(model)
    _require_shapes(own, theirs, begin_with)
    taken = {name: theirs[name] for name in own if name in theirs}
    if not taken:
        raise UserError(f"{begin_with}: none of its weights fits this model; choose the recipe it was trained with")
    put_weights(model, {**own, **taken}, where=str(place / WEIGHTS))
    told = f"beginning with {len(taken)} of {len(theirs)} weights of {begin_with}"
    told += _listed("new are", own.keys() - taken.keys())
    say(told + _listed("left out are", theirs.keys() - taken.keys()))


def vocabulary_warnings(begin_with: str, tokenizers: Tokenizers, stores: Sequence[TokenStore]) -> Iterator[str]:
    """A warning for each side whose text the vocabulary of the other model does not cover: too many unknown characters,
    or characters spelled in bytes. Only the first million tokens of each corpus are counted."""
    for side, tokenizer in zip(("source", "target"), tokenizers, strict=True):
        rows = (store.sources if side == "source" else store.targets for store in stores)
        counts = np.sum([np.bincount(each.values[:COUNTED], minlength=tokenizer.size) for each in rows], axis=0)
        pieces = tokenizer.pieces(range(tokenizer.size))
        poor = [number == UNKNOWN or bool(_BYTE.fullmatch(piece)) for number, piece in enumerate(pieces)]
        share = counts[poor].sum() / max(1, counts.sum())
        if share > MAX_POOR:
            yield (
                f"warning: {100 * share:.1f} % of the {side} tokens are characters that the vocabulary of {begin_with} "
                "does not have (unknown, or spelled in bytes): it was made for text in another language or script"
            )


def keep_parent_card(begin_with: str, folder: Path) -> None:
    """Copy the other model's card into a run folder, for the cards of the run; the model may be removed later."""
    try:
        card = read_plain(find_model(begin_with) / CARD, MAX_CARD).decode("utf-8", errors="replace")
    except OSError:
        card = ""
    write_whole(folder / PARENT, card)


def parent_card(folder: Path) -> str:
    """The card that `keep_parent_card` copied; empty if there is none."""
    path = folder / PARENT
    return read_plain(path, MAX_CARD).decode("utf-8") if path.is_file() else ""


def _require_shapes(own: Mapping[str, Tensor], theirs: Mapping[str, Tensor], begin_with: str) -> None:
    """Raise `UserError` for a weight of another shape."""
    other = [
        f"{name} is {tuple(theirs[name].shape)} there, {tuple(tensor.shape)} here"
        for name, tensor in own.items()
        if name in theirs and theirs[name].shape != tensor.shape
    ]
    if other:
        raise UserError(f"{begin_with}: its weights do not fit this model: {'; '.join(other[:5])}")


def _listed(what: str, names: set[str]) -> str:
    if not names:
        return ""
    return f"; {what} {', '.join(sorted(names)[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"
