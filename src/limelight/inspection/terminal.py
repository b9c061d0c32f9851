"""Attention as text: shaded blocks for any terminal, pipe or log file.

              d  h
              o  a
           A  g  s
Ein        ██ ░░ ·      81% A
Hund       ░░ ██ ·      77% dog
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from limelight.errors import UserError, drawable
from limelight.inspection.attention_map import AttentionMap, Chosen

BLOCKS = "·░▒▓█"
"""Five levels. The lowest one is also drawn, so that every label has its cells; a masked cell is blank."""
ASCII = ".:+*#"
"""Five levels for terminals that cannot show blocks."""

NARROWEST = 24
"""Minimum width of a picture in columns of text; in a narrower terminal its lines are broken."""

CELL = 2  # a letter is about twice as high as wide, so two of them are a square
TALLEST_HEADER = 12


def text_picture(
    attention: AttentionMap,
    kind: str = "cross",
    *,
    layer: int | None = None,
    heads: Chosen = None,
    width: int = 80,
    shades: str = BLOCKS,
) -> str:
    """The mean over the chosen layers and heads (see `AttentionMap.average`) as lines of at most `width` columns.

    The title is the sentence, the model, and what was averaged. Rows are queries, columns (labeled vertically) are
    keys; each row ends with its largest weight and that key. A map that is too wide is continued below. The last line
    is the legend. Raises `UserError` for an unknown kind, layer or head.
    """
    weights, may_attend = attention.average(kind, layer=layer, heads=heads), attention.may_attend(kind)
    picture = shade(weights, *attention.labels(kind), may_attend=may_attend, width=width, shades=shades)
    title = attention.title(kind, layer=layer, heads=heads)
    return "\n".join([*_wrapped(title.replace("→", "->") if shades.isascii() else title, width), "", picture])


def shade(
    weights: npt.NDArray[np.float32],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    may_attend: npt.NDArray[np.bool_] | None = None,
    width: int = 80,
    shades: str = BLOCKS,
) -> str:
    """Any weights (rows, columns) as such a picture; `may_attend` (rows, columns) is False for masked cells."""
    width = max(width, NARROWEST)
    rows, columns = [drawable(row) for row in rows], [drawable(column) for column in columns]
    if not rows or not columns:
        raise UserError("there is nothing to draw: a side of this map has no tokens")
    peak = float(weights.max())
    # Equal steps from 0 to the largest weight. The faintest is a single character, so that the others stand out.
    levels = np.minimum(weights / (peak or 1.0) * len(shades), len(shades) - 1).astype(np.int64)
    if may_attend is not None:
        levels[~may_attend] = -1
    drawn = [shades[0].ljust(CELL), *(sign * CELL for sign in shades[1:]), " " * CELL]
    legend = "   ".join(
        f"{sign.rstrip()}\xa0from\xa0{peak * level / len(shades):.2f}" for level, sign in enumerate(drawn[:-1])
    )
    best = weights.argmax(axis=1).tolist()
    notes = [
        f"{row[most]:4.0%} {columns[most]}" if row[most] > 0 else "" for row, most in zip(weights, best, strict=True)
    ]
    label, side = min(max(map(cell_len, rows)), width // 4), min(max(map(cell_len, notes)), width // 3)
    at_once, lines = (width - label - side - 2) // CELL, list[str]()
    for first in range(0, len(columns), at_once):  # as many columns as fit, then the next ones below
        last = first + at_once
        lines += [" " * (label + 1) + line for line in _header(columns[first:last])]
        for row, cells, note, most in zip(rows, levels[:, first:last].tolist(), notes, best, strict=True):
            beside = _cut(note, side) if first <= most < last else ""  # beside its cell
            lines.append(f"{_cut(row, label)} {''.join(drawn[level] for level in cells)} {beside}".rstrip())
        lines.append("")
    return "\n".join([*lines, *(line.replace("\xa0", " ") for line in _wrapped(legend, width))])


def _wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken at spaces if possible."""
    return [line.plain.rstrip() for line in Text(text).wrap(Console(width=width), width)]


def _header(columns: Sequence[str]) -> list[str]:
    """The labels of the columns written vertically, aligned at their ends."""
    words = [_upright(column) for column in columns]
    height = max(map(len, words))
    padded = [[""] * (height - len(word)) + word for word in words]
    return ["".join(set_cell_size(letter, CELL) for letter in line).rstrip() for line in zip(*padded, strict=True)]


def _upright(text: str) -> list[str]:
    """The letters, each with its combining marks; a long word is truncated with an ellipsis."""
    letters: list[str] = []
    for character in text:
        if letters and cell_len(character) == 0:
            letters[-1] += character
        else:
            letters.append(character)
    return letters if len(letters) <= TALLEST_HEADER else [*letters[: TALLEST_HEADER - 1], "…"]


def _cut(text: str, width: int) -> str:
    """The text in exactly `width` columns; longer text is truncated with an ellipsis."""
    shown = Text(text)
    shown.truncate(width, overflow="ellipsis", pad=True)
    return shown.plain
