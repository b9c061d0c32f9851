"""Quality of labels: accuracy, precision, recall, F1 and confusions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limelight.errors import UserError, counted
from limelight.evaluation.summary import Figures, plain, provenance_lines, provenance_of
from limelight.pipelines.encoders import Classifier
from limelight.text.labels import label_numbers
from limelight.text.pair import Pair


@dataclass(frozen=True, slots=True)
class LabelScore:
    """One label against all others, from 0 to 100."""

    label: str
    precision: float
    """Share of texts given this label that have it; 0 if none was given it."""
    recall: float
    """Share of texts with this label that were given it; 0 if none has it."""
    f1: float
    """Harmonic mean of precision and recall, 0 if both are."""
    texts: int
    """Number of texts that have this label."""


@dataclass(frozen=True, slots=True)
class LabelScores:
    """Agreement of predicted and true labels; from 0 to 100, higher is better."""

    accuracy: float
    macro_f1: float
    """Unweighted mean of F1 over all labels that occur in the truth or the predictions."""
    by_label: tuple[LabelScore, ...]
    confusion: tuple[tuple[int, ...], ...]
    """Number of texts by true label (rows) and predicted label (columns), in the order of `by_label`."""


def score_labels(labels: Sequence[str], truth: Sequence[int], predicted: Sequence[int]) -> LabelScores:
    """Compare true and predicted indices of labels."""
    confusion = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(confusion, (np.asarray(truth), np.asarray(predicted)), 1)
    right, support, predictions = confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0)
    precision, recall = _share(right, predictions), _share(right, support)
    f1 = _share(2 * right, support + predictions)  # 2PR / (P + R) in terms of counts
    known = (support + predictions) > 0
    columns = (labels, precision.tolist(), recall.tolist(), f1.tolist(), support.tolist())
    return LabelScores(
        accuracy=100 * float(right.sum()) / len(truth),
        macro_f1=float(f1[known].mean()),
        by_label=tuple(LabelScore(*values) for values in zip(*columns, strict=True)),
        confusion=tuple(map(tuple, confusion.tolist())),
    )


def _share(part: np.ndarray, of: np.ndarray) -> np.ndarray:
    return 100 * part / np.maximum(of, 1)


@dataclass(frozen=True)
class LabelEvaluation(Figures):
    """Result of `evaluate_labels`."""

    NAMES = ("texts", "provenance")

    scores: LabelScores
    answers: tuple[str, ...]
    """In the order of the pairs; not included in the JSON."""
    provenance: Mapping[str, Any]
    """Model, test files, number of texts, seed, versions."""

    @property
    def texts(self) -> int:
        """Number of texts."""
        return len(self.answers)

    def to_dict(self) -> dict[str, Any]:
        """The scores and the provenance as plain values."""
        return plain(self.scores) | super().to_dict()

    def table(self) -> str:
        """The result as lines of plain text."""
        scores = self.scores
        width = max(10, *(len(label.label) for label in scores.by_label)) + 2
        lines = [f"{'accuracy':{width}}{scores.accuracy:9.2f}", f"{'macro-F1':{width}}{scores.macro_f1:9.2f}", ""]
        lines.append(f"{'label':{width}}{'precision':>9}{'recall':>9}{'F1':>9}{'texts':>9}")
        lines += [
            f"{label.label:{width}}{label.precision:9.2f}{label.recall:9.2f}{label.f1:9.2f}{label.texts:9,}"
            for label in scores.by_label
        ]
        most_frequent = 100 * max(label.texts for label in scores.by_label) / self.texts
        lines += ["", f"{counted(self.texts, 'text')}; always the most frequent label: accuracy {most_frequent:.2f}"]
        return "\n".join([*lines, *provenance_lines(self.provenance)])


def evaluate_labels(
    classifier: Classifier, pairs: Sequence[Pair], *, origin: Mapping[str, Any] | None = None
) -> LabelEvaluation:
    """Classify the sources of `pairs`, whose targets are the true labels.

    `origin` adds to the provenance what only the caller knows: the model's folder, the seed.

    Raises `UserError` if there is nothing to evaluate, and, naming file and line, for a label that the model does not
    know.
    """
    if not pairs:
        raise UserError("there is nothing to evaluate: the test set has no texts")
    truth = label_numbers(pairs, classifier.labels)
    answers = [classified.label for classified in classifier.classify([pair.source for pair in pairs])]
    scores = score_labels(classifier.labels, truth, list(map(classifier.labels.index, answers)))
    return LabelEvaluation(scores, tuple(answers), provenance_of(pairs, origin))
