"""Heat maps of weights, and curves, with matplotlib (the `plot` extra), which only this file imports.

Rows are queries, columns are keys. All pictures have the same scale, from 0 to 1, so that they can be compared. In the
theme `dark` large weights are bright (as in figure 3 of Bahdanau et al. 2015); `light` is for print: white is 0. Masked
cells are gray in both. Figures are created without pyplot, so that no global state changes and a server may draw in any
thread.
"""

import io
import textwrap
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.errors import UserError
from limelight.inspection.words import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Figure  # for `pictures`, which must not import matplotlib
    from matplotlib.image import AxesImage

Weights = npt.NDArray[np.float32]
Truths = npt.NDArray[np.bool_]

COLORS: dict[str, str] = {"dark": "magma", "light": "Blues"}
"""Perceptually uniform color maps, also in gray and for color-blind readers."""
MASKED: dict[str, str] = {"dark": "0.45", "light": "0.85"}
"""Gray levels that no weight has."""
SCALE = 1.0
"""The maximum weight."""

MAX_LABEL_LENGTH = 24
TITLE_FONT, NARROWEST_TITLE = 9, 72  # points; letters of a line of the title at least
MAX_PANEL = 2.4  # inches, of one head in a grid
MAX_PICTURE = 40.0  # inches; 6,000 pixels at 150 dpi, which every viewer can open
DOTS_PER_INCH = 150

_ONE_AT_A_TIME = threading.Lock()  # matplotlib's settings and Python's warning filters are shared by all threads


class _Sizes(NamedTuple):
    """Sizes of a picture in inches; the font in points."""

    cell: float
    font: float
    left: float
    top: float


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw_weights(
    weights: Weights,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    may_attend: Truths | None = None,
    title: str = "",
    theme: str = "dark",
) -> "Figure":
    """Any weights (rows, columns), from 0 to 1, as one heat map. Sizes follow the number of labels, cells are square.

    `may_attend` (rows, columns) is False for masked cells. Raises `UserError` for empty sides, an unknown theme, and
    if matplotlib is missing.
    """
    return draw_stacked([(weights, rows, columns)], may_attend=may_attend, title=title, theme=theme)


def draw_panels(
    weights: Weights,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    may_attend: Truths | None = None,
    title: str = "",
    theme: str = "dark",
) -> "Figure":
    """Weights (layers, heads, rows, columns): layers down and heads across as small heat maps.

    Tokens are written only at the outer edges. Other arguments and errors are as in `draw_weights`.
    """
    require_matplotlib(theme)
    layers, heads = weights.shape[:2]
    rows, columns = _labels(rows), _labels(columns)
    sizes = _sizes(rows, columns, across=heads, down=layers, cell=min(0.15, MAX_PANEL / max(len(rows), len(columns))))
    width, height, gap = sizes.cell * len(columns), sizes.cell * len(rows), 0.25
    figure = _figure(sizes.left + heads * (width + gap) + 0.7, sizes.top + layers * (height + gap) + 0.1)
    families = _families([*rows, *columns])
    for layer in range(layers):
        for head in range(heads):
            left, top = sizes.left + head * (width + gap), sizes.top + layer * (height + gap)
            axes = _axes(figure, left, top, width, height)
            image = _heat(axes, weights[layer, head], may_attend, theme)
            _label(axes, rows if head == 0 else (), columns if layer == 0 else (), sizes, families)
            axes.set_xlabel(f"layer {layer}, head {head}", fontsize=7, labelpad=2)
    _color_bar(figure, image, sizes.left + heads * (width + gap), sizes.top, height=min(height * layers, 2.5))
    _title(figure, title)
    return figure


def draw_stacked(
    panels: Sequence[tuple[npt.NDArray[np.floating], Sequence[str], Sequence[str]]],
    *,
    may_attend: Truths | None = None,
    title: str = "",
    theme: str = "dark",
) -> "Figure":
    """Several heat maps (values, rows, columns) below one another; values are shown from 0 to 1.

    Errors are those of `draw_weights`.
    """
    require_matplotlib(theme)
    labeled = [(values, _labels(rows), _labels(columns)) for values, rows, columns in panels]
    down = sum(len(rows) for _, rows, _ in labeled)
    longest = max((columns for *_, columns in labeled), key=len)
    deepest = max((rows for _, rows, _ in labeled), key=lambda rows: max(map(len, rows)))
    sizes = _sizes(deepest, longest, across=1, down=1, cell=min(0.3, MAX_PICTURE / down))
    tops = [max(_sizes(rows, columns, across=1, down=1, cell=sizes.cell).top, 0.3) for _, rows, columns in labeled]
    figure = _figure(sizes.left + sizes.cell * len(longest) + 0.8, sum(tops) + sizes.cell * down + 0.3)
    families, place = _families([text for _, rows, columns in labeled for text in (*rows, *columns)]), 0.0
    for (values, rows, columns), top in zip(labeled, tops, strict=True):
        place += top
        width, height = sizes.cell * len(columns), sizes.cell * len(rows)
        axes = _axes(figure, sizes.left, place, width, height)
        image = _heat(axes, values.astype(np.float32), may_attend, theme)
        _label(axes, rows, columns, sizes, families)
        place += height
    _color_bar(figure, image, sizes.left + sizes.cell * len(longest) + 0.15, tops[0], height=min(place, 2.5))
    _title(figure, title)
    return figure


LINES: dict[str, Sequence[str]] = {
    "dark": ("#fcfdbf", "#fe9f6d", "#b73779", "#6f7fd0"),
    "light": ("#08519c", "#d95f02", "#1b9e77", "#7570b3"),
}
"""Colors of curves."""
PAPER: dict[str, tuple[str, str]] = {"dark": ("#111111", "#dddddd"), "light": ("white", "black")}
"""Background and text of curves."""


def draw_curves(panels: Mapping[str, Mapping[str, Sequence[float]]], *, across: str, theme: str = "dark") -> "Figure":
    """Curves over 0, 1, 2 ...: for each panel its label and its curves by name. `across` labels the horizontal axis.

    Raises `UserError` for an unknown theme, and if matplotlib is missing.
    """
    require_matplotlib(theme)
    background, ink = PAPER[theme]
    figure = _figure(4.6 * len(panels) + 0.4, 3.6)
    figure.set_facecolor(background)
    for number, (label, curves) in enumerate(panels.items()):
        axes = _axes(figure, 0.8 + 4.6 * number, 0.3, 3.7, 2.7)
        axes.set_facecolor(background)
        for place, (name, values) in enumerate(curves.items()):
            color = LINES[theme][place % len(LINES[theme])]
            axes.plot(range(len(values)), values, color=color, label=name, marker="osD^"[place % 4], markersize=2.5)
        axes.set_xlabel(across, color=ink, fontsize=8)
        axes.set_ylabel(label, color=ink, fontsize=8)
        axes.tick_params(colors=ink, labelsize=7)
        axes.spines[:].set_color("0.5")
        axes.grid(color="0.5", alpha=0.25, linewidth=0.5)
        axes.legend(fontsize=7, frameon=False, labelcolor=ink)
    return figure


PictureForm = Literal["png", "svg", "pdf"]


def picture_bytes(figure: "Figure", form: PictureForm) -> bytes:
    """The finished picture. The same figure gives the same bytes; in SVG and PDF, labels stay text."""
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


def _labels(pieces: Sequence[str]) -> tuple[str, ...]:
    """Tokens as labels: truncated, and without characters that cannot be drawn or are not valid in SVG."""
    if not pieces:
        raise UserError("there is nothing to draw: a side of this map has no tokens")
    shown = map(drawable, pieces)
    return tuple(text if len(text) <= MAX_LABEL_LENGTH else text[: MAX_LABEL_LENGTH - 1] + "…" for text in shown)


def _sizes(rows: Sequence[str], columns: Sequence[str], *, across: int, down: int, cell: float) -> _Sizes:
    """Cells of the given size, or smaller ones if the picture would be too large; the font size follows the cells."""
    cell = min(cell, MAX_PICTURE / (across * len(columns)), MAX_PICTURE / (down * len(rows)))
    font = max(4.0, min(9.0, cell * 72 * 0.62))
    letter = font / 72 * 0.6
    left = letter * max(map(len, rows)) + 0.15
    top = letter * max(map(len, columns)) + 0.15
    return _Sizes(cell, font, left, top)


def _figure(width: float, height: float) -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def _axes(figure: "Figure", left: float, top: float, width: float, height: float) -> "Axes":
    """Axes placed in inches from the upper left corner."""
    whole_width, whole_height = figure.get_size_inches()
    bottom = whole_height - top - height
    return figure.add_axes((left / whole_width, bottom / whole_height, width / whole_width, height / whole_height))


def _title(figure: "Figure", title: str) -> None:
    """Draw the title above the picture; lines are broken near its width, so that a long sentence does not widen it."""
    letters = max(NARROWEST_TITLE, int(figure.get_size_inches()[0] * 72 / (TITLE_FONT * 0.55)))
    lines = [part for line in title.split("\n") for part in textwrap.wrap(line, letters)]
    families = _families([title.replace("\n", "")])
    figure.text(
        0, 1, "\n".join(lines), ha="left", va="bottom", fontsize=TITLE_FONT, fontfamily=families, parse_math=False
    )


def _heat(axes: "Axes", weights: Weights, may_attend: Truths | None, theme: str) -> "AxesImage":
    shown = weights if may_attend is None else np.ma.masked_where(~may_attend, weights)
    axes.set_facecolor(MASKED[theme])  # masked cells are transparent
    image = axes.imshow(shown, cmap=COLORS[theme], vmin=0, vmax=SCALE, aspect="auto", interpolation="none")
    axes.spines[:].set_color("0.7")
    axes.tick_params(length=0)
    return image


def _label(axes: "Axes", rows: Sequence[str], columns: Sequence[str], sizes: _Sizes, families: Sequence[str]) -> None:
    """Draw tokens at the left and above; if cells are smaller than letters, only every second, third ... token."""
    every = max(1, round(sizes.font / 72 / sizes.cell + 0.4))
    style: dict[str, Any] = {"fontsize": sizes.font, "fontfamily": list(families), "parse_math": False}
    # Anchored at the baseline: centered boxes would shift tokens with the low word-start mark.
    upright: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor", "ha": "left", "va": "center_baseline"}
    axes.xaxis.tick_top()
    axes.set_xticks(range(0, len(columns), every), columns[::every], **upright, **style)
    axes.set_yticks(range(0, len(rows), every), rows[::every], **style)


def _color_bar(figure: "Figure", image: "AxesImage", left: float, top: float, *, height: float) -> None:
    bar = figure.colorbar(image, cax=_axes(figure, left, top, 0.12, height))
    bar.outline.set_edgecolor("0.7")
    bar.ax.tick_params(labelsize=7, length=2)


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
