"""Which of several translations is taken: the model's best, or the one most like the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

from limelight.evaluation.metrics import sentence_scorer
from limelight.evaluation.tokenization import SAMPLE, choose_tokenization
from limelight.pipelines.translator import Translation
from limelight.synthesis.inputs import Input

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
