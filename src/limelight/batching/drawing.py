"""From rows of corpora to ids: augmentation, subword sampling, and the tag of the target language.

All functions are pure, so that rows can be drawn in any process.

A process draws 50,000 to 100,000 tokens per second, a GPU trains on many times as many, and threads would share
Python's lock: `DrawingPool` draws in child processes (`child.py`), which load tokenizers and map stores by themselves,
without torch.
"""

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from limelight.batching.ragged import Ragged
from limelight.batching.store import AlignmentStore, TokenStore, open_alignments, open_marked, open_ragged
from limelight.child import Child, ChildEndedError, Frame, Handler, Header
from limelight.errors import RunError
from limelight.text.augmentation import ALIGNED, MARKING, Augmented, Languages, augment
from limelight.text.marking import Alignment
from limelight.text.pair import Sides
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
    similar: np.ndarray | None = None
    """For each row that of a similar pair, or -1; if the augmentations need it."""


class DrawnRows(NamedTuple):
    """Ids of both sides without the end token."""

    sources: Ragged
    targets: Ragged


@dataclass(frozen=True, slots=True)
class Drawing:
    """How rows are varied when they are drawn.

    Attributes:
        sampling: amount of subword sampling; 0 uses the stored segmentation.
        rates: share of pairs for each augmentation, see `augment`; empty for none.
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
        return self.sampling > 0 or any(rate > 0 for rate in self.rates.values())

    @property
    def marks(self) -> bool:
        """Whether it inserts marks into the text, which requires reserved tokens."""
        return any(self.rates.get(name, 0.0) > 0 for name in (*MARKING, "figures"))

    @property
    def aligns(self) -> bool:
        """Whether it needs word alignments."""
        return any(self.rates.get(name, 0.0) > 0 for name in ALIGNED)


def stored_rows(views: Sequence[View], chosen: np.ndarray) -> DrawnRows:
    """Rows as stored. `chosen` is (rows, 2): the index of a view, and a row of its store."""
    order = np.argsort(chosen[:, 0], kind="stable")
    rows = [(view, chosen[chosen[:, 0] == number, 1]) for number, view in enumerate(views)]
    sources = Ragged.joined(view.store.sources.take(some).prefixed(view.prefix) for view, some in rows)
    targets = Ragged.joined(view.store.targets.take(some) for view, some in rows)
    back = np.argsort(order, kind="stable")
    return DrawnRows(sources.take(back), targets.take(back))


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
    sources = [[*views[view].prefix, *row] for (view, _), row in zip(chosen, sides[0], strict=True)]
    drawn = DrawnRows(Ragged.of(sources), Ragged.of(sides[1]))
    fits = np.stack([side.lengths() < how.max_length for side in drawn])
    fits &= fits.all(axis=0) | ~np.array(changed, dtype=bool)  # texts that were changed together are replaced together
    return DrawnRows(*map(fitting, drawn, stored, fits))


def fitting(drawn: Ragged, stored: Ragged, fits: np.ndarray) -> Ragged:
    """The drawn rows, and stored ones in place of those that became too long."""
    if fits.all():
        return drawn
    return Ragged.joined([drawn, stored]).take(np.arange(len(drawn)) + len(drawn) * ~fits)


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
            raise ValueError(f"{', '.join(ALIGNED)} need word alignments, and there are none")
        return alignment.of(row)

    def similar_of(place: int) -> str:
        view, row = chosen[place]
        store, rows = views[view].store, views[view].similar
        other = -1 if rows is None else int(rows[row])
        return store.texts(np.array([other]))[1][0] if other >= 0 else ""

    seen = [views[view] for view, _ in chosen]
    languages, tags = [view.languages for view in seen], [view.prefix for view in seen]
    return augment(texts, languages, how.rates, seed, alignment_of, tags, marked, similar_of, how.name_lists)


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


SILENCE = 300.0
"""Seconds without an answer after which a process is killed."""


class DrawingPool:
    """A pool of processes that compute `varied_rows`; `close` ends them.

    Raises `RunError` if one of them cannot start.
    """

    def __init__(self, views: Sequence[View], tokenizers: Tokenizers, how: Drawing, *, processes: int) -> None:
        self._idle: SimpleQueue[Child] = SimpleQueue()
        self._all: list[Child] = []
        self._threads = ThreadPoolExecutor(processes, thread_name_prefix="drawers")
        with tempfile.TemporaryDirectory(prefix="limelight-") as folder:
            save_tokenizers(tokenizers, folder)
            opening = {
                "tokenizers": folder,
                "views": [_described(view) for view in views],
                "how": {
                    "sampling": how.sampling,
                    "rates": dict(how.rates),
                    "max_length": how.max_length,
                    "name_lists": [list(names) for names in how.name_lists],
                },
            }
            try:
                self._all = [Child(f"{__name__}:{drawer.__name__}", silence=SILENCE) for _ in range(processes)]
                for _ in self._threads.map(lambda child: _called(child, opening), self._all):
                    pass
                for child in self._all:
                    self._idle.put(child)
            except BaseException:
                self.close()
                raise

    def draw(self, chosen: np.ndarray, seeds: tuple[int, int]) -> Future[DrawnRows]:
        """A future of `varied_rows` for these rows; its result raises `RunError` if a process failed."""
        return self._threads.submit(self._draw, chosen, seeds)

    def close(self) -> None:
        """Kill the processes and wait for them."""
        for child in self._all:
            child.process.kill()
        self._threads.shutdown(cancel_futures=True)
        for child in self._all:
            child.close()

    def _draw(self, chosen: np.ndarray, seeds: tuple[int, int]) -> DrawnRows:
        child = self._idle.get()
        try:
            _, drawn = _called(child, {"seeds": seeds}, chosen.astype("<i8").tobytes())
        finally:
            self._idle.put(child)
        numbers = np.frombuffer(drawn, dtype="<i4")
        count = len(chosen)
        rows = Ragged.of_lengths(numbers[2 * count :].astype(np.int64), numbers[: 2 * count])
        return DrawnRows(rows.take(np.arange(count)), rows.take(np.arange(count, 2 * count)))


def _called(child: Child, header: Header, payload: bytes = b"") -> Frame:
    try:
        return child.call(header, payload)
    except ChildEndedError as error:
        raise RunError(
            f"a process that draws training text has ended ({error}); what was saved is intact. If memory ran out, "
            "lower training.data_workers"
        ) from None
    except RunError as error:
        raise RunError(f"a process that draws training text failed: {error}") from None


def _described(view: View) -> dict[str, Any]:
    store = view.store
    parts = store.sources, store.targets, store.source_texts, store.target_texts
    words = view.alignment
    return {
        "files": [(str(part.place), part.values.dtype.str) for part in parts],
        "prefix": [int(number) for number in view.prefix],
        "languages": view.languages,
        "similar": str(view.similar.filename) if isinstance(view.similar, np.memmap) else None,
        "words": [str(words.links.place.parent), words.turned] if words and words.links.place else None,
    }


# --- in the child ---


def drawer() -> Handler:
    """The handler in the child: the first call opens tokenizers and stores, later calls draw rows.

    The answer to a draw contains the lengths of all source rows and all target rows, then their ids, as int32.
    """
    opened: list[tuple[list[View], Tokenizers, Drawing]] = []

    def answer(header: Header, payload: bytes) -> Frame:
        if not opened:
            views = [_view(**each) for each in header["views"]]
            opened.append((views, load_tokenizers(header["tokenizers"]), Drawing(**header["how"])))
            return {}, b""
        chosen = np.frombuffer(payload, dtype="<i8").reshape(-1, 2)
        rows = Ragged.joined(varied_rows(opened[0][0], chosen, *opened[0][1:], tuple(header["seeds"])))
        return {}, rows.lengths().astype("<i4").tobytes() + rows.values.astype("<i4").tobytes()

    return answer


def _view(
    files: list[tuple[str, str]],
    prefix: list[int],
    languages: list[str],
    words: tuple[str, bool] | None,
    similar: str | None,
) -> View:
    places = [(Path(place), dtype) for place, dtype in files]
    parts = [open_ragged(place.parent, place.name, dtype) for place, dtype in places]
    store = TokenStore(*parts, marked=open_marked(places[0][0].parent))
    alignment = None
    if words:
        folder, turned = words
        alignment = open_alignments(Path(folder))
        alignment = alignment.reversed() if turned else alignment
    near = np.load(similar, mmap_mode="r", allow_pickle=False) if similar else None
    return View(store, 1.0, tuple(prefix), Languages(*languages), alignment, near)
