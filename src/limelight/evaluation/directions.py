"""Evaluation of several directions of one model, with means."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from limelight.evaluation.evaluate import Evaluation

MEANS = ("bleu", "bleu_lowercase", "chrf", "perplexity")
"""Figures that are averaged over the directions."""


@dataclass(frozen=True, slots=True)
class DirectionsEvaluation:
    """One `Evaluation` for each direction, in the order of measurement."""

    directions: Mapping[str, Evaluation]
    """By direction, such as `en-de`."""

    @property
    def mean(self) -> dict[str, float]:
        """The unweighted mean of each of `MEANS` over the directions. A mean of BLEU scores with different
        tokenizations can compare models, but is not a score to report."""
        rows = [each.to_dict() for each in self.directions.values()]
        return {name: round(sum(row[name] for row in rows) / len(rows), 4) for name in MEANS}

    @property
    def translations(self) -> tuple[str, ...]:
        """The translations of all directions, one direction after another."""
        return tuple(text for each in self.directions.values() for text in each.translations)

    def to_dict(self) -> dict[str, Any]:
        """Plain values: `mean`, and `directions` with the values of each evaluation."""
        return {"mean": self.mean, "directions": {name: each.to_dict() for name, each in self.directions.items()}}

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=2)

    def table(self) -> str:
        """A table with a line for each direction and one for the mean, and the signatures."""
        lines = [f"{'direction':11}{'sentences':>10}{'BLEU':>8}{'chrF2':>8}{'perplexity':>12}"]
        for name, each in self.directions.items():
            figures = f"{each.bleu.score:8.2f}{each.chrf.score:8.2f}{each.perplexity:12.2f}"
            lines.append(f"{name:11}{each.sentences:>10,}{figures}")
        mean = self.mean
        lines.append(f"{'mean':11}{'':10}{mean['bleu']:8.2f}{mean['chrf']:8.2f}{mean['perplexity']:12.2f}")
        signatures = dict.fromkeys(each.bleu.signature for each in self.directions.values())
        signatures |= dict.fromkeys(each.chrf.signature for each in self.directions.values())
        return "\n".join([*lines, "", *signatures])
