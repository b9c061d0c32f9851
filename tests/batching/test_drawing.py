"""Rows drawn from stores: what is varied, what stays together, and what stands before a source."""

from pathlib import Path

import numpy as np
import pytest

from limelight.batching.drawing import Drawing, View, stored_rows, varied_rows
from limelight.batching.store import TokenStore
from limelight.text.augmentation import Languages
from limelight.text.marking import MARK, PLACEHOLDER, placeholder
from limelight.tokens import Tokenizer, Tokenizers, train_tokenizer
from limelight.tokens.marked import decode_marked
from tests.batching.helpers import aligned, store_of

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
    return store_of(folder, sources, targets, Tokenizers(tokenizer, tokenizer))


def both_ways(store: TokenStore, tokenizer: Tokenizer) -> list[View]:
    return [
        View(store, prefix=(tokenizer.reserved_id("<2de>"),), languages=Languages("en", "de")),
        View(store.reversed(), prefix=(tokenizer.reserved_id("<2en>"),), languages=Languages("de", "en")),
    ]


def all_rows(count: int = 30) -> np.ndarray:
    return np.array([(view, row) for view in range(2) for row in range(count)])


def decoded(tokenizer: Tokenizer, rows: list[np.ndarray]) -> list[str]:
    return [tokenizer.decode([int(number) for number in row]) for row in rows]


def test_sampled_rows_have_it_too_and_say_the_same(store: TokenStore, tokenizer: Tokenizer) -> None:
    views, rows = both_ways(store, tokenizer), all_rows()
    drawn = varied_rows(views, Tokenizers(tokenizer, tokenizer), Drawing(0.5), rows, SEEDS)
    stored = stored_rows(views, rows)
    assert decoded(tokenizer, drawn.sources) == decoded(tokenizer, stored.sources)
    assert decoded(tokenizer, drawn.targets) == decoded(tokenizer, stored.targets)
    assert [row[0] for row in drawn.sources] == [row[0] for row in stored.sources]
    assert any(len(one) != len(other) for one, other in zip(drawn.sources, stored.sources, strict=True))


def test_a_pair_that_is_too_long_when_augmented_is_taken_whole_as_it_is_stored(
    store: TokenStore, tokenizer: Tokenizer
) -> None:
    views, rows = both_ways(store, tokenizer), all_rows()
    stored = stored_rows(views, rows)
    longest = max(len(row) for side in stored for row in side)
    how = Drawing(0.0, {"join": 1.0}, max_length=longest + 1)
    drawn = varied_rows(views, Tokenizers(tokenizer, tokenizer), how, rows, SEEDS)
    for side, expected in zip(drawn, stored, strict=True):
        assert [row.tolist() for row in side] == [row.tolist() for row in expected]


def test_a_side_that_is_too_long_when_sampled_is_taken_as_it_is_stored_alone(
    store: TokenStore, tokenizer: Tokenizer
) -> None:
    views, rows = both_ways(store, tokenizer), all_rows()
    stored = stored_rows(views, rows)
    longest = max(len(row) for side in stored for row in side)
    how = Drawing(0.9, max_length=longest + 1)
    drawn = varied_rows(views, Tokenizers(tokenizer, tokenizer), how, rows, SEEDS)
    assert max(len(row) for side in drawn for row in side) <= longest
    assert decoded(tokenizer, drawn.targets) == decoded(tokenizer, stored.targets)


def marking(store: TokenStore, tokenizer: Tokenizer, folder: Path) -> list[View]:
    words = aligned(folder / "words", store)
    there, back = both_ways(store, tokenizer)
    return [there._replace(alignment=words), back._replace(alignment=words.reversed())]


def read(tokenizer: Tokenizer, rows: list[np.ndarray]) -> list[str]:
    return [decode_marked(tokenizer, row.tolist()) for row in rows]


@pytest.mark.parametrize("sampling", [0.0, 0.3])
def test_placeholders_are_drawn_in_both_directions(
    sampling: float, store: TokenStore, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    """The same ones on both sides, as ids; in place of translations; and a tag before every source."""
    views, how = marking(store, tokenizer, tmp_path), Drawing(sampling, {"placeholders": 1.0})
    sources, targets = varied_rows(views, Tokenizers(tokenizer, tokenizer), how, all_rows(), SEEDS)
    tags = [tokenizer.pieces([int(row[0])])[0] for row in sources]
    assert tags == ["<2de>"] * 30 + ["<2en>"] * 30
    words = {"the": "die", "cat": "katze", "number": "nummer", "sits": "sitzt", "here": "hier"}
    words |= {german: english for english, german in words.items()}
    replaced = 0
    for source, target in zip(read(tokenizer, sources), read(tokenizer, targets), strict=True):
        marks = PLACEHOLDER.findall(source)
        assert marks
        assert marks == sorted(marks)
        assert PLACEHOLDER.findall(target) == marks
        for word in words.keys() - set(source.replace(".", "").split()):
            replaced += word not in source and words[word] not in target
    assert replaced > 20


def test_marks_in_text_are_ids_only_where_augmentation_put_them(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """A private-use character of the corpus stays text, be its pair drawn beside others that get marks."""
    sources = [f"the cat {placeholder(5)} sits", "the <ph7> cat"]
    targets = [f"die katze {placeholder(5)} sitzt", "die <ph7> katze"]
    store = store_of(tmp_path / "s", sources, targets, Tokenizers(tokenizer, tokenizer))
    [view] = [View(store, languages=Languages("en", "de"), alignment=aligned(tmp_path / "words", store))]
    rows = np.array([(0, row % 2) for row in range(60)])
    rates = {"placeholders": 0.5, "terms": 0.3, "uppercase": 0.2}
    drawn = varied_rows([view], Tokenizers(tokenizer, tokenizer), Drawing(0.0, rates), rows, SEEDS)
    control = {tokenizer.reserved_id(f"<ph{number}>") for number in range(32)}
    with_marks = [bool(control & set(row.tolist())) for row in drawn.sources]
    assert not any(with_marks[::2])
    assert 15 < sum(with_marks[1::2]) <= 30
    assert any("<ph7>" in text for text in read(tokenizer, drawn.targets)[1::2])
    assert all(len(MARK.findall(tokenizer.decode(row.tolist()))) == 1 for row in list(drawn.targets)[::2])
