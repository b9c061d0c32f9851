"""The confidence of the translation of a sentence: features and a logistic regression.

Features are the mean and the smallest log-probability, the length, and the ratio of lengths to the source (Bergamot's
supervised quality estimation; Fomicheva et al. 2020 for unsupervised features). The weights are fitted on text with
references (`evaluation/confidence.py`).
"""

import math

from limelight.decoding.request import Hypothesis
from limelight.storage.tables import Confidence
from limelight.tokens import Tokenizer

LEAST = -20.0
"""Lower bound of log-probabilities."""
DOUBTFUL = math.log(0.5)
"""Log-probability below which a word is doubtful."""
FEATURES = ("mean", "mean squared", "least", "doubtful", "probability", "length", "coverage", "coverage squared")


def features_of(tokenizer: Tokenizer, source: str, text: str, hypothesis: Hypothesis) -> list[float]:
    """The features named in `FEATURES`. The log-probability of a word is the sum over its tokens."""
    tokens, words = [max(LEAST, value) for value in hypothesis.log_probabilities], dict[int, float]()
    for word, value in zip(tokenizer.word_of(hypothesis.ids), tokens, strict=False):
        words[word] = words.get(word, 0.0) + value
    of_words = [max(LEAST, value) for value in words.values()]
    mean = sum(tokens) / max(1, len(tokens))
    coverage = max(-3.0, min(3.0, math.log((len(text) + 1) / (len(source) + 1))))
    return [
        mean,
        mean * mean,
        min(of_words, default=0.0),
        sum(value < DOUBTFUL for value in of_words) / max(1, len(of_words)),
        math.exp(max(LEAST, sum(hypothesis.log_probabilities))),
        math.log(len(of_words) + 1),
        coverage,
        coverage * coverage,
    ]


def estimated(
    confidence: Confidence, direction: str, tokenizer: Tokenizer, texts: tuple[str, str], hypothesis: Hypothesis
) -> float:
    """The confidence of a translation of one sentence, 0 for an empty one. `texts` are the source and the
    translation."""
    if not texts[1].strip():
        return 0.0
    features = features_of(tokenizer, *texts, hypothesis)
    return round(confidence.of(direction).probabilities([features])[0], 4)
