"""Rows drawn by other processes are those that are drawn here, and no process outlives the iterator."""

import random
from itertools import islice
from multiprocessing import active_children
from pathlib import Path

import numpy as np
import pytest

from limelight.batching.drawing import Drawing, View, drawing
from limelight.batching.store import TokenStore
from limelight.batching.stream import BatchStream
from limelight.config import AugmentationConfig
from limelight.errors import RunError
from limelight.text.augmentation import Languages
from limelight.tokens import Tokenizers, train_tokenizer
from tests.batching.helpers import BEGINNING, aligned, same, store_of, taken
from tests.forked import PROCESSES

WORDS = ["small", "birds", "carry", "seven", "stones", "Meadowlark", "bridge", "while", "Orla", "counts", "41", "boats"]
HOW = Drawing(0.3, dict.fromkeys(AugmentationConfig().rates, 0.2), max_length=40)
COUNT = 60


@pytest.fixture(autouse=True)
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of the processes has to import what it needs."""
    monkeypatch.setattr("limelight.child.PROCESSES", PROCESSES)


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    generator = random.Random(3)
    return [" ".join(generator.choices(WORDS, k=generator.randint(2, 9))) + "." for _ in range(300)]


@pytest.fixture(scope="module")
def tokenizers(sentences: list[str]) -> Tokenizers:
    both = train_tokenizer(
        sentences, kind="bpe", vocabulary_size=None, languages=["en", "de"], byte_fallback=False, seed=1,
        sentences=len(sentences),
    )  # fmt: skip
    return Tokenizers(both, both)


@pytest.fixture(scope="module")
def views(tokenizers: Tokenizers, sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> list[View]:
    """A corpus in both directions, the second with a tag before its sources, and another one."""
    stores = [
        stored(tmp_path_factory.mktemp("stores") / str(number), tokenizers, part)
        for number, part in enumerate((sentences[:170], sentences[170:]))
    ]
    tag = (tokenizers.source.reserved_id("<2en>"),)
    words = [
        aligned(tmp_path_factory.mktemp("words") / str(number), store, turned=True)
        for number, store in enumerate(stores)
    ]
    return [
        View(stores[0], languages=Languages("en", "de"), alignment=words[0]),
        View(stores[0].reversed(), 0.5, tag, Languages("de", "en"), words[0].reversed()),
        View(stores[1], 1.5, alignment=words[1]),
    ]


def stored(folder: Path, tokenizers: Tokenizers, sources: list[str]) -> TokenStore:
    targets = [source.upper() if number % 2 else source[::-1] for number, source in enumerate(sources)]
    return store_of(folder, sources, targets, tokenizers)


def stream(views: list[View], tokenizers: Tokenizers, processes: int, how: Drawing = HOW) -> BatchStream:
    return BatchStream(views, tokenizers, tokens=400, seed=5, drawing=how, chunk_pairs=110, processes=processes)


def test_batches_do_not_depend_on_how_many_processes_draw_them(
    views: list[View], tokenizers: Tokenizers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the beginning and from any position on; parts are small, so that all processes have something to do."""
    monkeypatch.setattr("limelight.batching.stream.DRAWN_PAIRS", 13)
    expected = taken(stream(views, tokenizers, 0), COUNT)
    assert expected[-1][1].epoch >= 1
    for processes in (1, 3):
        found = taken(stream(views, tokenizers, processes), COUNT)
        assert all(same(one, other) for one, other in zip(found, expected, strict=True))
    place = random.randrange(COUNT - 10)
    print("taken up after", place)
    again = taken(stream(views, tokenizers, 2), 9, expected[place][1])
    assert all(same(one, other) for one, other in zip(again, expected[place + 1 :], strict=False))


def test_processes_end_with_the_iterator(views: list[View], tokenizers: Tokenizers) -> None:
    before = len(active_children())
    batches = stream(views, tokenizers, 2).plans(BEGINNING)
    next(batches)
    assert len(active_children()) > before
    batches.close()
    assert len(active_children()) == before


def test_a_process_that_is_killed_ends_the_run_with_a_reason(views: list[View], tokenizers: Tokenizers) -> None:
    """By whoever runs out of memory, for one."""
    others = set(active_children())
    batches = stream(views, tokenizers, 2).plans(BEGINNING)
    next(batches)
    for process in set(active_children()) - others:
        process.kill()
    with pytest.raises(RunError, match=r"draws training text has ended.* lower training.data_workers"):
        list(islice(batches, 1000))
    assert set(active_children()) <= others


def test_an_error_in_a_process_reaches_the_caller(views: list[View], tokenizers: Tokenizers) -> None:
    with drawing(views, tokenizers, HOW, 1) as draw, pytest.raises(IndexError):
        next(draw([(np.array([[7, 0]]), (1, 2))]))
