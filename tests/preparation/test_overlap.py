"""Which pairs are in the training text too."""

from pathlib import Path

import pytest

from limelight.batching.store import TokenStore
from limelight.preparation.hold_out import overlap_warning
from limelight.text.pair import Pair
from tests.batching.helpers import written


def store_of(folder: Path, pairs: list[tuple[str, str]]) -> TokenStore:
    return written(folder, [([1], [1], *pair) for pair in pairs])


def as_pairs(pairs: list[tuple[str, str]]) -> list[Pair]:
    return [Pair(source, target, "valid.tsv", number) for number, (source, target) in enumerate(pairs, start=1)]


def test_the_warning_counts_and_names_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.batching.store.GROUP", 1)
    pairs = as_pairs([("a dog runs", "x"), ("c" * 99, "y"), ("new", "z")])
    store = store_of(tmp_path / "store", [("A dog runs", "x"), ("c" * 99, "other")])
    assert overlap_warning([store], pairs, "validation") == (
        "warning: the sources of 2 of 3 validation pairs are in the training text too, so the scores will look better "
        f"than on unseen text; for example valid.tsv:1 ('a dog runs'), valid.tsv:2 ('{'c' * 60}...')"
    )
    assert overlap_warning([store], [], "test") == overlap_warning([], pairs, "test") == ""
