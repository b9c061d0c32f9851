"""Similar pairs of the training text, for `augmentation.memory`: the most similar other pair of each one, found once
and stored beside the token stores (Bulte and Tezcan 2019, "Neural Fuzzy Repair").
"""

import io
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from limelight.batching.store import TokenStore, described
from limelight.files import write_whole
from limelight.preparation.hold_out import DATA
from limelight.text.pair import Pair
from limelight.text.translation_memory import TranslationMemory, fuzzy_match, index_pairs

Say = Callable[[str], None]
GROUP = 10_000


def find_similar(stores: Sequence[TokenStore], run: Path, say: Say) -> list[np.ndarray]:
    """For each store the row of the most similar other pair of each of its rows, and -1 for rows without one; mapped
    from disk."""
    return [_similar(store, run / DATA / f"train-{number}", say) for number, store in enumerate(stores)]


def _similar(store: TokenStore, folder: Path, say: Say) -> np.ndarray:
    fingerprint = str(described(folder)["fingerprint"])
    place = folder.with_name(f"{folder.name}-similar-{fingerprint[:16]}.npy")
    if not place.exists():
        with tempfile.TemporaryDirectory(prefix="limelight-") as name:
            index = Path(name) / "index"
            index_pairs(index, _pairs(store))
            memory = TranslationMemory(index)
            rows = np.fromiter((_row(memory, pair.source) for pair in _pairs(store)), dtype=np.int32, count=len(store))
            memory.close()
        content = io.BytesIO()
        np.save(content, rows, allow_pickle=False)
        write_whole(place, content.getvalue())
        say(f"{folder.name}: {np.count_nonzero(rows >= 0):,} of {len(rows):,} pairs have a similar one")
    found: np.ndarray = np.load(place, mmap_mode="r", allow_pickle=False)
    return found


def _row(memory: TranslationMemory, source: str) -> int:
    """The row of the most similar pair with another source. The pair itself, and others with the same source, would
    teach the model to copy."""
    match = fuzzy_match(memory, source)
    return int(match.origin.rpartition(":")[2]) - 1 if match else -1


def _pairs(store: TokenStore) -> Iterator[Pair]:
    for first in range(0, len(store), GROUP):
        rows = np.arange(first, min(first + GROUP, len(store)))
        for row, source, target in zip(rows, *store.texts(rows), strict=True):
            yield Pair(source, target, "", int(row) + 1)
