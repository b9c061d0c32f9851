"""The evaluations of several directions of one model, and their mean."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from limelight.evaluation.evaluate import Evaluation

MEANS = ("bleu", "bleu_lowercase", "chrf", "perplexity")
"""Figures of which the mean over the directions is given."""


@dataclass(frozen=True, slots=True)
class DirectionsEvaluation:
    """One `Evaluation` for each direction, in the order in which they were measured."""

    directions: Mapping[str, Evaluation]
    """By names such as `en-de`."""

    @property
    def mean(self) -> dict[str, float]:
        """The mean of each of `MEANS`, every direction counting alike. BLEU over languages that are tokenized
        differently is no BLEU: the mean compares models, it is not a score to report."""
        rows = [each.to_dict() for each in self.directions.values()]
        return {name: round(sum(row[name] for row in rows) / len(rows), 4) for name in MEANS}

    @property
    def translations(self) -> tuple[str, ...]:
        """Of all directions, one after another."""
        return tuple(text for each in self.directions.values() for text in each.translations)

    def to_dict(self) -> dict[str, Any]:
        """`mean`, and `directions` with what each evaluation has."""
        return {"mean": self.mean, "directions": {name: each.to_dict() for name, each in self.directions.items()}}

    def to_json(self) -> str:
        """The same as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def table(self) -> str:
        """A line for each direction and one for the mean, with the signatures."""
        lines = [f"{'direction':11}{'sentences':>10}{'BLEU':>8}{'chrF2':>8}{'perplexity':>12}"]
        for name, each in self.directions.items():
            figures = f"{each.bleu.score:8.2f}{each.chrf.score:8.2f}{each.perplexity:12.2f}"
            lines.append(f"{name:11}{each.sentences:>10,}{figures}")
        mean = self.mean
        lines.append(f"{'mean':11}{'':10}{mean['bleu']:8.2f}{mean['chrf']:8.2f}{mean['perplexity']:12.2f}")
        signatures = dict.fromkeys(each.bleu.signature for each in self.directions.values())
        signatures |= dict.fromkeys(each.chrf.signature for each in self.directions.values())
        return "\n".join([*lines, "", *signatures])
