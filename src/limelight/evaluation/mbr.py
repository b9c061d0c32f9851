"""Minimum Bayes risk decoding (Eikema and Aziz 2020): of several samples the one that is most like all of them."""

from collections import Counter
from dataclasses import replace

from limelight.evaluation.metrics import sentence_chrf
from limelight.pipelines.translation import Translation


def least_risk(translation: Translation) -> Translation:
    """Of a translation and its alternatives, which are samples, the one with the highest mean chrF2 against all of
    them: an estimate of its expected utility under the model."""
    samples = (translation, *translation.alternatives)
    count = Counter(sample.text for sample in samples)
    utility = {text: sum(times * sentence_chrf(text, other) for other, times in count.items()) for text in count}
    return replace(max(samples, key=lambda sample: utility[sample.text]), alternatives=())
