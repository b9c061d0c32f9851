"""What holds for every stream: a pure function of text, settings and position, with plans that tell the size."""

from collections.abc import Callable
from contextlib import closing
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from limelight.batching.batch import Batch
from limelight.batching.blocks import ContinuousBlocks, ShuffledBlocks
from limelight.batching.drawing import Drawing, View
from limelight.batching.store import StoreWriter
from limelight.batching.stream import LabelStream, Position, Stream
from tests.batching import test_masking, test_stream

TEXT = np.arange(173, dtype="<u2")
Make = Callable[[Path, int], Stream]


def pairs(folder: Path, seed: int, **changed: object) -> Stream:
    stores = [test_stream.store(folder / mark, count, mark) for mark, count in zip("abc", (23, 40, 7), strict=True)]
    return test_stream.stream(stores, seed=seed, **changed)


def labels(folder: Path, seed: int) -> Stream:
    texts, letters = [f"a{number}" for number in range(50)], test_stream.LETTERS
    with StoreWriter(folder / "store", vocabulary_size=41) as writer:
        rows = letters.source.encode_batch(texts)
        writer.append(rows, [[number] for number in range(50)], texts, texts)
        view = View(writer.close(""))
    return LabelStream([view], letters, tokens=40, seed=seed, drawing=Drawing(0.3, max_length=30), chunk_pairs=19)


STREAMS: dict[str, Make] = {
    "stored pairs": lambda folder, seed: pairs(folder, seed, sampling=0.0),
    "varied pairs": lambda folder, seed: pairs(folder, seed, rates=test_stream.RATES),
    "labels": labels,
    "shuffled blocks": lambda _, seed: ShuffledBlocks(TEXT, tokens=21, block=5, seed=seed),
    "continuous blocks": lambda _, seed: ContinuousBlocks(TEXT, tokens=21, block=5, seed=seed),
    "masked": lambda _, seed: test_masking.stream(seed=seed),
}


@pytest.fixture(params=STREAMS)
def make(request: pytest.FixtureRequest) -> Make:
    return STREAMS[request.param]


def taken(stream: Stream, position: Position, count: int) -> list[tuple[Batch, Position]]:
    with closing(stream.batches(position)) as batches:
        return list(islice(batches, count))


def same(one: tuple[Batch, Position], other: tuple[Batch, Position]) -> bool:
    tensors = all(torch.equal(getattr(one[0], name), getattr(other[0], name)) for name in Batch.__slots__[:5])
    return tensors and one[1] == other[1]


def test_from_every_position_the_rest_is_the_same(make: Make, seed: int, tmp_path: Path) -> None:
    """Over the borders of chunks and of an epoch; positions rise; torch's generator is neither used nor moved."""
    stream, state = make(tmp_path, seed), torch.get_rng_state()
    whole = taken(stream, Position(), 60)
    assert whole[-1][1].epoch >= 1
    assert all(one < other for (_, one), (_, other) in pairwise(whole))
    torch.manual_seed(seed + 1)
    for number in range(0, len(whole) - 12, 7):
        again = taken(stream, whole[number][1], 12)
        assert all(same(one, other) for one, other in zip(again, whole[number + 1 :], strict=False))
    torch.manual_seed(seed)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_seed_and_an_epoch_are_an_order(make: Make, seed: int, tmp_path: Path) -> None:
    """But for text that is read in order."""
    epochs = {}
    for number, position in ((seed, Position()), (seed, Position(1)), (seed + 1, Position())):
        (tmp_path / f"{number}-{position.epoch}").mkdir()
        found = taken(make(tmp_path / f"{number}-{position.epoch}", number), position, 3)
        epochs[number, position] = [(batch.source.tolist(), batch.target_out.tolist()) for batch, _ in found]
    distinct = [epoch for place, epoch in enumerate(epochs.values()) if epoch not in list(epochs.values())[:place]]
    assert len(distinct) == (1 if make is STREAMS["continuous blocks"] else 3)


def test_plans_tell_the_size_of_their_batches_and_an_epoch_their_number(make: Make, seed: int, tmp_path: Path) -> None:
    stream, count = make(tmp_path, seed), 0
    with closing(stream.plans(Position())) as plans:
        for plan, after in plans:
            batch, count = plan.make(), count + 1
            assert plan.target_tokens == batch.target_tokens
            assert 0 <= plan.positions - batch.positions <= len(batch.target_out)  # of labels it is an estimate
            if after.epoch:
                break
    if make not in (STREAMS["varied pairs"], labels):  # which is counted before rows are varied
        assert stream.batches_per_epoch() == pytest.approx(count, rel=0.3, abs=1)
