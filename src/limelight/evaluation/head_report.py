"""The figures of `study_heads`, as JSON and as text."""

from collections.abc import Mapping
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


class HeadFigures(NamedTuple):
    """The measurements of one head."""

    head: Head
    roles: Mapping[str, Mean]
    """The number of each role (see `inspection.head_roles`)."""
    removal: Change
    """The change of the loss without this head, in nats per target token; positive if the head is needed."""
    gradient: float
    """The gradient score, in nats per target token."""

    @property
    def role(self) -> tuple[str, float]:
        """The name and the number of its clearest role."""
        return name_role({name: value.mean for name, value in self.roles.items()})

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "attention": self.head.attention,
            "head": self.head.number,
            "role": self.role[0],
            "roles": {name: value._asdict() for name, value in self.roles.items()},
            "removal": self.removal._asdict(),
            "gradient": self.gradient,
        }


@dataclass(frozen=True)
class HeadStudy(Figures):
    """The result of `study_heads`."""

    loss: float
    """The mean of -log p per target token of the whole model, natural logarithm."""
    heads: tuple[HeadFigures, ...]
    """In the order of the model."""
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "loss": self.loss,
            "heads": [each.to_dict() for each in self.heads],
            "agreement": {"gradient": self.agreement},
            "provenance": dict(self.provenance),
        }

    def table(self) -> str:
        """The figures as text: heads from the most needed to the least."""
        rows = [["head", "role", "loss without it", "gradient"]]
        for each in sorted(self.heads, key=lambda one: -one.removal.mean):
            name, value = each.role
            spread = f" ± {each.roles[name].deviation:.2f}" if name in each.roles else ""
            removal = f"{each.removal.mean:+.4f} ± {each.removal.error:.4f}"
            rows.append([str(each.head), f"{TEXTS[name]} {value:.2f}{spread}", removal, f"{each.gradient:.4f}"])
        whole = f"loss of the whole model: {self.loss:.4f} nats per target token"
        tau = "none" if self.agreement is None else f"{self.agreement:.2f}"
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([whole, "", *lines, "", f"rank correlation of gradient scores with removal: {tau}"])
