"""Which texts were seen before, in eight bytes for each."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np


class Seen:
    """Remembers texts by hashes of 64 bits: among n texts some are wrongly taken for seen with a chance of about
    n^2 / 2^65, 3 in a million for ten million texts.

    The hashes are sorted in runs, each less than half as long as the one before, so that adding a text costs a
    search in each of a few runs, and now and then a merge.
    """

    def __init__(self) -> None:
        self._runs: list[np.ndarray] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, texts: Sequence[str]) -> list[bool]:
        """For each text whether it is new, to this object and among the texts before it."""
        keys = np.array([_key(text) for text in texts], dtype=np.uint64)
        new = np.zeros(len(keys), dtype=bool)
        new[np.unique(keys, return_index=True)[1]] = True
        for run in self._runs:
            new &= run[np.minimum(np.searchsorted(run, keys), len(run) - 1)] != keys
        if new.any():
            self._runs.append(np.sort(keys[new]))
        while len(self._runs) > 1 and len(self._runs[-2]) <= 2 * len(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1] = np.sort(np.concatenate([self._runs[-1], last]), kind="stable")
        return [bool(each) for each in new]


def _key(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
