"""From rows of corpora to ids: augmentation, subword sampling, and the tag of the target language.

All functions are pure, so that rows can be drawn in any process.

A process draws 50,000 to 100,000 tokens per second, a GPU trains on many times as many, and threads would share
Python's lock: the processes of `drawing` load tokenizers and map stores by themselves, without torch.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import starmap
from typing import NamedTuple

import numpy as np

from limelight import child
from limelight.batching.ragged import Ragged
from limelight.batching.store import AlignmentStore, TokenStore
from limelight.errors import RunError
from limelight.text.augmentation import Augmented, Languages, augment
from limelight.text.marked_pairs import Alignment
from limelight.tokens import Tokenizers, load_tokenizers, save_tokenizers
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

    @property
    def pairs_per_epoch(self) -> int:
        """All pairs as often as the integer part of the weight says, and a share of them for the rest."""
        return int(self.weight) * len(self.store) + round(self.weight % 1 * len(self.store))

    def rows_of_epoch(self, generator: np.random.Generator) -> np.ndarray:
        """(pairs per epoch,) rows of the store: all of them several times, and random ones for the rest."""
        rows, shuffled = np.arange(len(self.store)), generator.permutation(len(self.store))
        return np.concatenate([np.tile(rows, int(self.weight)), shuffled])[: self.pairs_per_epoch]


class DrawnRows(NamedTuple):
    """Ids of both sides without the end token."""

    sources: Ragged
    targets: Ragged

    def take(self, rows: np.ndarray) -> "DrawnRows":
        """Some rows, in this order."""
        return DrawnRows(self.sources.take(rows), self.targets.take(rows))


@dataclass(frozen=True, slots=True)
class Drawing:
    """How rows are varied when they are drawn.

    Attributes:
        sampling: amount of subword sampling; 0 uses the stored segmentation.
        rates: share of pairs for each augmentation, see `augment`.
        name_lists: lists of names, see `augment`.
        max_length: maximum ids of a side, prefix and end included. A pair that becomes longer is used as stored.
    """

    sampling: float = 0.0
    rates: Mapping[str, float] = field(default_factory=dict)
    max_length: int = 256
    name_lists: Sequence[Sequence[str]] = ()

    @property
    def varies(self) -> bool:
        """Whether rows can differ from the stored ones."""
        return self.sampling > 0 or bool(self.rates)


def stored_rows(views: Sequence[View], chosen: np.ndarray) -> DrawnRows:
    """Rows as stored. `chosen` is (rows, 2): the index of a view, and a row of its store."""
    parts = [(view, chosen[chosen[:, 0] == number, 1]) for number, view in enumerate(views)]
    sources = Ragged.joined(view.store.sources.take(rows).prefixed(view.prefix) for view, rows in parts)
    targets = Ragged.joined(view.store.targets.take(rows) for view, rows in parts)
    back = np.argsort(np.argsort(chosen[:, 0], kind="stable"))
    return DrawnRows(sources, targets).take(back)


def varied_rows(
    views: Sequence[View], tokenizers: Tokenizers, how: Drawing, chosen: np.ndarray, seeds: tuple[int, ...]
) -> DrawnRows:
    """Rows after augmentation and subword sampling; a pure function of its arguments.

    Args:
        seeds: one per side. Augmentation uses the first.
    """
    stored, seen = stored_rows(views, chosen), [views[view] for view, _ in chosen]
    texts = [view.store.text(row) for view, (_, row) in zip(seen, chosen, strict=True)]

    def alignment_of(number: int) -> Alignment:
        alignment = seen[number].alignment
        assert alignment is not None  # preparation aligns the text wherever a rate needs it
        return alignment.of(chosen[number, 1])

    augmented = list(map(Augmented, texts))
    if how.rates:
        languages, tags = [view.languages for view in seen], [view.prefix for view in seen]
        augmented = augment(texts, languages, how.rates, seeds[0], alignment_of, tags, how.name_lists)
    unchanged = np.array([new.pair == text for new, text in zip(augmented, texts, strict=True)], dtype=bool)
    marked = [new.is_marked for new in augmented]
    sides = [
        encode_mixed(tokenizer, [new.pair[side] for new in augmented], marked, amount=how.sampling, seed=seed)
        for side, (tokenizer, seed) in enumerate(zip(tokenizers, seeds, strict=True))
    ]
    sources = [[*view.prefix, *row] for view, row in zip(seen, sides[0], strict=True)]
    drawn = Ragged.of(sources), Ragged.of(sides[1])
    fits = np.stack([side.lengths() < how.max_length for side in drawn])
    fits &= fits.all(axis=0) | unchanged  # texts that were changed together are replaced together
    rows = np.arange(len(chosen)) + len(chosen) * ~fits
    return DrawnRows(
        *(Ragged.joined(both).take(chosen_rows) for *both, chosen_rows in zip(drawn, stored, rows, strict=True))
    )


Part = tuple[np.ndarray, tuple[int, ...]]
"""Rows that are varied together, with their seeds."""
Draw = Callable[[Iterable[Part]], Iterator[DrawnRows]]


@contextmanager
def drawing(views: Sequence[View], tokenizers: Tokenizers, how: Drawing, count: int) -> Iterator[Draw]:
    """A context with a function that computes `varied_rows` of parts, in order: in `count` processes, or in this one.

    They end with the context, and with this process. The function raises `RunError` if one of them has ended.
    """
    if not count:
        yield partial(starmap, partial(varied_rows, views, tokenizers, how))
        return
    with tempfile.TemporaryDirectory(prefix="limelight-") as folder:
        save_tokenizers(tokenizers, folder)
        pool = ProcessPoolExecutor(count, child.PROCESSES, _begin_drawing, (views, folder, how))

        def draw(parts: Iterable[Part]) -> Iterator[DrawnRows]:
            try:
                yield from pool.map(_draw, parts)
            except BrokenProcessPool:
                raise RunError(
                    "a process that draws training text has ended; what was saved is intact. If memory ran out, lower "
                    "training.data_workers"
                ) from None

        try:
            yield draw
        finally:
            pool.shutdown(cancel_futures=True)


_varied: Callable[[np.ndarray, tuple[int, ...]], DrawnRows]
"""In a drawing process: `varied_rows` of its views."""


def _begin_drawing(views: Sequence[View], folder: str, how: Drawing) -> None:
    global _varied
    child.end_with_parent()
    _varied = partial(varied_rows, views, load_tokenizers(folder), how)


def _draw(part: Part) -> DrawnRows:
    return _varied(*part)
