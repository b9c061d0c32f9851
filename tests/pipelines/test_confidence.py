"""Confidence of a translation from the log-probabilities of its search."""

from limelight.decoding.request import Hypothesis
from limelight.pipelines.confidence import SENTENCE_FEATURES, WORD_FEATURES, estimated
from limelight.storage.tables import Confidence, Logistic
from tests.decoding.fakes import Characters


def test_an_empty_translation_has_no_confidence() -> None:
    """Its end token alone can be probable, and its length is far from those that the weights were fitted to."""
    sure = Confidence(
        sentence={"": Logistic((0.0,) * len(SENTENCE_FEATURES), 9.0)},
        word={"": Logistic((0.0,) * len(WORD_FEATURES), 9.0)},
    )
    empty = "a dog", ""
    hypothesis = Hypothesis((), -0.1, -0.1, True, (-0.1,))
    assert estimated(sure, "en-de", Characters(), empty, hypothesis) == (0.0, ())
    there = "a dog", "a"
    assert estimated(sure, "en-de", Characters(), there, Hypothesis((2,), -0.1, -0.1, True, (-0.1, -0.1)))[0] > 0.9
