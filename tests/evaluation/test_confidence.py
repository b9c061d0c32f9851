"""Confidence: features, weights, and how far what is said is from what comes true."""

import math

import numpy as np
import pytest

from limelight.config import Direction
from limelight.decoding.request import Hypothesis
from limelight.errors import UserError
from limelight.evaluation.confidence import (
    Examples,
    calibration_errors,
    examples_of,
    expected_calibration_error,
    fit_examples,
    fit_logistic,
)
from limelight.pipelines.confidence import FEATURES, estimated, features_of
from limelight.pipelines.translation import Translation
from limelight.pipelines.translator import Translator
from limelight.storage.tables import Confidence, Logistic
from limelight.text.pair import Pair
from limelight.tokens import train_tokenizer
from limelight.tokens.stored import Tokenizers
from tests.decoding.fakes import random_model

WORDS = ["the lamp hums", "a dog runs here", "it is a lamp"]


def tokenizer():
    return train_tokenizer(
        WORDS * 9, kind="bpe", vocabulary_size=None, languages=(), byte_fallback=True, seed=1, sentences=27
    )


def hypothesis(text: str, *, each: float = -0.5, least: float = -3.0) -> Hypothesis:
    """The last token has the least log-probability."""
    ids = tuple(tokenizer().encode(text))
    tokens = (*[each] * (len(ids) - 1), least, each)
    return Hypothesis(ids, 0.0, sum(tokens), True, tokens)


def test_weights_are_found_again() -> None:
    draw = np.random.default_rng(5)
    rows = draw.normal(size=(20_000, 3)) * [1, 10, 0.1] + [0, 5, 1]
    logits = rows @ [1.5, -0.2, 3.0] + 0.7
    outcomes = draw.random(20_000) < 1 / (1 + np.exp(-logits))
    found = fit_logistic(rows.tolist(), outcomes.tolist())
    assert found.weights == pytest.approx((1.5, -0.2, 3.0), rel=0.15)
    said = found.probabilities(rows.tolist())
    assert expected_calibration_error(list(zip(said, outcomes.tolist(), strict=True))) < 0.02
    more = [min(1.0, each + 0.4) for each in said]
    assert expected_calibration_error(list(zip(more, outcomes.tolist(), strict=True))) > 0.1


def test_the_error_is_the_mean_distance_in_bins() -> None:
    found = expected_calibration_error([(0.95, True), (0.95, False), (0.15, False), (0.15, False)])
    assert found == pytest.approx((abs(1.9 - 1) + abs(0.3 - 0)) / 4)
    assert expected_calibration_error([(1.0, True), (0.0, False)]) == 0
    assert expected_calibration_error([]) == 0


def test_features_follow_the_words() -> None:
    found = features_of(tokenizer(), "eine Lampe", "the lamp hums", hypothesis("the lamp hums"))
    named = dict(zip(FEATURES, found, strict=True))
    count = len(tokenizer().encode("the lamp hums"))
    assert named["mean"] == pytest.approx((-0.5 * count - 3.0) / (count + 1))
    assert named["least"] <= -3.0
    assert named["length"] == math.log(4)
    assert named["coverage"] == pytest.approx(math.log(14 / 11))


def test_what_the_model_doubts_has_less_confidence_and_an_empty_translation_none() -> None:
    weights = tuple(1.0 if name == "mean" else 0.0 for name in FEATURES)
    confidence, found = Confidence(sentence={"": Logistic(weights, 1.0)}), ("eine Lampe", "the lamp hums")
    sure = estimated(confidence, "", tokenizer(), found, hypothesis("the lamp hums"))
    unsure = estimated(confidence, "", tokenizer(), found, hypothesis("the lamp hums", each=-3.0))
    assert 0 < unsure < sure < 1
    assert estimated(confidence, "", tokenizer(), ("eine Lampe", ""), Hypothesis((), -0.1, -0.1, True, (-0.1,))) == 0


def test_a_model_is_measured_from_text_to_text(seed: int) -> None:
    """A random model: of everything it says, some happens to be right; means of what is said are those of what is."""
    one = Tokenizers(tokenizer(), tokenizer())
    model = random_model(7, tokenizer().size - 1)
    model.logits[..., 0] += 3
    model.source_padding = tokenizer().size - 1
    translator = Translator(model, one)
    pairs = [Pair(f"{WORDS[row % 3]} {row}", WORDS[row % 3], "t.tsv", row) for row in range(150)]
    examples = examples_of(translator, pairs, Direction("source", "target"), count=120)
    assert (len(examples.features), len(examples.good)) == (120, 120)
    translator.finish = lambda *_: [Translation("ế" * 9)]
    assert examples_of(translator, [Pair("a dog", "e\u0302\u0301" * 9)], Direction("source", "target")).good == [True]
    with pytest.raises(UserError, match="99 pairs: at least 100 are needed"):
        fit_examples({"a-b": Examples(*(each[:99] for each in examples))})
    with pytest.raises(UserError, match="0 pairs: at least 100 are needed"):
        fit_examples({})


def test_a_direction_with_enough_pairs_has_weights_of_its_own() -> None:
    draw = np.random.default_rng(3)
    found = {}
    for name, count, sign in (("a-b", 600, 1), ("b-a", 600, -1), ("a-c", 60, 1)):
        rows = draw.normal(size=(count, 2))
        right = (sign * rows[:, 0] > 0).tolist()
        found[name] = Examples(rows.tolist(), right)
    confidence = fit_examples(found)
    assert set(confidence.sentence) == {"a-b", "b-a", ""}
    assert confidence.of("a-b").weights[0] > 1 > -1 > confidence.of("b-a").weights[0]
    assert confidence.of("a-c") == confidence.sentence[""]
    errors = calibration_errors(confidence, found)
    assert set(errors) == {"a-b", "b-a", "a-c", "all"}
    assert errors["a-b"] < 0.05 < errors["a-c"]


@pytest.mark.parametrize("good", [0, 3, 198, 200])
def test_of_one_kind_of_translations_no_confidence_is_learned(good: int) -> None:
    examples = Examples([[float(number)] for number in range(200)], [number < good for number in range(200)])
    with pytest.raises(UserError, match=f"{good} of 200 translations are good.*calibrate on other text"):
        fit_examples({"en-de": examples})
