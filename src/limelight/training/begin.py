"""Begin a run with the weights and the vocabulary of an existing model, instead of random weights."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from unicodedata import normalize

import numpy as np
from torch import Tensor

from limelight.batching.store import TokenStore
from limelight.errors import UserError
from limelight.files import write_whole
from limelight.models.interface import Model
from limelight.models.transformer.encoder_only import Classifier
from limelight.preparation.pairs import Say
from limelight.storage.layout import CARD, LABELS, WEIGHTS, find_model
from limelight.storage.weights import expand, named_weights, put_weights, read_weights
from limelight.text.labels import read_labels
from limelight.tokens import Tokenizer, Tokenizers
from limelight.tokens.tokenizer import UNKNOWN, byte_of
from limelight.untrusted import read_plain

PARENT = "parent.md"
"""The card of the model that a run began with, in the run folder."""
MAX_POOR = 0.02
"""Share of unknown tokens above which there is a warning."""
COUNTED = 1_000_000
SAMPLED = 20_000
"""Pairs of each corpus in which unknown characters are looked for."""
NAMED = 12
"""Characters that a warning names, the most frequent first."""
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
        poor = [number == UNKNOWN or bool(byte_of(piece)) for number, piece in enumerate(pieces)]
        share = counts[poor].sum() / max(1, counts.sum())
        if share > MAX_POOR:
            signs = _missing(tokenizer, _texts(stores, side))
            letters = sum(count for sign, count in signs.items() if sign.isalpha())
            why = "it was made for text in another language or script"
            if 2 * letters < signs.total():
                why = "they are signs rather than letters; its text had few of them or none"
            yield (
                f"warning: {100 * share:.1f} % of the {side} tokens are characters that the vocabulary of {begin_with} "
                f"does not have (unknown, or spelled in bytes): "
                f"{' '.join(sign for sign, _ in signs.most_common(NAMED))}; {why}"
            )


def _texts(stores: Sequence[TokenStore], side: str) -> Iterator[str]:
    """Texts of a side, evenly from each store."""
    for store in stores:
        rows = np.unique(np.linspace(0, max(0, len(store) - 1), min(len(store), SAMPLED)).astype(np.int64))
        yield from store.texts(rows)[0 if side == "source" else 1]


def _missing(tokenizer: Tokenizer, texts: Iterable[str]) -> Counter[str]:
    """The characters that a tokenizer does not know, counted."""
    found = Counter(sign for text in texts for sign in normalize("NFC", text) if sign.isprintable() and sign != " ")

    def is_poor(sign: str) -> bool:
        return any(piece == UNKNOWN or byte_of(name) for piece, name in _pieces(tokenizer, sign))

    return Counter({sign: count for sign, count in found.items() if is_poor(sign)})


def _pieces(tokenizer: Tokenizer, text: str) -> Iterator[tuple[int, str]]:
    ids = tokenizer.encode(text)
    return zip(ids, tokenizer.pieces(ids), strict=True)


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
