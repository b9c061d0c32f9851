"""The stream: a pure function of corpora, seed and position."""

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path

import pytest
import torch

from limelight.batching.batch import Batch
from limelight.batching.drawing import Drawing, View
from limelight.batching.store import StoreWriter, TokenStore
from limelight.batching.stream import BatchStream, Chunk, Position, Relay
from limelight.config import AugmentationConfig
from limelight.errors import UserError
from limelight.text.augmentation import ALIGNED, Languages
from limelight.tokens import Tokenizers

BEGINNING = Position()
RATES = dict.fromkeys(
    AugmentationConfig().rates.keys() - {*ALIGNED, "figures"}, 0.3
)  # `Letters` has no reserved tokens
EN_DE = Languages("en", "de")
SIZES = (23, 40, 7)  # pairs in each corpus
WEIGHTS = (2.0, 0.5, 1.5)


class Letters:
    """A token for each letter; sampling drops letters, as the seed says."""

    kind, size, padding = "letters", 41, 40

    def encode(self, text: str) -> list[int]:
        return [2 + ord(letter) % 37 for letter in text]

    def encode_batch(self, texts):
        return [self.encode(text) for text in texts]

    def encode_sampled(self, texts, *, amount, seed):
        generator = torch.Generator().manual_seed(seed)
        kept = [torch.rand(len(text) + 1, generator=generator)[1:] >= amount for text in texts]
        return [[piece for piece, keep in zip(self.encode(text), keeps, strict=True) if keep]
                for text, keeps in zip(texts, kept, strict=True)]  # fmt: skip

    def decode(self, ids):
        raise NotImplementedError

    pieces = word_of = save = reserved_id = decode


LETTERS = Tokenizers(Letters(), Letters())


def store(folder: Path, count: int, mark: str) -> TokenStore:
    """Sources are the mark and their number, so that each can be told from every other."""
    sources = [mark + str(number) for number in range(count)]
    targets = [source * (1 + number % 5) for number, source in enumerate(sources)]
    with StoreWriter(folder, vocabulary_size=41) as writer:
        writer.append(LETTERS.source.encode_batch(sources), LETTERS.target.encode_batch(targets), sources, targets)
        return writer.close("")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[TokenStore]:
    folder = tmp_path_factory.mktemp("stores")
    return [store(folder / mark, count, mark) for mark, count in zip("abc", SIZES, strict=True)]


def stream(stores: list[TokenStore], **changed: object) -> BatchStream:
    settings = {"tokens": 40, "seed": 5, "chunk_pairs": 19, "sampling": 0.3, "weights": WEIGHTS, **changed}
    drawing = Drawing(settings.pop("sampling"), settings.pop("rates", {}), max_length=30)
    return BatchStream(views(stores, settings.pop("weights")), LETTERS, drawing=drawing, **settings)


def views(stores: list[TokenStore], weights: Sequence[float] = WEIGHTS) -> list[View]:
    return [View(store, weight, languages=EN_DE) for store, weight in zip(stores, weights, strict=True)]


def take(
    stream: BatchStream, position: Position = BEGINNING, *, epochs: int, most: int = 10**9
) -> list[tuple[Position, Batch, Position]]:
    """Position before, batch, position after, until so many epochs are over, or there are so many batches."""
    found = []
    batches = stream.batches(position)
    for batch, after in batches:
        found.append((position, batch, after))
        position = after
        if position.epoch == epochs or len(found) == most:
            break
    batches.close()
    return found


def same(one: Batch, other: Batch) -> bool:
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in Batch.__slots__[:5])


def sources_in(batches: list[Batch]) -> Counter[tuple[int, ...]]:
    return Counter(
        tuple(row[valid].tolist())
        for batch in batches
        for row, valid in zip(batch.source, batch.source_valid, strict=True)
    )


@pytest.mark.parametrize("size", [2, 3])
def test_processes_take_turns_in_making_chunks(stores: list[TokenStore], size: int) -> None:
    """Threads stand for processes; all get the stream of one."""
    expected = take(stream(stores), epochs=2)
    meeting, passed, made = threading.Barrier(size, timeout=60), dict[int, Chunk | None](), [0] * size

    class Turns(Relay):
        def __init__(self, rank: int) -> None:
            self.rank, self.size = rank, size

        def pass_on(self, chunk: Chunk | None, maker: int) -> Chunk | None:
            if maker == self.rank:
                made[maker] += chunk is not None
                passed[maker] = chunk
            meeting.wait()
            received = passed[maker]
            meeting.wait()
            return received

    def seen(rank: int) -> list[tuple[Batch, Position]]:
        with closing(stream(stores).plans(BEGINNING, Turns(rank))) as plans:
            return [(plan.make(), after) for plan, after in islice(plans, len(expected))]

    with ThreadPoolExecutor(size) as processes:
        for found in processes.map(seen, range(size)):
            assert [after for _, after in found] == [after for _, _, after in expected]
            assert all(same(batch, other) for (batch, _), (_, other, _) in zip(found, expected, strict=True))
    assert max(made) - min(made) <= 1 <= min(made)


def test_each_corpus_is_seen_as_often_as_its_weight_says(stores: list[TokenStore]) -> None:
    found = take(stream(stores, sampling=0.0), epochs=2)
    for epoch in range(2):
        seen = sources_in([batch for position, batch, _ in found if position.epoch == epoch])
        of_corpus = [[seen[(*corpus.sources[row].tolist(), 0)] for row in range(len(corpus))] for corpus in stores]
        assert of_corpus[0] == [2] * 23
        assert sorted(of_corpus[1]) == [0] * 20 + [1] * 20
        assert sorted(of_corpus[2]) == [1] * 3 + [2] * 4  # round(0.5 * 7) = 4
        assert sum(seen.values()) == sum(map(sum, of_corpus))


@pytest.mark.parametrize("batches_taken", [0, 1, 5])
def test_no_thread_is_left_when_the_stream_is_closed(stores: list[TokenStore], batches_taken: int) -> None:
    batches = stream(stores).batches(Position())
    for _ in range(batches_taken):
        next(batches)
    batches.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("batches")]


def test_an_error_in_the_thread_reaches_the_caller(stores: list[TokenStore]) -> None:
    class Broken(Letters):
        def encode_sampled(self, texts, *, amount, seed):
            raise OSError("disk gone")

    broken = BatchStream(views(stores), Tokenizers(Broken(), Broken()), tokens=40, seed=1, drawing=Drawing(0.1))
    with pytest.raises(OSError, match="disk gone"):
        next(broken.batches(Position()))


def test_nothing_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing to train on: no pair is left"):
        stream([store(tmp_path / "s", 0, "x")], weights=[1.0])
