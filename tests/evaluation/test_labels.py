"""Accuracy, precision, recall and F1 against their definitions, one text after another."""

import json
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limelight.errors import UserError
from limelight.evaluation.labels import evaluate_labels, score_labels
from limelight.pipelines.encoders import Classification, Classifier
from limelight.text.pair import Pair

NAMES = ("ant", "bee", "cat", "dog", "elk")
answers = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=60)


@given(answers)
def test_figures_against_their_definitions(pairs: list[tuple[int, int]]) -> None:
    truth, given_labels = [true for true, _ in pairs], [answer for _, answer in pairs]
    found = score_labels(NAMES, truth, given_labels)
    assert found.accuracy == pytest.approx(100 * sum(true == answer for true, answer in pairs) / len(pairs))
    all_f1 = []
    for number, score in enumerate(found.by_label):
        hits = sum(true == answer == number for true, answer in pairs)
        has, said = truth.count(number), given_labels.count(number)
        precision = Fraction(hits, said) if said else Fraction(0)
        recall = Fraction(hits, has) if has else Fraction(0)
        f1 = 2 * precision * recall / (precision + recall) if hits else Fraction(0)
        assert (score.label, score.texts) == (NAMES[number], has)
        assert score.precision == pytest.approx(float(100 * precision))
        assert score.recall == pytest.approx(float(100 * recall))
        assert score.f1 == pytest.approx(float(100 * f1))
        if has or said:
            all_f1.append(f1)
        for other in range(5):
            assert found.confusion[number][other] == pairs.count((number, other))
    assert found.macro_f1 == pytest.approx(float(100 * sum(all_f1) / len(all_f1)))


class Parrot(Classifier):
    """Takes a text for the label it says."""

    def __init__(self, labels: Sequence[str] = NAMES) -> None:
        self._labels = tuple(labels)

    @property
    def labels(self) -> tuple[str, ...]:
        return self._labels

    def classify(self, texts: Sequence[str], *, batch_tokens: int = 16384) -> list[Classification]:
        return [Classification(text, text, 0.9, {}) for text in texts]


def pairs(*sides: tuple[str, str]) -> list[Pair]:
    return [Pair(text, label, "t.tsv", line) for line, (text, label) in enumerate(sides, start=1)]


TEXTS = pairs(("ant", "ant"), ("bee", " bee "), ("cat", "ant"), ("ant", "ant"))


def test_an_evaluation_says_how_good_and_where_it_comes_from() -> None:
    found = evaluate_labels(Parrot(), TEXTS, origin={"model": "runs/x"})
    assert found.answers == ("ant", "bee", "cat", "ant")
    assert found.scores == score_labels(NAMES, [0, 1, 0, 0], [0, 1, 2, 0])
    values = json.loads(found.to_json())
    assert (values["accuracy"], values["texts"]) == (75, 4)
    assert values["by_label"][0] == {"label": "ant", "precision": 100, "recall": 66.666667, "f1": 80, "texts": 3}
    assert values["confusion"][0] == [2, 0, 1, 0, 0]
    assert values["provenance"]["model"] == "runs/x"
    assert values["provenance"]["test_files"] == ["t.tsv"]
    assert values["provenance"]["pairs"] == 4
    assert "torch" in values["provenance"]["versions"]


def test_what_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(UserError, match="there is nothing to evaluate: the test set has no texts"):
        evaluate_labels(Parrot(), [])
    with pytest.raises(UserError, match=r"t\.tsv:2: 'gnu' is not one of the labels in the training data: ant, bee"):
        evaluate_labels(Parrot(), pairs(("ant", "ant"), ("x", "gnu")))
