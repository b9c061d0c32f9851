"""Confidence: the learned probability that a translation is good, fitted on text with references.

A sentence is good if its chrF is at least `GOOD`.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from limelight.config import Direction
from limelight.errors import UserError, counted
from limelight.evaluation.metrics import sentence_chrf
from limelight.pipelines.codec import names_of
from limelight.pipelines.confidence import features_of
from limelight.pipelines.translator import Translator
from limelight.preparation.lexicon import evenly
from limelight.storage.tables import Confidence, Logistic
from limelight.text.pair import Pair

GOOD = 60.0
"""chrF2 from which a sentence counts as good."""
MIN_PAIRS = 100
"""Minimum number of pairs to learn from, all directions together."""
MIN_OF_DIRECTION = 500
"""Minimum number of pairs for weights of a direction's own."""
MAX_PAIRS = 3000
"""Maximum number of pairs per direction, evenly spread."""
RIDGE = 1e-2
MIN_SPREAD = 1e-3
"""Lower bound of the standard deviation by which features are divided. The probability of a long sentence is 1e-9 with
a deviation of 1e-11, and would get a weight of 1e9."""
BINS = 10
MIN_OF_KIND = 5
"""Minimum number of good and of other translations: of one kind alone, nothing can be learned."""


class Examples(NamedTuple):
    """Features of translated sentences, and whether each was good."""

    features: list[list[float]]
    good: list[bool]

    def has_both(self) -> bool:
        """Whether there are enough good ones and enough others."""
        return MIN_OF_KIND <= sum(self.good) <= len(self.good) - MIN_OF_KIND


def fit_examples(examples: Mapping[str, Examples]) -> Confidence:
    """Fit weights for each direction (`en-de`) with enough pairs, and for all together.

    Raises `UserError` if there are too few pairs.
    """
    every = Examples(*(list(chain(*part)) for part in zip(Examples([], []), *examples.values(), strict=True)))
    good, count = sum(every.good), len(every.good)
    if count < MIN_PAIRS:
        raise UserError(
            f"{counted(count, 'pair')}: at least {MIN_PAIRS} are needed to learn confidence; give more text"
        )
    if not every.has_both():
        raise UserError(
            f"{good:,} of {counted(count, 'translation')} are good: a confidence needs at least {MIN_OF_KIND} good "
            "and as many other ones; calibrate on other text"
        )
    chosen = {"": every} | {
        name: of_direction
        for name, of_direction in examples.items()
        if len(of_direction.good) >= MIN_OF_DIRECTION and of_direction.has_both()
    }
    return Confidence(sentence={name: fit_logistic(*of_direction) for name, of_direction in chosen.items()})


def calibration_errors(confidence: Confidence, by_direction: Mapping[str, Examples]) -> dict[str, float]:
    """The expected calibration error for each direction and, as "all", for all of them."""
    rated = {
        direction: list(zip(confidence.of(direction).probabilities(examples.features), examples.good, strict=True))
        for direction, examples in by_direction.items()
    }
    rated["all"] = list(chain(*rated.values()))
    return {direction: expected_calibration_error(pairs) for direction, pairs in rated.items()}


def examples_of(
    translator: Translator, pairs: Sequence[Pair], direction: Direction, *, count: int = MAX_PAIRS
) -> Examples:
    """Examples from at most `count` pairs, evenly spread, translated with the model's own search, without guards."""
    chosen = [pair for pair in evenly(pairs, count) if pair.source.strip()]
    source_lang, target_lang = names_of(direction)
    prepared = translator.prepare(
        [pair.source for pair in chosen], source_lang=source_lang, target_lang=target_lang, n_best=1
    )
    kept = [(pair, sentence) for pair, sentence in zip(chosen, prepared, strict=True) if sentence.request is not None]
    hypotheses = translator.decode([sentence.request for _, sentence in kept if sentence.request is not None])
    examples = Examples([], [])
    for (pair, sentence), best in zip(kept, hypotheses, strict=True):
        text = translator.finish(sentence, best)[0].text
        first = translator.ranked(sentence.request, best)[0]  # type: ignore[arg-type]  # it has one
        examples.features.append(features_of(translator.tokenizers.target, pair.source, text, first))
        examples.good.append(sentence_chrf(text, pair.target) >= GOOD)
    return examples


def fit_logistic(features: Sequence[Sequence[float]], outcomes: Sequence[bool]) -> Logistic:
    """Logistic regression with a small L2 penalty (Newton's method)."""
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


def expected_calibration_error(pairs: Sequence[tuple[float, bool]]) -> float:
    """The mean difference between confidence and accuracy over `BINS` bins of equal width, weighted by the size of each
    bin (Naeini et al. 2015; Guo et al. 2017, equation 3)."""
    if not pairs:
        return 0.0
    confidence, correct = np.array(pairs, dtype=np.float64).T
    places = np.minimum((confidence * BINS).astype(int), BINS - 1)
    errors = np.abs(np.bincount(places, confidence - correct, BINS))
    return float(errors.sum() / len(pairs))
