"""Which pairs are in the training text too: against a plain search, at random."""

import random
from pathlib import Path

import pytest

from limelight.batching.store import StoreWriter, TokenStore
from limelight.preparation.hold_out import find_overlap, fold, overlap_warning
from limelight.text.marking import placeholder
from limelight.text.pair import Pair


def store_of(folder: Path, pairs: list[tuple[str, str]]) -> TokenStore:
    ids = [[1]] * len(pairs)
    with StoreWriter(folder, vocabulary_size=9) as writer:
        writer.append(ids, ids, [source for source, _ in pairs], [target for _, target in pairs])
        return writer.close("fingerprint")


def as_pairs(pairs: list[tuple[str, str]]) -> list[Pair]:
    return [Pair(source, target, "valid.tsv", number) for number, (source, target) in enumerate(pairs, start=1)]


@pytest.mark.parametrize("rows", [1, 7, 10_000])
def test_it_finds_what_a_plain_search_finds(
    rows: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("limelight.preparation.hold_out.ROWS", rows)
    chance = random.Random(seed)

    def drawn(count: int) -> list[tuple[str, str]]:
        words = ["a", "A", "b  b", "b b", "é", "e\u0301", "", "ß"]
        return [(chance.choice(words) + str(chance.randrange(6)), chance.choice(words)) for _ in range(count)]

    corpora, valid = [drawn(40), drawn(5)], as_pairs(drawn(30))
    known = {fold(source) for corpus in corpora for source, _ in corpus}
    expected = [pair for pair in valid if fold(pair.source) in known]
    assert find_overlap((source for corpus in corpora for source, _ in corpus), valid) == expected
    stores = [store_of(tmp_path / str(number), corpus) for number, corpus in enumerate(corpora)]
    assert f"the sources of {len(expected)} of 30 test pairs" in overlap_warning(stores, valid, "test")


def test_the_warning_counts_and_names_places(tmp_path: Path) -> None:
    pairs = as_pairs([("a dog runs", "x"), ("c" * 99, "y"), ("new", "z")])
    store = store_of(tmp_path / "store", [("A dog runs", "x"), ("c" * 99, "other")])
    assert overlap_warning([store], pairs, "validation") == (
        "warning: the sources of 2 of 3 validation pairs are in the training text too, so the scores will look better "
        f"than on unseen text; for example valid.tsv:1 ('a dog runs'), valid.tsv:2 ('{'c' * 60}...')"
    )
    assert overlap_warning([store], [], "test") == overlap_warning([], pairs, "test") == ""


def test_marks_of_the_training_text_make_no_difference(tmp_path: Path) -> None:
    mark = placeholder(0)
    with StoreWriter(tmp_path / "s", vocabulary_size=9) as writer:
        writer.append([[1]] * 2, [[1]] * 2, [f"a{mark} lamp", "x"], [f"eine {mark}Lampe", "y"], [True, False])
        store = writer.close("")
    assert "the sources of 1 of 1" in overlap_warning([store], as_pairs([("a lamp", "eine Lampe")]), "test")
