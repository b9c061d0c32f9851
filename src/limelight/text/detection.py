"""Language identification among a few languages, learned from text in these languages.

Naive Bayes over whole words and character n-grams (Cavnar and Trenkle 1994 rank them; here each has a probability),
of one to four characters with the spaces around words. N-grams are hashed into a table of fixed size. N-grams overlap,
so the product of their probabilities is overconfident: a temperature, fitted on held-out text, calibrates it.

Text in any other language has n-grams that are rare in all of these. It is a class of its own, which gives each n-gram
the same probability (`LanguageDetector.other`), a little less than n-grams of held-out text have on average. So a word
that no language has learned is not said to be in the most similar one with certainty.
"""

import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

MAX_NGRAM = 4
"""Maximum number of characters of an n-gram."""
BUCKETS = 1 << 17
WHOLE_WORDS = 3
"""Weight of a whole word, in n-grams."""
STEP = 1 / 12
"""Quantization step of the log-probabilities, which are stored in a byte each."""
SMOOTHING = 0.1
"""Added to the count of every bucket."""
MAX_TEXTS = 60_000
"""Texts used for each language; more improve little."""
HELD_OUT = 50
"""Every 50th text is held out to fit the temperature."""
TEMPERATURES = tuple(1.25**power for power in range(20))
WORDS = (1, 2, 3, 5, 8)
"""Numbers of words of the held-out texts on which the temperature is fitted, in turn."""

MARGIN = 0.8
"""Difference between the mean log-probability of an n-gram of held-out text and that of an n-gram of other languages
(natural logarithm)."""

RARE = 5
"""A character that occurs fewer times in the text of all languages is not part of the alphabet."""

_OTHER = re.compile(r"[^\w']+")


class LanguageDetector(NamedTuple):
    """Identifies the language of a text; made by `learn_detector`."""

    languages: tuple[str, ...]
    scores: npt.NDArray[np.uint8]
    """(languages, `BUCKETS`): minus the log-probability of an n-gram of that hash, natural logarithm, in `STEP`s."""
    temperature: float
    alphabet: frozenset[str]
    """Characters of the languages, in lower case. Others are ignored."""
    other: float = -math.inf
    """The log-probability of an n-gram of text in any other language; without such text by default."""

    def probabilities(self, text: str) -> dict[str, float]:
        """The probability of each language, the most probable first; uniform if no character is in the alphabet. What
        they lack to 1 is the probability of any other language."""
        sums, count = self._sums(text)
        values = _softmax(np.append(sums, count * self.other if count else -np.inf) / self.temperature)[:-1]
        order = np.argsort(-values, kind="stable")
        return {self.languages[number]: float(values[number]) for number in order}

    def _sums(self, text: str) -> tuple[npt.NDArray[np.float64], int]:
        """The log-probability of a text in each language, and its number of n-grams."""
        known = "".join(
            character if character in self.alphabet else " " for character in normalize("NFC", text.lower())
        )
        hashes = list(_hashes(known))
        return -STEP * self.scores[:, hashes].sum(axis=1, dtype=np.float64), len(hashes)


def learn_detector(texts: Mapping[str, Sequence[str]]) -> LanguageDetector:
    """A detector for the languages that are the keys of `texts`; at most `MAX_TEXTS` texts of each are used.

    Raises `ValueError` for fewer than two languages, and for one without text.
    """
    if len(texts) < 2 or not all(texts.values()):
        raise ValueError(
            f"at least two languages with text are needed, not { ({key: len(texts[key]) for key in texts}) }"
        )
    random = Random(0)
    counts = np.full((len(texts), BUCKETS), SMOOTHING)
    held_out: list[tuple[int, str]] = []
    characters: Counter[str] = Counter()
    for number, of_language in enumerate(texts.values()):
        chosen = random.sample(of_language, MAX_TEXTS) if len(of_language) > MAX_TEXTS else of_language
        for row, text in enumerate(chosen):
            characters.update(text.lower())
            if row % HELD_OUT == HELD_OUT - 1:
                held_out.append((number, _part(text, WORDS[len(held_out) % len(WORDS)], random)))
            else:
                np.add.at(counts[number], list(_hashes(text)), 1)
    logarithms = np.log(counts / counts.sum(axis=1, keepdims=True))
    scores = np.clip(np.round(-logarithms / STEP), 0, 255).astype(np.uint8)
    alphabet = frozenset(character for character, count in characters.items() if count >= RARE)
    return _calibrated(LanguageDetector(tuple(texts), scores, TEMPERATURES[-1], alphabet), held_out)


def _calibrated(detector: LanguageDetector, held_out: Sequence[tuple[int, str]]) -> LanguageDetector:
    """The detector with the temperature of the smallest loss on held-out texts, which have the numbers of their
    languages. Text in other languages is `MARGIN` less probable than that of the language with the smallest mean."""
    if not held_out:
        return detector
    right = np.array([number for number, _ in held_out])
    results = [detector._sums(text) for _, text in held_out]
    sums, rows = np.stack([of_text for of_text, _ in results]), np.arange(len(right))
    counts, own = (
        np.bincount(right, values, minlength=len(detector.languages))
        for values in ([count for _, count in results], sums[rows, right])
    )

    def loss(temperature: float) -> float:
        return -float(np.log(_softmax(sums / temperature)[rows, right] + 1e-30).sum())

    other = float((own / counts).min()) - MARGIN if counts.all() else -math.inf
    return detector._replace(temperature=min(TEMPERATURES, key=loss), other=other)


def _hashes(text: str) -> Iterator[int]:
    """The buckets of all n-grams."""
    spaced = f" {_OTHER.sub(' ', text.lower()).strip()} "
    if spaced.isspace():
        return
    for length in range(1, MAX_NGRAM + 1):
        for start in range(len(spaced) - length + 1):
            yield _bucket(spaced[start : start + length])
    for word in spaced.split():
        if len(word) > MAX_NGRAM - 2:  # a shorter word with its spaces is already an n-gram
            yield from [_bucket(f" {word} ")] * WHOLE_WORDS


def _bucket(characters: str) -> int:
    return zlib.crc32(characters.encode("utf-8", "replace")) % BUCKETS


def _part(text: str, count: int, random: Random) -> str:
    """`count` consecutive words of a text."""
    words = text.split()
    start = random.randrange(max(1, len(words) - count + 1))
    return " ".join(words[start : start + count])


def _softmax(sums: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    raised = np.exp(sums - sums.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)
