"""The figures of `study_heads`, as JSON and as text."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from limelight.evaluation.summary import Figures
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
        }


@dataclass(frozen=True)
class HeadStudy(Figures):
    """The result of `study_heads`."""

    loss: float
    """The mean of -log p per target token of the whole model, natural logarithm."""
    heads: tuple[HeadFigures, ...]
    """In the order of the model."""
    provenance: Mapping[str, Any]

    def stored_roles(self) -> Roles:
        """The clearest role of each head, as a model folder keeps them."""
        roles: dict[str, list[Role]] = {}
        for head in self.heads:
            name, value = head.role
            deviation = head.roles["spread" if name == "focused" else name].deviation
            roles.setdefault(head.head.attention, []).append(Role(name, round(value, 4), round(deviation, 4)))
        return Roles(sentences=self.provenance["sentences"], attentions=roles)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "loss": self.loss,
            "heads": [head.to_dict() for head in self.heads],
            "provenance": dict(self.provenance),
        }

    def table(self) -> str:
        """The figures as text: heads from the most needed to the least."""
        rows = [["head", "role", "loss without it"]]
        for head in sorted(self.heads, key=lambda figures: -figures.removal.mean):
            name, value = head.role
            spread = f" ± {head.roles[name].deviation:.2f}" if name in head.roles else ""
            removal = f"{head.removal.mean:+.4f} ± {head.removal.error:.4f}"
            rows.append([str(head.head), f"{TEXTS[name]} {value:.2f}{spread}", removal])
        heading = f"loss of the whole model: {self.loss:.4f} nats per target token"
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([heading, "", *lines])
