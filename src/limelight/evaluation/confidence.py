"""Confidence, learned and measured: how likely a translation is good, from text with references.

A sentence is good if its chrF is at least `GOOD`; a word is if the reference has it, as often as the translation says
it, without case and the punctuation around it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from sacrebleu.metrics import CHRF

from limelight.config import Direction
from limelight.errors import UserError
from limelight.pipelines.codec import names_of
from limelight.pipelines.confidence import features_of
from limelight.pipelines.translator import Translator
from limelight.storage.tables import Confidence, Logistic
from limelight.text.pair import Pair

GOOD = 60.0
"""chrF2 of a sentence."""
MIN_PAIRS = 100
"""With fewer in all there is nothing to learn."""
MIN_OF_DIRECTION = 500
"""A direction with fewer has no weights of its own."""
MAX_PAIRS = 3000
"""Of each direction, evenly from all."""
MIN_WORDS = 100
"""With fewer words that can be matched with tokens, words have no confidence. Chinese, Japanese and Thai have none."""
RIDGE = 1e-2
MIN_SPREAD = 1e-3
"""Features are standardized by at least this. The probability of a long sentence is 1e-9 with a spread of 1e-11, and
would get a weight of 1e9."""
BINS = 10

Numbers = npt.NDArray[np.float64]


class Examples(NamedTuple):
    """Features with what became of them."""

    sentences: list[list[float]]
    good: list[bool]
    words: list[list[float]]
    right: list[bool]


def fit_examples(found: Mapping[str, Examples]) -> Confidence:
    """Weights for each direction (`en-de`) with enough pairs, and for all together.

    Raises `UserError` where there are too few pairs.
    """
    count = sum(len(each.good) for each in found.values())
    if count < MIN_PAIRS:
        raise UserError(f"{count} pairs: at least {MIN_PAIRS} are needed to learn confidence; give more text")
    chosen = {name: each for name, each in found.items() if len(each.good) >= MIN_OF_DIRECTION}
    chosen[""] = _together(found.values())
    return Confidence(
        {name: fit_logistic(each.sentences, each.good) for name, each in chosen.items()},
        {name: fit_logistic(each.words, each.right) for name, each in chosen.items() if len(each.words) >= MIN_WORDS},
    )


Errors = tuple[float, float | None]
"""Expected calibration errors of sentences and of words; None without words."""


def calibration_errors(confidence: Confidence, found: Mapping[str, Examples]) -> dict[str, Errors]:
    """The expected calibration error of sentences and of words, in each direction and, as "all", over all of them."""
    errors, everything = dict[str, Errors](), (([], []), ([], []))  # type: ignore[var-annotated]
    for direction, examples in found.items():
        of_sentence, of_word = confidence.of(direction)
        words = examples if of_word else Examples([], [], [], [])
        kinds = (
            ([of_sentence.probability(row) for row in examples.sentences], examples.good),
            ([of_word.probability(row) for row in words.words] if of_word else [], words.right),
        )
        errors[direction] = _errors(*kinds)
        for whole, part in zip(everything, kinds, strict=True):
            whole[0].extend(part[0])
            whole[1].extend(part[1])
    errors["all"] = _errors(*everything)
    return errors


def _errors(sentences: tuple[list[float], list[bool]], words: tuple[list[float], list[bool]]) -> Errors:
    return expected_calibration_error(*sentences), expected_calibration_error(*words) if words[0] else None


def _together(several: Iterable[Examples]) -> Examples:
    return Examples(*(list(chain.from_iterable(parts)) for parts in zip(*several, strict=True)))


def examples_of(
    translator: Translator, pairs: Sequence[Pair], direction: Direction, *, most: int = MAX_PAIRS
) -> Examples:
    """At most so many pairs, evenly spread, as they are translated by the model's own search, without guards."""
    places = np.linspace(0, len(pairs) - 1, min(len(pairs), most)).astype(int).tolist()
    chosen = [pairs[place] for place in places if pairs[place].source.strip()]
    source_lang, target_lang = names_of(direction)
    prepared = translator.prepare(
        [pair.source for pair in chosen], source_lang=source_lang, target_lang=target_lang, n_best=1
    )
    kept = [(pair, each) for pair, each in zip(chosen, prepared, strict=True) if each.request is not None]
    hypotheses = translator.decode([each.request for _, each in kept if each.request is not None])
    chrf, examples = CHRF(), Examples([], [], [], [])
    for (pair, each), found in zip(kept, hypotheses, strict=True):
        text = translator.finish(each, found).text
        sentence, words = features_of(translator.tokenizers.target, pair.source, text, found[0])
        examples.sentences.append(sentence)
        examples.good.append(chrf.sentence_score(text, [pair.target]).score >= GOOD)
        examples.words.extend(words)
        examples.right.extend(_right(text, pair.target)[: len(words)])
    return examples


def _right(text: str, reference: str) -> list[bool]:
    """Of each word of a text, whether the reference has it, as often."""
    there = Counter(map(_bare, reference.split()))
    found = []
    for word in map(_bare, text.split()):
        found.append(there[word] > 0)
        there[word] -= 1
    return found


def _bare(word: str) -> str:
    """Without case and punctuation around it; a word of punctuation alone stays."""
    inside = [place for place, letter in enumerate(word) if letter.isalnum()]
    return word[inside[0] : inside[-1] + 1].casefold() if inside else word


def fit_logistic(features: Sequence[Sequence[float]], outcomes: Sequence[bool]) -> Logistic:
    """The most likely weights, with a small penalty on their squares (Newton's method)."""
    table, wanted = np.array(features, dtype=np.float64), np.array(outcomes, dtype=np.float64)
    middle, spread = table.mean(axis=0), np.maximum(table.std(axis=0), MIN_SPREAD)
    rows = np.hstack([(table - middle) / spread, np.ones((len(table), 1))])
    penalty = np.diag([RIDGE] * table.shape[1] + [1e-6]) * math.sqrt(len(table))
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        probabilities = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
        gradient = rows.T @ (wanted - probabilities) - penalty @ weights
        curvature = (rows * (probabilities * (1 - probabilities) + 1e-9)[:, None]).T @ rows + penalty
        step = np.linalg.solve(curvature, gradient)
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    own = weights[:-1] / spread
    ranges = (tuple(edge.tolist()) for edge in (table.min(axis=0), table.max(axis=0)))
    return Logistic(tuple(own.tolist()), float(weights[-1] - own @ middle), *ranges)


def expected_calibration_error(probabilities: Sequence[float], outcomes: Sequence[bool], bins: int = BINS) -> float:
    """The mean distance, over bins of equal width, between what was said and what came true, weighted by how much is in
    each (Naeini et al. 2015; Guo et al. 2017, equation 3)."""
    said, came = np.array(probabilities, dtype=np.float64), np.array(outcomes, dtype=np.float64)
    if not len(said):
        return 0.0
    places = np.minimum((said * bins).astype(int), bins - 1)
    errors = [abs(said[places == each].sum() - came[places == each].sum()) for each in range(bins)]
    return float(sum(errors) / len(said))
