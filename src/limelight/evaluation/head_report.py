"""The figures of `study_heads`, of each head and of heads that are removed in turn, as JSON and as text."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

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
    gradient_share: float
    """The same divided by the l2 norm of the scores of its attention."""
    bleu: float | None = None
    """BLEU without this head."""
    alignment_error_rate: Mapping[str, float] = field(default_factory=dict)
    """The rate of the head alone, with its weights at the steps that predict a word (`predicting`) or read it
    (`reading`)."""

    @property
    def role(self) -> tuple[str, float]:
        """The name and the number of its clearest role."""
        return name_role({name: value.mean for name, value in self.roles.items()})


class Point(NamedTuple):
    """One step of a pruning curve."""

    removed: Head | None
    """The head that goes in this step; None for the whole model."""
    loss: float
    bleu: float | None


@dataclass(frozen=True, slots=True)
class HeadStudy:
    """The result of `study_heads`."""

    loss: float
    """The mean of -log p per target token of the whole model, natural logarithm."""
    bleu: float | None
    heads: tuple[HeadFigures, ...]
    """In the order of the model."""
    chance: Mapping[str, Mapping[str, float]]
    """For each kind of attention the number of each role that a head with equal weights has."""
    curves: Mapping[str, tuple[Point, ...]]
    """Heads removed by the order of `removal` or `gradient`."""
    provenance: Mapping[str, Any]

    @property
    def agreement(self) -> dict[str, float | None]:
        """Kendall's tau between the order of heads by removal and that by `gradient` or `gradient_share`."""
        removals = np.array([[each.removal.mean for each in self.heads]])
        return {
            name: rank_correlation(np.array([[getattr(each, name) for each in self.heads]]), removals)
            for name in ("gradient", "gradient_share")
        }

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
            "bleu": self.bleu,
            "heads": [_head(each) for each in self.heads],
            "agreement": self.agreement,
            "chance": {kind: dict(values) for kind, values in self.chance.items()},
            "curves": {
                name: [
                    {"removed": None if point.removed is None else list(point.removed), "loss": point.loss}
                    | ({} if point.bleu is None else {"bleu": point.bleu})
                    for point in points
                ]
                for name, points in self.curves.items()
            },
            "provenance": dict(self.provenance),
        }

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n"

    def table(self) -> str:
        """The figures as text: heads from the most needed to the least, then the pruning curves."""
        with_bleu, rates = self.bleu is not None, bool(self.heads and any(x.alignment_error_rate for x in self.heads))
        titles = ["head", "role", "loss without it", "gradient"]
        titles += ["BLEU without it"] * with_bleu + ["AER predicting, reading"] * rates
        rows = []
        for each in sorted(self.heads, key=lambda one: -one.removal.mean):
            name, value = each.role
            shown = f"{TEXTS[name]} {value:.2f}"
            if name in each.roles:
                shown += f" ± {each.roles[name].deviation:.2f}"
            row = [
                str(each.head),
                shown,
                f"{each.removal.mean:+.4f} ± {each.removal.error:.4f}",
                f"{each.gradient:.4f}",
            ]
            row += [f"{each.bleu or 0:.2f}"] * with_bleu
            row += [", ".join(f"{rate:.3f}" for rate in each.alignment_error_rate.values())] * rates
            rows.append(row)
        whole = f"loss of the whole model: {self.loss:.4f} nats per target token"
        lines = [whole + (f", BLEU {self.bleu:.2f}" if self.bleu is not None else ""), "", *_aligned([titles, *rows])]
        taus = " and ".join("no" if tau is None else f"{tau:.2f}" for tau in self.agreement.values())
        lines += [
            "",
            f"rank correlation of gradient scores with removal: {taus} (divided by the norm of their attention)",
        ]
        return "\n".join([*lines, "", *self._curve_lines()])

    def _curve_lines(self) -> list[str]:
        if not self.curves:
            return []
        titles = ["heads removed", *(f"loss, by {name}" for name in self.curves)]
        titles += [f"BLEU, by {name}" for name in self.curves] if self.bleu is not None else []
        rows = []
        for count in range(max(map(len, self.curves.values()))):
            points = [points[count] for points in self.curves.values()]
            row = [str(count), *(f"{point.loss:.4f}" for point in points)]
            rows.append(row + [f"{point.bleu:.2f}" for point in points if point.bleu is not None])
        return _aligned([titles, *rows])


def _head(each: HeadFigures) -> dict[str, Any]:
    values: dict[str, Any] = {
        "attention": each.head.attention,
        "head": each.head.number,
        "role": each.role[0],
        "roles": {name: value._asdict() for name, value in each.roles.items()},
        "removal": each.removal._asdict(),
        "gradient": each.gradient,
        "gradient_share": each.gradient_share,
    }
    if each.bleu is not None:
        values["bleu"] = each.bleu
    if each.alignment_error_rate:
        values["alignment_error_rate"] = dict(each.alignment_error_rate)
    return values


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of text, as wide as their longest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
