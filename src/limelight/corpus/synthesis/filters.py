"""Filters for inputs and translations, and selection among alternatives."""

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
    """A set of texts, stored as 64-bit hashes: for n texts the probability of any false match is about n^2 / 2^65, 3 in
    a million for ten million texts.

    The hashes are sorted in runs, each less than half as long as the one before, so that adding a text costs a search
    in each of a few runs, and an occasional merge.
    """

    def __init__(self) -> None:
        self._runs: list[np.ndarray] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, texts: Sequence[str]) -> list[bool]:
        """For each text, whether it is new: not added before, and not earlier in `texts`."""
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
"""Why an input has no pair in the new corpus, in the order of the checks."""


def fault(source: str, translation: str, *, finished: bool, max_length_ratio: float) -> str:
    """The first of `REASONS` that applies to a translation; empty if it is good."""
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
"""Selects one of a translation and its alternatives, given a reference."""


def best(translation: Translation, _reference: str) -> Translation:
    """The translation that the model ranks first."""
    return translation


def most_similar(metric: str, tokenize: str) -> Choose:
    """Selects the alternative with the highest sentence BLEU or chrF against the reference. In case of ties, or without
    a reference, the model's ranking decides."""
    score = sentence_scorer(metric, tokenize=tokenize)

    def choose(translation: Translation, reference: str) -> Translation:
        if not reference.strip():
            return translation
        return max((translation, *translation.alternatives), key=lambda each: score(each.text, reference))

    return choose


def tokenization_for(language: str, inputs: Iterable[Input]) -> str:
    """BLEU's tokenization of translations into `language`; if the language is not named, the references decide."""
    return choose_tokenization(language, [each.reference for each in islice(inputs, SAMPLE)]).name
