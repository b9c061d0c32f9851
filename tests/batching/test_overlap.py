"""Which pairs are in the training text too: against a plain search, at random."""

import random
from pathlib import Path

import pytest

from limelight.batching.store import StoreWriter, TokenStore
from limelight.preparation.hold_out import Overlap, find_overlap, fold
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
    monkeypatch.setattr("limelight.preparation.hold_out._ROWS", rows)
    chance = random.Random(seed)

    def drawn(count: int) -> list[tuple[str, str]]:
        words = ["a", "A", "b  b", "b b", "é", "e\u0301", "", "ß"]
        return [(chance.choice(words) + str(chance.randrange(6)), chance.choice(words)) for _ in range(count)]

    corpora, valid = [drawn(40), drawn(5)], drawn(30)
    known = {(fold(source), fold(target)) for corpus in corpora for source, target in corpus}
    sources = {source for source, _ in known}
    whole = [(fold(source), fold(target)) in known for source, target in valid]
    halves = [fold(source) in sources and not both for (source, _), both in zip(valid, whole, strict=True)]
    stores = [store_of(tmp_path / str(number), corpus) for number, corpus in enumerate(corpora)]
    found = find_overlap(stores, as_pairs(valid))
    assert (found.total, found.pairs, found.sources) == (30, sum(whole), sum(halves))
    flags = whole if any(whole) else halves
    expected = [pair for pair, flag in zip(as_pairs(valid), flags, strict=True) if flag]
    assert found.examples == tuple(expected[:3])


def test_the_warning_counts_and_names_places() -> None:
    pairs = tuple(as_pairs([("a dog runs", "x"), ("c" * 99, "y")]))
    assert Overlap(9, 0, 0, ()).warning("test") == ""
    assert Overlap(1000, 2, 3, pairs).warning("validation") == (
        "warning: 2 of 1,000 validation pairs are in the training text too, and so are the sources of 3 more, so the "
        "scores will look better than on unseen text; for example valid.tsv:1 ('a dog runs'), "
        f"valid.tsv:2 ('{'c' * 60}...')"
    )
    assert (
        Overlap(5, 1, 0, pairs[:1])
        .warning("test")
        .startswith("warning: 1 of 5 test pairs are in the training text too, so the scores")
    )
    assert (
        Overlap(5, 0, 1, pairs[:1])
        .warning("test")
        .startswith("warning: the sources of 1 of 5 test pairs are in the training text too, so the scores")
    )


def test_marks_of_the_training_text_make_no_difference(tmp_path: Path) -> None:
    mark = placeholder(0)
    with StoreWriter(tmp_path / "s", vocabulary_size=9) as writer:
        writer.append([[1]] * 2, [[1]] * 2, [f"a{mark} lamp", "x"], [f"eine {mark}Lampe", "y"], [True, False])
        store = writer.close("")
    assert find_overlap([store], as_pairs([("a lamp", "eine Lampe")])).pairs == 1
