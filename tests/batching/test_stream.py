"""Every stream is a pure function of text, settings, seed and position, with plans that tell the size of batches."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from limelight.batching.batch import Batch
from limelight.batching.blocks import BlockStream
from limelight.batching.drawing import Drawing, View
from limelight.batching.ragged import Ragged
from limelight.batching.store import TokenStore
from limelight.batching.stream import BatchStream, Chunk, LabelStream, OneProcess, Position, Stream
from limelight.config import AugmentationConfig
from limelight.errors import UserError
from limelight.text.augmentation import ALIGNED, Languages
from limelight.tokens import Tokenizers
from tests.batching import test_masking
from tests.batching.helpers import BEGINNING, LETTERS, Letters, epoch_of, same, store_of, taken, written

RATES = dict.fromkeys(
    AugmentationConfig().rates.keys() - {*ALIGNED, "figures", "formality"}, 0.3
)  # `Letters` has no reserved tokens
TEXT = np.arange(173, dtype="<u2")
WEIGHTS = (2.0, 0.5, 1.5)
Make = Callable[[Path, int], Stream]


def stores_in(folder: Path) -> list[TokenStore]:
    """Sources are a mark and their number, so that each can be told from every other."""
    stores = []
    for mark, count in zip("abc", (23, 40, 7), strict=True):
        sources = [mark + str(number) for number in range(count)]
        stores.append(store_of(folder / mark, sources, [each * (1 + n % 5) for n, each in enumerate(sources)]))
    return stores


def stream_of(stores: list[TokenStore], seed: int = 5, **drawing: object) -> BatchStream:
    views = [
        View(store, weight, languages=Languages("en", "de")) for store, weight in zip(stores, WEIGHTS, strict=True)
    ]
    return BatchStream(views, LETTERS, tokens=40, seed=seed, chunk_pairs=19, drawing=Drawing(max_length=30, **drawing))


def labels(folder: Path, seed: int) -> LabelStream:
    texts = [f"a{number}" for number in range(50)]
    sources = map(LETTERS.source.encode, texts)
    pairs = zip(sources, [[number] for number in range(50)], texts, texts, strict=True)
    return LabelStream([View(written(folder / "store", pairs))], LETTERS, tokens=40, seed=seed, chunk_pairs=19)


STREAMS: dict[str, Make] = {
    "stored pairs": lambda folder, seed: stream_of(stores_in(folder), seed),
    "varied pairs": lambda folder, seed: stream_of(stores_in(folder), seed, sampling=0.3, rates=RATES),
    "labels": labels,
    "shuffled blocks": lambda _, seed: BlockStream(TEXT, tokens=21, block=5, seed=seed),
    "masked": lambda _, seed: test_masking.stream(seed=seed),
}


@pytest.fixture(params=STREAMS)
def make(request: pytest.FixtureRequest) -> Make:
    return STREAMS[request.param]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[TokenStore]:
    return stores_in(tmp_path_factory.mktemp("stores"))


def test_from_every_position_the_rest_is_the_same(make: Make, seed: int, tmp_path: Path) -> None:
    """Over the borders of chunks and of an epoch; positions rise; torch's generator is neither used nor moved."""
    stream, state = make(tmp_path, seed), torch.get_rng_state()
    whole = taken(stream, 60)
    assert whole[-1][1].epoch >= 1
    assert all(one < other for (_, one), (_, other) in pairwise(whole))
    torch.manual_seed(seed + 1)
    for number in range(0, len(whole) - 12, 7):
        again = taken(stream, 12, whole[number][1])
        assert all(same(one, other) for one, other in zip(again, whole[number + 1 :], strict=False))
    torch.manual_seed(seed)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_seed_and_an_epoch_are_an_order(make: Make, seed: int, tmp_path: Path) -> None:
    orders = set()
    for number, epoch in ((seed, 0), (seed, 1), (seed + 1, 0)):
        (folder := tmp_path / f"{number}-{epoch}").mkdir()
        found = taken(make(folder, number), 3, Position(epoch))
        orders.add(str([(batch.source.tolist(), batch.target_out.tolist()) for batch, _ in found]))
    assert len(orders) == 3


def test_plans_tell_the_size_of_their_batches_and_an_epoch_their_number(make: Make, seed: int, tmp_path: Path) -> None:
    stream, count = make(tmp_path, seed), 0
    with closing(stream.plans(BEGINNING)) as plans:
        for plan in plans:
            batch, count = plan.make(), count + 1
            assert plan.target_tokens == batch.target_tokens
            assert 0 <= plan.positions - batch.positions <= len(batch.target_out)  # of labels it is an estimate
            if plan.after.epoch:
                break
    if make not in (STREAMS["varied pairs"], labels):  # which is counted before rows are varied
        assert stream.batches_per_epoch() == pytest.approx(count, rel=0.3, abs=1)


@pytest.mark.parametrize("size", [2, 3])
def test_processes_take_turns_in_making_chunks(stores: list[TokenStore], size: int) -> None:
    """Threads stand for processes; all get the stream of one."""
    expected = taken(stream_of(stores, sampling=0.3), 50)
    meeting, passed, made = threading.Barrier(size, timeout=60), dict[int, Chunk](), [0] * size

    class Turns(OneProcess):
        def __init__(self, rank: int) -> None:
            self.rank, self.size = rank, size

        def exchange(self, own: Iterator[Chunk]) -> Iterator[Chunk]:
            while True:
                for maker in range(self.size):
                    if maker == self.rank:
                        with suppress(CancelledError):  # the stream is closed
                            passed[maker] = next(own)
                            made[maker] += 1
                    meeting.wait()
                    received = passed[maker]
                    meeting.wait()
                    yield received

    def seen(rank: int) -> list[tuple[Batch, Position]]:
        with closing(stream_of(stores, sampling=0.3).plans(BEGINNING, Turns(rank))) as plans:
            return [(plan.make(), plan.after) for plan in islice(plans, len(expected))]

    with ThreadPoolExecutor(size) as processes:
        for found in processes.map(seen, range(size)):
            assert all(same(one, other) for one, other in zip(found, expected, strict=True))
    assert max(made) - min(made) <= 1 <= min(made)


def test_each_corpus_is_seen_as_often_as_its_weight_says(stores: list[TokenStore]) -> None:
    for epoch in range(2):
        seen = Counter(
            tuple(row[valid].tolist())
            for batch in epoch_of(stream_of(stores), epoch)
            for row, valid in zip(batch.source, batch.source_valid, strict=True)
        )
        of_corpus = [[seen[(*corpus.sources[row].tolist(), 0)] for row in range(len(corpus))] for corpus in stores]
        assert of_corpus[0] == [2] * 23
        assert sorted(of_corpus[1]) == [0] * 20 + [1] * 20
        assert sorted(of_corpus[2]) == [1] * 3 + [2] * 4  # round(0.5 * 7) = 4
        assert sum(seen.values()) == sum(map(sum, of_corpus))


def test_an_epoch_has_every_text_with_its_label(seed: int, tmp_path: Path) -> None:
    rows = [
        (int(label), ids[valid].tolist())
        for batch in epoch_of(labels(tmp_path, seed))
        for label, ids, valid in zip(batch.target_out[:, 0], batch.source, batch.source_valid, strict=True)
    ]
    assert sorted(rows) == [(number, [*LETTERS.source.encode(f"a{number}"), 0]) for number in range(50)]


@pytest.mark.parametrize("batches_taken", [0, 1, 5])
def test_no_thread_is_left_when_the_stream_is_closed(stores: list[TokenStore], batches_taken: int) -> None:
    taken(stream_of(stores, sampling=0.3), batches_taken)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("batches")]


def test_an_error_in_the_thread_reaches_the_caller(stores: list[TokenStore]) -> None:
    class Broken(Letters):
        def encode_sampled(self, texts, *, amount, seed):
            raise OSError("disk gone")

    broken = BatchStream([View(stores[0])], Tokenizers(Broken(), Broken()), tokens=40, seed=1, drawing=Drawing(0.1))
    with pytest.raises(OSError, match="disk gone"):
        taken(broken, 1)


def test_nothing_to_train_on() -> None:
    with pytest.raises(UserError, match="nothing to train on: no pair is left"):
        BatchStream([View(TokenStore(*[Ragged.of([])] * 4))], LETTERS, tokens=40, seed=1)
