"""Texts with labels as batches: every text with its own label, once an epoch, from any position on."""

from collections import Counter
from pathlib import Path

import pytest

from limelight.batching.batch import Batch, begun, label_batch
from limelight.batching.drawing import Drawing, View
from limelight.batching.store import StoreWriter, TokenStore
from limelight.batching.stream import LabelStream, Position
from limelight.tokens import END, Tokenizers, normalize, train_tokenizer

TEXTS = [f"{'abcd efg'[: number % 8]} {number * 7919 % 101}" for number in range(83)]


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    both = train_tokenizer(
        TEXTS, kind="bpe", vocabulary_size=None, languages=(), byte_fallback=False, seed=1, sentences=83
    )
    return Tokenizers(both, both)


@pytest.fixture(scope="module")
def store(tokenizers: Tokenizers, tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    """Each text, with its number as label."""
    place: Path = tmp_path_factory.mktemp("stores") / "train-0"
    with StoreWriter(place, vocabulary_size=tokenizers.source.size) as writer:
        rows = [begun(row) for row in tokenizers.source.encode_batch(TEXTS)]
        writer.append(rows, [[number] for number in range(len(rows))], TEXTS, ["label"] * len(TEXTS))
        return writer.close("fingerprint")


def stream(store: TokenStore, tokenizers: Tokenizers, seed: int, **changed: object) -> LabelStream:
    settings = {"tokens": 70, "seed": seed, "chunk_pairs": 19, "sampling": 0.0, "max_length": 25, **changed}
    drawing = Drawing(settings.pop("sampling"), max_length=settings.pop("max_length"))
    return LabelStream([View(store)], tokenizers, drawing=drawing, **settings)


def take(labels: LabelStream, position: Position | None = None, *, most: int = 10**9) -> list[tuple[Position, Batch]]:
    """From a position to the end of the second epoch, or until there are so many batches."""
    found, position = [], position or Position()
    generator = labels.batches(position)
    for batch, after in generator:
        found.append((position, batch))
        position = after
        if position.epoch == 2 or len(found) == most:
            break
    generator.close()
    return found


def rows_of(batch: Batch) -> list[tuple[int, tuple[int, ...]]]:
    return [
        (int(label), tuple(ids[valid].tolist()))
        for label, ids, valid in zip(batch.target_out[:, 0], batch.source, batch.source_valid, strict=True)
    ]


def test_a_batch_asks_for_one_thing_of_each_text() -> None:
    batch = label_batch([begun([5, 6]), begun([7])], [4, 3], padding=9)
    assert batch.source.tolist() == [[END, 5, 6, END], [END, 7, END, 9]]
    assert batch.source_valid.tolist() == [[True] * 4, [True, True, True, False]]
    assert batch.target_in.shape == (2, 0)
    assert batch.target_out.tolist() == [[4], [3]]
    assert batch.target_valid.tolist() == [[True], [True]]
    assert batch.target_tokens == 2


def test_an_epoch_has_every_text_with_its_label(store: TokenStore, tokenizers: Tokenizers, seed: int) -> None:
    expected = Counter((number, (END, *row, END)) for number, row in enumerate(tokenizers.source.encode_batch(TEXTS)))
    whole = take(stream(store, tokenizers, seed))
    for epoch in range(2):
        assert Counter(row for place, batch in whole if place.epoch == epoch for row in rows_of(batch)) == expected


def test_sampling_segments_texts_anew_and_leaves_labels(store: TokenStore, tokenizers: Tokenizers, seed: int) -> None:
    whole = take(stream(store, tokenizers, seed, sampling=0.5))
    segmented = [{label: row for place, batch in whole if place.epoch == epoch for label, row in rows_of(batch)}
                 for epoch in range(2)]  # fmt: skip
    assert segmented[0] != segmented[1]
    for rows in segmented:
        assert sorted(rows) == list(range(len(TEXTS)))
        for label, row in rows.items():
            assert row[0] == row[-1] == END
            assert tokenizers.source.decode(row) == normalize(TEXTS[label])
            assert len(row) <= 25
