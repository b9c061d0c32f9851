"""Confidence of a translation from the log-probabilities of its search."""

from collections.abc import Sequence

from limelight.decoding.request import Hypothesis
from limelight.pipelines.confidence import SENTENCE_FEATURES, WORD_FEATURES, estimated, features_of
from limelight.storage.tables import Confidence, Logistic
from limelight.text.marking import placeholder
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


class Numbered(Characters):
    """Each token is a word."""

    def word_of(self, ids: Sequence[int]) -> list[int]:
        return list(range(len(ids)))


def test_words_beside_a_placeholder_have_values() -> None:
    """`am <ph0>.` had no confidence for any word: the placeholder is one of its own, the full stop another (before)."""
    text, values = f"am {placeholder(0)}.", (-0.1, -0.2, -0.4, -0.1)
    _, words = features_of(Numbered(), "at", text, Hypothesis((2, 3, 4), -0.8, -0.8, True, values))
    assert [[round(each, 2) for each in word[:3]] for word in words] == [[-0.1, 0.9, -0.1], [-0.6, 0.55, -0.4]]
    plain = features_of(Numbered(), "at", "am b.", Hypothesis((2, 3, 4), -0.8, -0.8, True, values))
    assert plain[1] == []
