"""Attention as text: shaded blocks that any terminal, pipe or log file can show, without colours.

              d  h
              o  a
           A  g  s     most
Ein        ██ ░░       A 81 %
Hund       ░░ ██       dog 77 %
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len, set_cell_size

from limelight.errors import UserError
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.words import drawable

BLOCKS = " ░▒▓█"
ASCII = " .:*#"
"""For terminals that cannot show blocks: five steps, like `BLOCKS`."""

NARROWEST = 24
"""Columns of text that a picture needs at least."""

CELL = 2  # a letter is about twice as high as wide, so two of them are a square
TALLEST_HEADER = 12


def text_picture(
    attention: AttentionMap,
    kind: str = "cross",
    *,
    layer: int | None = None,
    heads: int | Sequence[int] | None = None,
    width: int = 80,
    shades: str = BLOCKS,
) -> str:
    """The mean over the chosen layers and heads (see `AttentionMap.average`) as lines of at most `width` columns.

    Rows ask, columns (written downwards) are looked at; at the right of each row stands where most of it went. What is
    too wide for one picture goes on in further ones below. The last line tells what the shades mean.
    Raises `UserError` for a kind, layer or head that is not there, or a width below `NARROWEST`.
    """
    rows, columns = attention.labels(kind)
    picture = shade(attention.average(kind, layer=layer, heads=heads), rows, columns, width=width, shades=shades)
    return picture + ("\n</s> left out, rescaled" if attention.end_dropped else "")


def shade(
    weights: npt.NDArray[np.float32],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    width: int = 80,
    shades: str = BLOCKS,
) -> str:
    """Any weights (rows, columns) as such a picture."""
    if width < NARROWEST:
        raise UserError(
            f"a width of {width} is too narrow for a picture of attention: give at least {NARROWEST} columns"
        )
    rows, columns = [drawable(row) for row in rows], [drawable(column) for column in columns]
    if not rows or not columns:
        raise UserError("there is nothing to draw: a side of this map has no pieces")
    label = min(max(map(cell_len, rows)), width // 4)
    most = [_most(row, columns) for row in weights]
    side = min(max(map(cell_len, most)), width // 3)
    at_once = (width - label - side - 2) // CELL
    peak = float(weights.max())
    lines: list[str] = []
    for first in range(0, len(columns), at_once):
        chosen = slice(first, first + at_once)
        lines += [" " * (label + 1) + line for line in _header(columns[chosen])]
        for row, values, note in zip(rows, weights, most, strict=True):
            cells = "".join(shades[level] * CELL for level in _levels(values[chosen], peak, len(shades)))
            lines.append(f"{_cut(row, label)} {cells} {_cut(note, side)}".rstrip())
        lines.append("")
    return "\n".join([*lines, *_legend(peak, shades, width)])


def _most(values: npt.NDArray[np.float32], columns: Sequence[str]) -> str:
    best = int(values.argmax())
    return f"{values[best]:4.0%} {columns[best]}" if values[best] > 0 else ""


def _levels(values: npt.NDArray[np.float32], peak: float, count: int) -> npt.NDArray[np.int64]:
    """Equal steps from nothing to the largest weight."""
    share = values / peak if peak else np.zeros_like(values)
    levels: npt.NDArray[np.int64] = np.minimum(share * count, count - 1).astype(np.int64)
    return levels


def _legend(peak: float, shades: str, width: int) -> list[str]:
    """Where each shade begins, in as many lines as the width asks for."""
    entries = [f"{shade * CELL} from {peak * step / len(shades):.2f}" for step, shade in enumerate(shades) if step]
    lines = [""]
    for entry in entries:
        joined = f"{lines[-1]}   {entry}" if lines[-1] else entry
        if len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(entry)
    return lines


def _header(columns: Sequence[str]) -> list[str]:
    """The columns' words written downwards, their last letters on one line."""
    words = [_upright(column) for column in columns]
    height = max(map(len, words))
    padded = [[""] * (height - len(word)) + word for word in words]
    return ["".join(set_cell_size(letter, CELL) for letter in line).rstrip() for line in zip(*padded, strict=True)]


def _upright(text: str) -> list[str]:
    """The letters, each with the marks that belong to it; a long word is cut and says so."""
    letters: list[str] = []
    for character in text:
        if letters and cell_len(character) == 0:
            letters[-1] += character
        else:
            letters.append(character)
    return letters if len(letters) <= TALLEST_HEADER else [*letters[: TALLEST_HEADER - 1], "…"]


def _cut(text: str, width: int) -> str:
    """Exactly `width` columns; what is too long ends in an ellipsis."""
    if cell_len(text) > width:
        return set_cell_size(text, width - 1) + "…"
    return set_cell_size(text, width)
