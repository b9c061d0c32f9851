"""The figures of `study_heads`, of each head and of heads that are removed in turn, as JSON and as text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from limelight.evaluation.summary import Figures
from limelight.inspection.erasure import rank_correlation
from limelight.inspection.head_importance import Change, Head
from limelight.inspection.head_roles import TEXTS, name_role
from limelight.storage.tables import Role, Roles

FORMAT, VERSION = "limelight.heads", 1


class Mean(NamedTuple):
    """A mean over sentences, and the standard deviation between them."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class HeadFigures:
    """The measurements of one head."""

    head: Head
    roles: Mapping[str, Mean]
    """The number of each role (see `inspection.head_roles`)."""
    removal: Change
    """The change of the loss without this head, in nats per target token; positive if the head is needed."""
    gradient: float
    """The gradient score, in nats per target token."""
    bleu: float | None = None
    """BLEU without this head."""

    @property
    def role(self) -> tuple[str, float]:
        """The name and the number of its clearest role."""
        return name_role({name: value.mean for name, value in self.roles.items()})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values: dict[str, Any] = {
            "attention": self.head.attention,
            "head": self.head.number,
            "role": self.role[0],
            "roles": {name: value._asdict() for name, value in self.roles.items()},
            "removal": self.removal._asdict(),
            "gradient": self.gradient,
        }
        return values | ({} if self.bleu is None else {"bleu": self.bleu})


class Point(NamedTuple):
    """One step of a pruning curve."""

    removed: Head | None
    """The head that goes in this step; None for the whole model."""
    loss: float
    bleu: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {"removed": None if self.removed is None else list(self.removed), "loss": self.loss}
        return values | ({} if self.bleu is None else {"bleu": self.bleu})


@dataclass(frozen=True, slots=True)
class HeadStudy(Figures):
    """The result of `study_heads`."""

    loss: float
    """The mean of -log p per target token of the whole model, natural logarithm."""
    bleu: float | None
    heads: tuple[HeadFigures, ...]
    """In the order of the model."""
    curves: Mapping[str, tuple[Point, ...]]
    """Heads removed by the order of `removal` or `gradient`."""
    provenance: Mapping[str, Any]

    @property
    def agreement(self) -> float | None:
        """Kendall's tau between the order of heads by removal and that by gradient."""
        figures = np.array([[each.gradient for each in self.heads], [each.removal.mean for each in self.heads]])
        return rank_correlation(figures[:1], figures[1:])

    def stored_roles(self) -> Roles:
        """The clearest role of each head, as a model folder keeps them."""
        found: dict[str, list[Role]] = {}
        for each in self.heads:
            name, value = each.role
            deviation = each.roles["spread" if name == "focused" else name].deviation
            found.setdefault(each.head.attention, []).append(Role(name, round(value, 4), round(deviation, 4)))
        return Roles(sentences=self.provenance["sentences"], attentions=found)

    def panels(self) -> dict[str, dict[str, list[float]]]:
        """The curves of each figure, for a picture."""
        kinds = {"loss": "loss, nats per target token"} | ({} if self.bleu is None else {"bleu": "BLEU"})
        return {
            title: {
                f"by {name}": [getattr(each, kind) or 0.0 for each in points] for name, points in self.curves.items()
            }
            for kind, title in kinds.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "loss": self.loss,
            "bleu": self.bleu,
            "heads": [each.to_dict() for each in self.heads],
            "agreement": {"gradient": self.agreement},
            "curves": {name: [each.to_dict() for each in points] for name, points in self.curves.items()},
            "provenance": dict(self.provenance),
        }

    def table(self) -> str:
        """The figures as text: heads from the most needed to the least, then the pruning curves."""
        has_bleu = self.bleu is not None
        rows = [["head", "role", "loss without it", "gradient", *(["BLEU without it"] * has_bleu)]]
        for each in sorted(self.heads, key=lambda one: -one.removal.mean):
            name, value = each.role
            spread = f" ± {each.roles[name].deviation:.2f}" if name in each.roles else ""
            row = [str(each.head), f"{TEXTS[name]} {value:.2f}{spread}"]
            row += [f"{each.removal.mean:+.4f} ± {each.removal.error:.4f}", f"{each.gradient:.4f}"]
            rows.append([*row, *([f"{each.bleu or 0:.2f}"] * has_bleu)])
        curves = [
            [
                "heads removed",
                *(f"{title.split(',')[0]}, {name}" for title, some in self.panels().items() for name in some),
            ]
        ]
        for count in range(max(map(len, self.curves.values()), default=0)):
            values = [f"{value[count]:.4f}" for some in self.panels().values() for value in some.values()]
            curves.append([str(count), *values])
        whole = f"loss of the whole model: {self.loss:.4f} nats per target token"
        whole += f", BLEU {self.bleu:.2f}" if self.bleu is not None else ""
        tau = "none" if self.agreement is None else f"{self.agreement:.2f}"
        correlation = f"rank correlation of gradient scores with removal: {tau}"
        return "\n".join([whole, "", *_aligned(rows), "", correlation, "", *_aligned(curves)])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of text, as wide as their longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
