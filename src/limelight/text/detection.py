"""Which of a few languages a text is in, learned from text of these languages.

Naive Bayes over whole words and character n-grams (Cavnar and Trenkle 1994 rank them; here each has a probability),
of one to four characters with the spaces around words. An n-gram is known by a hash, so that a table has one size
whatever it learned from. N-grams overlap, so their product is far too sure of itself: a temperature brings the
probabilities down to how often the answer is right on text that was held out.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import numpy.typing as npt

MAX_NGRAM = 4
"""Characters of the longest n-gram."""
BUCKETS = 1 << 17
WHOLE_WORDS = 3
"""A word as a whole counts as so many n-grams."""
STEP = 1 / 12
"""Log-probabilities are kept in a byte each, in these steps below 0."""
SMOOTHING = 0.1
"""Added to the count of every bucket."""
MAX_TEXTS = 60_000
"""More texts of a language teach little more."""
HELD_OUT = 50
"""Every text of this number is kept apart to find the temperature."""
TEMPERATURES = tuple(1.25**power for power in range(20))
WORDS = (1, 2, 3, 5, 8)
"""The temperature is found on so many words of each held-out text, in turn."""

RARE = 5
"""A character that stands fewer times in the text of all languages belongs to none of them."""

_OTHER = re.compile(r"[^\w']+")


@dataclass(frozen=True, slots=True)
class LanguageDetector:
    """Learned by `learn_detector`."""

    languages: tuple[str, ...]
    scores: npt.NDArray[np.uint8]
    """(languages, `BUCKETS`): minus the log-probability of an n-gram of that hash, natural logarithm, in `STEP`s."""
    temperature: float
    alphabet: frozenset[str]
    """Characters of the languages, in lower case. Others say nothing."""

    def probabilities(self, text: str) -> dict[str, float]:
        """How likely each language is, from the most to the least likely; all alike where no letter is known."""
        found = _softmax(self._sums(text) / self.temperature)
        order = np.argsort(-found, kind="stable")
        return {self.languages[each]: float(found[each]) for each in order}

    def detect(self, text: str) -> tuple[str, float]:
        """The most likely language and its probability."""
        return next(iter(self.probabilities(text).items()))

    def _sums(self, text: str) -> npt.NDArray[np.float64]:
        known = "".join(each if each in self.alphabet else " " for each in text.lower())
        return -STEP * self.scores[:, list(_hashes(known))].sum(axis=1, dtype=np.float64)


def learn_detector(texts: Mapping[str, Sequence[str]], *, seed: int = 0) -> LanguageDetector:
    """A detector for the languages that are the keys; of each at most `MAX_TEXTS` texts are read.

    Raises `ValueError` for fewer than two languages, and for one without text.
    """
    if len(texts) < 2 or not all(texts.values()):
        raise ValueError(
            f"at least two languages with text are needed, not { ({key: len(texts[key]) for key in texts}) }"
        )
    random = Random(seed)
    counts = np.full((len(texts), BUCKETS), SMOOTHING)
    held_out: list[tuple[int, str]] = []
    characters: Counter[str] = Counter()
    for number, some in enumerate(texts.values()):
        chosen = random.sample(some, MAX_TEXTS) if len(some) > MAX_TEXTS else some
        for place, text in enumerate(chosen):
            characters.update(text.lower())
            if place % HELD_OUT == HELD_OUT - 1:
                held_out.append((number, _part(text, WORDS[len(held_out) % len(WORDS)], random)))
            else:
                np.add.at(counts[number], list(_hashes(text)), 1)
    logarithms = np.log(counts / counts.sum(axis=1, keepdims=True))
    scores = np.clip(np.round(-logarithms / STEP), 0, 255).astype(np.uint8)
    alphabet = frozenset(each for each, count in characters.items() if count >= RARE)
    detector = LanguageDetector(tuple(texts), scores, 1.0, alphabet)
    return replace(detector, temperature=_temperature(detector, held_out))


def _hashes(text: str) -> Iterator[int]:
    """The buckets of all n-grams."""
    spaced = f" {_OTHER.sub(' ', text.lower()).strip()} "
    if spaced.isspace():
        return
    for length in range(1, MAX_NGRAM + 1):
        for start in range(len(spaced) - length + 1):
            yield _bucket(spaced[start : start + length])
    for word in spaced.split():
        if len(word) > MAX_NGRAM - 2:  # with its spaces a shorter one is an n-gram
            yield from [_bucket(f" {word} ")] * WHOLE_WORDS


def _bucket(characters: str) -> int:
    return zlib.crc32(characters.encode("utf-8", "replace")) % BUCKETS


def _part(text: str, count: int, random: Random) -> str:
    """So many words of a text, one after another."""
    words = text.split()
    start = random.randrange(max(1, len(words) - count + 1))
    return " ".join(words[start : start + count])


def _temperature(detector: LanguageDetector, held_out: Sequence[tuple[int, str]]) -> float:
    """With which the right languages are most probable; the highest one where nothing was held out."""
    if not held_out:
        return TEMPERATURES[-1]
    right = np.array([number for number, _ in held_out])
    sums = np.stack([detector._sums(text) for _, text in held_out])

    def surprise(temperature: float) -> float:
        return -float(np.log(_softmax(sums / temperature)[np.arange(len(right)), right] + 1e-30).sum())

    return min(TEMPERATURES, key=surprise)


def _softmax(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    raised = np.exp(sums - sums.max(axis=-1, keepdims=True))
    found: npt.NDArray[np.float64] = raised / raised.sum(axis=-1, keepdims=True)
    return found
