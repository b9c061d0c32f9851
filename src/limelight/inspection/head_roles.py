"""The role of a head: a name and a number, computed from its weights for a sentence (of many: `evaluation/heads.py`).

| role           | kinds          | number                                                                             |
|----------------|----------------|------------------------------------------------------------------------------------|
| `previous`     | self-attention | mean weight of the token before                                                    |
| `same`         | self-attention | mean weight of the token itself                                                    |
| `next`         | encoder        | mean weight of the next token                                                      |
| `end`, `start` | all            | mean weight of the source's `</s>`; in the decoder of `<s>`                        |
| `aligns`       | cross          | share of target tokens whose largest weight is on the word that they need most     |
| `single`       | all            | mean weight of the token with the largest weight, excluding the roles above        |
| `focused`      | all            | one minus `spread`, if that is below one half and no role above is clear           |
| `spread`       | all            | entropy of a row as a share of its maximum                                         |
| `signs`        | all            | mean weight of all punctuation                                                     |
| `rare`, `tag`  | encoder, cross | mean weight of the source's least frequent token; of its tag, such as `<2de>`      |

The first token of a decoder can only attend to itself, so it is excluded. `</s>` is no word. `signs`, `rare` and `tag`
are measured where their columns are given. Which source word a target
token needs comes from the model's alignment heads (`word_alignment.py`) or from leaving words out (`erasure.py`): a
head that looks at the translation of the word before has large weights on different words, too. Without such a
measurement no head is said to align.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Weights = npt.NDArray[np.float32]

CLEAR = 0.4
"""Minimum number for a role to be named; below it a head is called focused or spread."""

NEAR = 0.01
"""Margin by which `single` must exceed every other role."""

TEXTS = {
    "previous": "previous token",
    "same": "same token",
    "next": "next token",
    "end": "end token",
    "start": "start token",
    "aligns": "aligns",
    "aligns_read": "aligns when read",
    "signs": "punctuation",
    "tag": "language tag",
    "rare": "rarest token",
    "single": "one token",
    "focused": "focused",
    "spread": "spread",
}


Needed = Sequence[Collection[int]]
"""For each target token the columns of the source word that it needs most; none if it needs none."""
Columns = Mapping[str, Sequence[int]]
"""Sets of columns by the name of their role: `signs`, `rare`, `tag`."""


def head_roles(weights: Weights, kind: str, *, needed: Needed | None = None) -> list[list[dict[str, Any]]]:
    """For each layer and head of `weights` (layers, heads, rows, columns): `{"role", "value", "text"}`."""
    return [[_described(head, kind, needed) for head in layer] for layer in weights]


def _described(head: Weights, kind: str, needed: Needed | None) -> dict[str, Any]:
    role, value = name_role(measures(head, kind, needed=needed))
    return {"role": role, "value": round(value, 4), "text": f"{TEXTS[role]} {value:.2f}"}


def name_role(measured: Mapping[str, float]) -> tuple[str, float]:
    """The role with the largest number, if it is clear; else `spread` or `focused`."""
    others = {name: value for name, value in measured.items() if name != "spread"}
    spread = measured["spread"]
    # The one token that gets most often belongs to another role, which says more and has equal numbers.
    role, value = max(others.items(), key=lambda item: item[1] - NEAR * (item[0] == "single"))
    if value < CLEAR:
        return ("spread", spread) if spread >= 0.5 else ("focused", 1 - spread)
    return role, value


def measures(
    head: Weights,
    kind: str,
    *,
    needed: Needed | None = None,
    columns: Columns | None = None,
) -> dict[str, float]:
    """The number of each role in the table for one head (rows, columns)."""
    measured = {"spread": _spread(head, causal=kind == "decoder_self")}
    if kind == "cross":
        inner = head[:, :-1]
        if needed is not None and inner.shape[1]:
            measured["aligns"] = _share_on_needed(inner, needed)
    else:
        measured["previous"] = _mean(np.diagonal(head, -1))
        measured["same"] = _mean(np.diagonal(head)[1:])
    if kind == "encoder_self":
        measured["next"] = _mean(np.diagonal(head, 1))
    if kind == "decoder_self":
        measured["start"] = _mean(head[1:, 0])
    elif head.shape[1] > 1:
        measured["end"] = _mean(head[:, -1])
    measured["single"] = _single(head, kind)
    later = head[1:] if kind == "decoder_self" else head
    for name, of_name in (columns or {}).items():
        measured[name] = _mean(later[:, list(of_name)].sum(axis=1))
    return measured


def _share_on_needed(weights: Weights, needed: Needed) -> float:
    """The share of rows whose largest weight is on a needed column."""
    shares = [
        row.max() > 0 and int(row.argmax()) in wanted for row, wanted in zip(weights, needed, strict=False) if wanted
    ]
    return sum(shares) / len(shares) if shares else 0.0


def _single(head: Weights, kind: str) -> float:
    """The number of `single`. Start and end are excluded, as they have their own roles; so are later tokens of a
    decoder, to which not every row may attend."""
    columns = head[1:, 1:2] if kind == "decoder_self" else head[:, :-1]
    return float(columns.mean(axis=0).max()) if columns.size and len(head) > 2 else 0.0


def _spread(head: Weights, *, causal: bool) -> float:
    """Entropy as a share of the entropy of a uniform row; rows that may attend to only one token are excluded."""
    rows = np.arange(1, len(head) + 1) if causal else np.full(len(head), head.shape[1])
    many = rows > 1
    if not many.any():
        return 0.0
    seen = head[many].astype(np.float64)
    entropy = -(seen * np.log(np.where(seen > 0, seen, 1.0))).sum(axis=1)
    return float((entropy / np.log(rows[many])).mean())


def _mean(values: Weights) -> float:
    return float(values.mean()) if values.size else 0.0
