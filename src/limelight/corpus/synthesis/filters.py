"""Inputs and translations that are left out of training text, and the choice of a translation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from itertools import islice

import numpy as np

from limelight.corpus.synthesis.job import Input
from limelight.evaluation.metrics import SAMPLE, choose_tokenization, sentence_scorer
from limelight.pipelines.translator import Translation
from limelight.text.checks import find_loop
from limelight.text.clean import differ_in_length
from limelight.tokens import normalize


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


REASONS = {
    "blank": "the input is blank",
    "duplicate": "the input was seen before",
    "too_long": "the input is too long",
    "empty": "the translation is empty",
    "unfinished": "the translation has no end: it met its length limit",
    "loop": "the translation repeats the same words",
    "length_ratio": "the sides differ too much in length",
    "copy": "the translation is the input",
}
"""Why an input has no pair in the new corpus, in the order in which the reasons are tried."""


def fault(source: str, translation: str, *, finished: bool, max_length_ratio: float) -> str:
    """The name of the first of `REASONS` that holds for a translation; empty for a good one."""
    if not translation:
        return "empty"
    if not finished:
        return "unfinished"
    if find_loop(source, translation):
        return "loop"
    if differ_in_length(source, translation, max_length_ratio):
        return "length_ratio"
    return "copy" if translation == normalize(source) else ""


Choose = Callable[[Translation, str], Translation]
"""A translation with its alternatives, and a reference, to one of them."""


def best(translation: Translation, _reference: str) -> Translation:
    """What the model ranks first."""
    return translation


def most_similar(metric: str, tokenize: str) -> Choose:
    """Takes the one with the highest sentence BLEU or chrF against the reference; of equal ones, and where there is no
    reference, what the model ranks first."""
    score = sentence_scorer(metric, tokenize=tokenize)

    def choose(translation: Translation, reference: str) -> Translation:
        if not reference.strip():
            return translation
        return max((translation, *translation.alternatives), key=lambda each: score(each.text, reference))

    return choose


def tokenization_for(language: str, inputs: Iterable[Input]) -> str:
    """BLEU's tokenization of translations into `language`, which the references decide where it has no name."""
    return choose_tokenization(language, [each.reference for each in islice(inputs, SAMPLE)]).name
