"""Heat maps of weights with matplotlib (the `plot` extra), which only this file imports.

Rows are queries, columns are keys. All pictures have the same scale, from 0 to 1, so that they can be compared. In the
theme `dark` large weights are bright (as in figure 3 of Bahdanau et al. 2015); `light` is for print: white is 0. Masked
cells are gray in both. Figures are created without pyplot, so that a server may draw in any thread.
"""

import io
import textwrap
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.errors import UserError
from limelight.inspection.words import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS: dict[str, str] = {"dark": "magma", "light": "Blues"}
"""Perceptually uniform color maps, also in gray and for color-blind readers."""
MASKED: dict[str, str] = {"dark": "0.45", "light": "0.85"}
"""Gray levels that no weight has."""

MAX_LABEL_LENGTH = 24
NARROWEST_TITLE = 72  # letters of a line
CELL, PANEL = 0.3, 2.4  # inches: of a cell, and of each of several heat maps beside one another
MAX_PICTURE = 40.0  # inches; 6,000 pixels at 150 dpi, which every viewer can open
DOTS_PER_INCH = 150

_ONE_AT_A_TIME = threading.Lock()  # matplotlib's settings and Python's warning filters are shared by all threads


class Panel(NamedTuple):
    """Numbers (rows, columns) with their labels."""

    name: str
    values: npt.NDArray[np.floating]
    rows: Sequence[str]
    columns: Sequence[str]


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(
    panels: Sequence[Sequence[Panel]],
    *,
    may_attend: npt.NDArray[np.bool_] | None = None,
    title: str = "",
    theme: str = "dark",
) -> "Figure":
    """Heat maps, in rows of pictures; values are shown from 0 to 1. Those beside one another have the same labels,
    which are written at the outer edges, and the name of each is below it.

    `may_attend` (rows, columns) is False for masked cells. Raises `UserError` for empty sides, an unknown theme, and if
    matplotlib is missing.
    """
    require_matplotlib(theme)
    from matplotlib.figure import Figure

    across = len(panels[0])
    sizes = [(len(row[0].rows), len(row[0].columns)) for row in panels]
    if not min(min(size) for size in sizes):
        raise UserError("there is nothing to draw: a side of this map has no tokens")
    height, width = sum(rows for rows, _ in sizes), across * max(columns for _, columns in sizes)
    cell = CELL if across == 1 else min(CELL / 2, PANEL / max(map(max, sizes)))
    cell = min(cell, MAX_PICTURE / height, MAX_PICTURE / width)
    font = max(4.0, min(9.0, cell * 72 * 0.62))
    labels = _labels([*panels[0][0].columns, *(label for row in panels for label in row[0].rows)])
    edge = max(map(len, labels)) * font * 0.6 / 72
    above = [number == 0 or row[0].columns != panels[number - 1][0].columns for number, row in enumerate(panels)]
    tall = cell * height + edge * sum(above) + 0.4 * len(panels)
    figure = Figure(figsize=(cell * width + edge + 0.3 * across, tall))
    grid = figure.subplots(
        len(panels), across, squeeze=False, height_ratios=[rows for rows, _ in sizes], gridspec_kw={"hspace": 0.3}
    )
    style: dict[str, Any] = {"fontsize": font, "fontfamily": _families([*labels, title]), "parse_math": False}
    every = max(1, round(font / 72 / cell + 0.4))
    for row, line, is_labeled in zip(panels, grid, above, strict=True):
        for place, (panel, axes) in enumerate(zip(row, line, strict=True)):
            values = panel.values.astype(np.float32)
            shown = values if may_attend is None else np.ma.masked_where(~may_attend, values)
            axes.set_facecolor(MASKED[theme])  # masked cells are transparent
            image = axes.imshow(shown, cmap=COLORS[theme], vmin=0, vmax=1, aspect="equal", interpolation="none")
            axes.spines[:].set_color("0.7")
            axes.tick_params(length=0)
            _write(axes, panel.rows if place == 0 else (), panel.columns if is_labeled else (), every, style)
            if across > 1:
                axes.set_xlabel(panel.name, fontsize=7, labelpad=2)
    bar = figure.colorbar(image, ax=grid, fraction=0.03, pad=0.02)
    bar.ax.tick_params(labelsize=7, length=2)
    letters = max(NARROWEST_TITLE, int(figure.get_size_inches()[0] * 72 / (9 * 0.55)))
    lines = [part for line in title.split("\n") for part in textwrap.wrap(line, letters)]
    grid[0][0].set_title("\n".join(lines), loc="left", pad=10, **{**style, "fontsize": 9})
    return figure


def picture_bytes(figure: "Figure", form: str) -> bytes:
    """The finished picture as `png`, `svg` or `pdf`. The same figure gives the same bytes; in the last two labels stay
    text."""
    from matplotlib import rc_context

    content = io.BytesIO()
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "limelight", "pdf.fonttype": 42}
    with _ONE_AT_A_TIME, rc_context(settings), warnings.catch_warnings():
        # Characters without an installed font are drawn as boxes; in SVG the viewer's fonts are used.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(content, format=form, dpi=DOTS_PER_INCH, bbox_inches="tight", pad_inches=0.15, metadata=metadata)
    return content.getvalue()


def require_matplotlib(theme: str = "dark") -> None:
    """Raise `UserError` for an unknown theme, and if matplotlib is missing."""
    if theme not in COLORS:
        raise UserError(f"unknown theme {theme!r}; themes are {', '.join(COLORS)}")
    if not can_draw():
        raise UserError('pictures need matplotlib: pip install "limelight[plot]" (JSON and text need nothing)')


def _labels(pieces: Sequence[str]) -> list[str]:
    """Tokens as labels: truncated, and without characters that cannot be drawn or are not valid in SVG."""
    shown = map(drawable, pieces)
    return [text if len(text) <= MAX_LABEL_LENGTH else text[: MAX_LABEL_LENGTH - 1] + "…" for text in shown]


def _write(axes: "Axes", rows: Sequence[str], columns: Sequence[str], every: int, style: Mapping[str, Any]) -> None:
    """Write tokens at the left and above; if cells are smaller than letters, only every second, third ... token."""
    # Anchored at the baseline: centered boxes would shift tokens with the low word-start mark.
    upright: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor", "ha": "left", "va": "center_baseline"}
    axes.xaxis.tick_top()
    axes.set_xticks(range(0, len(columns), every), _labels(columns)[::every], **upright, **style)
    axes.set_yticks(range(0, len(rows), every), _labels(rows)[::every], **style)


def _families(labels: Iterable[str]) -> list[str]:
    """matplotlib's own font, then installed fonts for characters that it lacks, as a fallback list."""
    from matplotlib import font_manager

    families = ["DejaVu Sans"]
    missing = {ord(letter) for label in labels for letter in label}
    missing -= set(font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap())
    # Only one face of a font file is used; sorted names make the choice deterministic.
    for font in sorted(font_manager.fontManager.ttflist, key=lambda font: (font.name, font.fname)):
        if not missing:
            break
        if font.name in families or font.style != "normal" or font.weight not in (400, "normal"):
            continue
        found = missing & set(font_manager.get_font(font.fname).get_charmap())
        if found:
            families.append(font.name)
            missing -= found
    return families
