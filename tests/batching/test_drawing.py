"""Rows drawn from stores: what is varied, what stays together, and what stands before a source."""

from pathlib import Path

import numpy as np
import pytest

from limelight.batching.drawing import Drawing, View, stored_rows, varied_rows
from limelight.batching.store import StoreWriter, TokenStore
from limelight.text.augmentation import Languages
from limelight.tokens import Tokenizer, Tokenizers, train_tokenizer

TEXTS = [(f"the cat number {n} sits here.", f"die katze nummer {n} sitzt hier.") for n in range(30)]
SEEDS = (3, 4)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(
        [text for pair in TEXTS for text in pair],
        kind="bpe", vocabulary_size=320, languages=["en", "de"], byte_fallback=True, seed=1, sentences=30,
    )  # fmt: skip


@pytest.fixture(scope="module")
def store(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> TokenStore:
    folder: Path = tmp_path_factory.mktemp("store") / "s"
    sources, targets = map(list, zip(*TEXTS, strict=True))
    with StoreWriter(folder, vocabulary_size=tokenizer.size) as writer:
        writer.append(tokenizer.encode_batch(sources), tokenizer.encode_batch(targets), sources, targets)
        return writer.close("")


def both_ways(store: TokenStore, tokenizer: Tokenizer) -> list[View]:
    return [
        View(store, prefix=(tokenizer.reserved_id("<2de>"),), languages=Languages("en", "de")),
        View(store.reversed(), prefix=(tokenizer.reserved_id("<2en>"),), languages=Languages("de", "en")),
    ]


def all_rows(count: int = 30) -> np.ndarray:
    return np.array([(view, row) for view in range(2) for row in range(count)])


def decoded(tokenizer: Tokenizer, rows: list[np.ndarray]) -> list[str]:
    return [tokenizer.decode([int(number) for number in row]) for row in rows]


def test_stored_rows_have_the_tag_before_the_source_of_each_direction(store: TokenStore, tokenizer: Tokenizer) -> None:
    sources, targets = stored_rows(both_ways(store, tokenizer), all_rows())
    tags = [tokenizer.pieces([int(row[0])])[0] for row in sources]
    assert tags == ["<2de>"] * 30 + ["<2en>"] * 30
    english, german = map(list, zip(*TEXTS, strict=True))
    assert decoded(tokenizer, sources) == english + german
    assert decoded(tokenizer, targets) == german + english


def test_sampled_rows_have_it_too_and_say_the_same(store: TokenStore, tokenizer: Tokenizer) -> None:
    views, rows = both_ways(store, tokenizer), all_rows()
    drawn = varied_rows(views, rows, Tokenizers(tokenizer, tokenizer), Drawing(0.5), SEEDS)
    stored = stored_rows(views, rows)
    assert decoded(tokenizer, drawn.sources) == decoded(tokenizer, stored.sources)
    assert decoded(tokenizer, drawn.targets) == decoded(tokenizer, stored.targets)
    assert [row[0] for row in drawn.sources] == [row[0] for row in stored.sources]
    assert any(len(one) != len(other) for one, other in zip(drawn.sources, stored.sources, strict=True))


def test_augmented_rows_keep_both_sides_together(store: TokenStore, tokenizer: Tokenizer) -> None:
    how = Drawing(0.0, {"uppercase": 0.5})
    sources, targets = varied_rows(
        both_ways(store, tokenizer), all_rows(), Tokenizers(tokenizer, tokenizer), how, SEEDS
    )
    read = list(zip(decoded(tokenizer, sources), decoded(tokenizer, targets), strict=True))
    assert all(source.isupper() == target.isupper() for source, target in read)
    assert {source.isupper() for source, _ in read} == {True, False}


def test_a_pair_that_is_too_long_when_augmented_is_taken_whole_as_it_is_stored(
    store: TokenStore, tokenizer: Tokenizer
) -> None:
    views, rows = both_ways(store, tokenizer), all_rows()
    stored = stored_rows(views, rows)
    longest = max(len(row) for side in stored for row in side)
    how = Drawing(0.0, {"join": 1.0}, max_length=longest + 1)
    drawn = varied_rows(views, rows, Tokenizers(tokenizer, tokenizer), how, SEEDS)
    for side, expected in zip(drawn, stored, strict=True):
        assert [row.tolist() for row in side] == [row.tolist() for row in expected]


def test_a_side_that_is_too_long_when_sampled_is_taken_as_it_is_stored_alone(
    store: TokenStore, tokenizer: Tokenizer
) -> None:
    views, rows = both_ways(store, tokenizer), all_rows()
    stored = stored_rows(views, rows)
    longest = max(len(row) for side in stored for row in side)
    how = Drawing(0.9, max_length=longest + 1)
    drawn = varied_rows(views, rows, Tokenizers(tokenizer, tokenizer), how, SEEDS)
    assert max(len(row) for side in drawn for row in side) <= longest
    assert decoded(tokenizer, drawn.targets) == decoded(tokenizer, stored.targets)


def test_nothing_varies_without_a_rate() -> None:
    assert not Drawing().varies
    assert not Drawing(0.0, {"join": 0.0}).varies
    assert Drawing(0.1).varies
    assert Drawing(0.0, {"join": 0.1}).varies
