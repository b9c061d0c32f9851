"""From rows of corpora to ids: augmentation, subword sampling, and the tag of the target language.

All functions are pure, so that rows can be drawn in any process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from limelight.batching.store import AlignmentStore, TokenStore
from limelight.text.augmentation import MARKING, Augmented, Languages, augment
from limelight.text.marking import Alignment
from limelight.text.pair import Sides
from limelight.tokens import Tokenizers
from limelight.tokens.marked import encode_mixed


class View(NamedTuple):
    """A tokenized corpus in one direction of a run."""

    store: TokenStore
    weight: float = 1.0
    """How often an epoch contains each pair."""
    prefix: tuple[int, ...] = ()
    """Ids before every source: the tag of the target language if the model has several directions, and the tag of
    back-translated text."""
    languages: Languages = Languages("", "")
    alignment: AlignmentStore | None = None
    """Word alignments of the pairs, if the augmentations need them."""


class DrawnRows(NamedTuple):
    """Ids of both sides without the end token, row by row."""

    sources: list[np.ndarray]
    targets: list[np.ndarray]


@dataclass(frozen=True, slots=True)
class Drawing:
    """How rows are varied when they are drawn.

    Attributes:
        sampling: amount of subword sampling; 0 uses the stored segmentation.
        rates: share of pairs for each augmentation, see `augment`; empty for none.
        max_length: maximum ids of a side, prefix and end included. A pair that becomes longer is used as stored.
    """

    sampling: float = 0.0
    rates: Mapping[str, float] = field(default_factory=dict)
    max_length: int = 256

    @property
    def varies(self) -> bool:
        """Whether rows can differ from the stored ones."""
        return self.sampling > 0 or any(rate > 0 for rate in self.rates.values())

    @property
    def marks(self) -> bool:
        """Whether it inserts marks into the text, which requires word alignments and reserved tokens."""
        return any(self.rates.get(name, 0.0) > 0 for name in MARKING)


def stored_rows(views: Sequence[View], chosen: np.ndarray) -> DrawnRows:
    """Rows as stored. `chosen` is (rows, 2): the index of a view, and a row of its store."""
    return DrawnRows(
        [_prefixed(views[view], views[view].store.sources[row]) for view, row in chosen],
        [views[view].store.targets[row] for view, row in chosen],
    )


def varied_rows(
    views: Sequence[View], chosen: np.ndarray, tokenizers: Tokenizers, how: Drawing, seeds: tuple[int, int]
) -> DrawnRows:
    """Rows after augmentation and subword sampling; a pure function of its arguments.

    Args:
        seeds: one per side. Augmentation uses the first.
    """
    stored, texts = stored_rows(views, chosen), texts_of(views, chosen)
    augmented = augmented_pairs(views, chosen, texts, how, seeds[0])
    changed = [each.pair != text for each, text in zip(augmented, texts, strict=True)]
    marked = [each.is_marked for each in augmented]
    sides = [
        encode_mixed(tokenizer, [each.pair[side] for each in augmented], marked, amount=how.sampling, seed=seed)
        for side, (tokenizer, seed) in enumerate(zip(tokenizers, seeds, strict=True))
    ]
    sources = [_prefixed(views[view], row) for (view, _), row in zip(chosen, sides[0], strict=True)]
    drawn = zip(sources, (np.asarray(row, dtype=np.int64) for row in sides[1]), strict=True)
    kept = [
        _fitting(fresh, old, how.max_length, together=together)
        for fresh, old, together in zip(drawn, zip(*stored, strict=True), changed, strict=True)
    ]
    return DrawnRows([source for source, _ in kept], [target for _, target in kept])


def augmented_pairs(
    views: Sequence[View], chosen: np.ndarray, texts: Sequence[Sides], how: Drawing, seed: int
) -> list[Augmented]:
    """The texts of these rows after augmentation, as in `varied_rows`."""
    marked = marked_of(views, chosen)
    if not how.rates:
        return [Augmented(text, marked=is_marked) for text, is_marked in zip(texts, marked, strict=True)]

    def alignment_of(place: int) -> Alignment:
        view, row = chosen[place]
        alignment = views[view].alignment
        if alignment is None:
            raise ValueError(f"{' and '.join(MARKING)} need word alignments, and there are none")
        return alignment.of(row)

    seen = [views[view] for view, _ in chosen]
    languages, tags = [view.languages for view in seen], [view.prefix for view in seen]
    return augment(texts, languages, how.rates, seed, alignment_of, tags, marked)


def _fitting(
    fresh: tuple[np.ndarray, np.ndarray], stored: tuple[np.ndarray, np.ndarray], most: int, *, together: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The drawn pair, with sides that became too long replaced by the stored ones. If both were changed `together`,
    both are replaced, as they would otherwise no longer match."""
    fits = [len(side) < most for side in fresh]
    if together and not all(fits):
        return stored
    return (fresh[0] if fits[0] else stored[0], fresh[1] if fits[1] else stored[1])


def _prefixed(view: View, row: Sequence[int] | np.ndarray) -> np.ndarray:
    ids = np.asarray(row, dtype=np.int64)
    return np.concatenate([np.array(view.prefix, dtype=np.int64), ids]) if view.prefix else ids


def texts_of(views: Sequence[View], chosen: np.ndarray) -> list[Sides]:
    """Texts of rows in several stores, in the order of the rows."""
    texts = [Sides("", "")] * len(chosen)
    for number, view in enumerate(views):
        places = np.flatnonzero(chosen[:, 0] == number)
        for place, source, target in zip(places, *view.store.texts(chosen[places, 1]), strict=True):
            texts[place] = Sides(source, target)
    return texts


def marked_of(views: Sequence[View], chosen: np.ndarray) -> list[bool]:
    """Whether the texts of each row contain marks."""
    marked = np.zeros(len(chosen), dtype=bool)
    for number, view in enumerate(views):
        places = np.flatnonzero(chosen[:, 0] == number)
        marked[places] = view.store.are_marked(chosen[places, 1])
    return marked.tolist()
