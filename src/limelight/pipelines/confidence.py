"""The confidence of a translation and of its words: features and a logistic regression.

Features are the mean and the smallest log-probability, the length, and the ratio of lengths to the source (Bergamot's
supervised quality estimation; Fomicheva et al. 2020 for unsupervised features). The weights are fitted on text with
references (`evaluation/confidence.py`).
"""

import math
from collections.abc import Sequence

from limelight.decoding.request import Hypothesis
from limelight.pipelines.translation import Word
from limelight.storage.tables import Confidence
from limelight.tokens import Tokenizer

LEAST = -20.0
"""Lower bound of log-probabilities."""
DOUBTFUL = math.log(0.5)
"""Log-probability below which a word is doubtful."""
SENTENCE_FEATURES = (
    "mean",
    "mean squared",
    "least",
    "doubtful",
    "probability",
    "length",
    "coverage",
    "coverage squared",
)
WORD_FEATURES = ("word", "probability", "least token", "before", "behind", "mean", "letters")


def word_log_probabilities(tokenizer: Tokenizer, hypothesis: Hypothesis) -> tuple[list[float], list[float]]:
    """The log-probability of each word, and of its least probable token."""
    words, least, last = list[float](), list[float](), -1
    for number, found in zip(tokenizer.word_of(hypothesis.ids), hypothesis.log_probabilities, strict=False):
        each = found if found > LEAST else LEAST
        if number == last:
            words[-1] += each
            least[-1] = each if each < least[-1] else least[-1]
        else:
            words.append(each)
            least.append(each)
        last = number
    return [each if each > LEAST else LEAST for each in words], least


def sentence_features(source: str, text: str, words: Sequence[float], tokens: Sequence[float]) -> list[float]:
    """The features named in `SENTENCE_FEATURES`. `words` and `tokens` are log-probabilities, including the end."""
    mean = sum([each if each > LEAST else LEAST for each in tokens]) / max(1, len(tokens))
    doubtful = sum([each < DOUBTFUL for each in words]) / max(1, len(words))
    coverage = max(-3.0, min(3.0, math.log((len(text) + 1) / (len(source) + 1))))
    least = min(words, default=0.0)
    length = math.log(len(words) + 1)
    return [
        mean,
        mean * mean,
        least,
        doubtful,
        math.exp(max(LEAST, sum(tokens))),
        length,
        coverage,
        coverage * coverage,
    ]


def word_features(
    words: Sequence[float], least: Sequence[float], texts: Sequence[str], mean: float
) -> list[list[float]]:
    """The features named in `WORD_FEATURES` for each word; `mean` is the mean log-probability of all tokens."""
    around = [0.0, *words, 0.0]
    return [
        [word, math.exp(word), least[place], around[place], around[place + 2], mean, math.log(len(texts[place]) + 1)]
        for place, word in enumerate(words)
    ]


def features_of(
    tokenizer: Tokenizer, source: str, text: str, hypothesis: Hypothesis
) -> tuple[list[float], list[list[float]]]:
    """The features of a sentence and of its words; none of words if these are not those of the tokens, as where a
    placeholder is next to punctuation."""
    tokens = hypothesis.log_probabilities
    words, least = word_log_probabilities(tokenizer, hypothesis)
    sentence = sentence_features(source, text, words, tokens)
    texts = text.split()
    if len(texts) != len(words):
        return sentence, []
    return sentence, word_features(words, least, texts, sentence[0])


def estimated(
    confidence: Confidence, direction: str, tokenizer: Tokenizer, texts: tuple[str, str], hypothesis: Hypothesis
) -> tuple[float, tuple[Word, ...]]:
    """The confidence of a translation of one sentence, 0 for an empty one, and of its words; none of words if the model
    has none. `texts` are the source and the translation."""
    source, text = texts
    if not text.strip():
        return 0.0, ()
    sentence, words = features_of(tokenizer, source, text, hypothesis)
    of_sentence, of_word = confidence.of(direction)
    each = of_word.probabilities(words) if of_word and words else []
    named = tuple(Word(text, round(value, 4)) for text, value in zip(text.split(), each, strict=False))
    return round(of_sentence.probabilities([sentence])[0], 4), named
