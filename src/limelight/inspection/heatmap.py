"""Pictures of attention with matplotlib (the `plot` extra), which only this file imports.

Rows ask, columns are looked at, light falls on what is attended to (as in figure 3 of Bahdanau et al. 2015). Figures
are built by hand, without pyplot, so that nothing global changes and a server may draw in any thread.
"""

import io
import threading
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from limelight.errors import UserError
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.words import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

COLOURS = "magma"  # perceptually uniform: equal steps look equal, also in grey and to the colour-blind
LONGEST_LABEL = 24
LARGEST_PANEL = 2.4  # inches; of one head in a grid
LARGEST_PICTURE = 40.0  # inches; at 150 dots that is 6,000 dots, which every viewer still opens
DOTS_PER_INCH = 150

_ONE_AT_A_TIME = threading.Lock()  # matplotlib's settings and Python's warning filters are shared by all threads

TITLES: dict[str, str] = {
    "cross": "cross attention: predicted target (rows) to source (columns)",
    "encoder_self": "encoder self-attention: source to source",
    "decoder_self": "decoder self-attention: read target to read target",
}


class _Sizes(NamedTuple):
    """All in inches but the font, which is in points."""

    cell: float
    font: float
    left: float
    top: float


def draw_average(
    attention: AttentionMap,
    kind: str = "cross",
    *,
    layer: int | None = None,
    heads: int | Sequence[int] | None = None,
) -> "Figure":
    """One heat map: the mean over the chosen layers and heads (see `AttentionMap.average`).

    The colours go from nothing to the largest weight, which the colour bar tells. Raises `UserError` for a kind, layer
    or head that is not there, or where matplotlib is missing.
    """
    weights = attention.average(kind, layer=layer, heads=heads)
    title = f"{TITLES[kind]}\n{_which(layer, heads)}{_left_out(attention)}"
    return draw_weights(weights, *attention.labels(kind), title=title)


def draw_weights(
    weights: npt.NDArray[np.float32], rows: Sequence[str], columns: Sequence[str], *, title: str = ""
) -> "Figure":
    """Any weights (rows, columns) as one heat map. Sizes follow the number of labels, cells are square."""
    _require_matplotlib()
    rows, columns = _labels(rows), _labels(columns)
    sizes = _sizes(rows, columns, across=1, down=1, cell=0.3)
    width, height = sizes.cell * len(columns), sizes.cell * len(rows)
    figure = _figure(sizes.left + width + 0.8, sizes.top + height + 0.3)
    axes = _axes(figure, sizes.left, sizes.top, width, height)
    image = _heat(axes, weights, float(weights.max(initial=0)))
    _label(axes, rows, columns, sizes, _families([*rows, *columns]))
    _colour_bar(figure, image, sizes.left + width + 0.15, sizes.top, height=min(height, 2.5))
    figure.text(0, 1, title, ha="left", va="bottom", fontsize=9, parse_math=False)
    return figure


def draw_grid(attention: AttentionMap, kind: str = "cross") -> "Figure":
    """Every layer (down) and head (across) of one kind as small heat maps with one scale of colours.

    Pieces are written at the outer edge only. Raises `UserError` for a kind that is not there, or where matplotlib is
    missing.
    """
    _require_matplotlib()
    weights = attention.weights(kind)
    layers, heads = weights.shape[:2]
    rows, columns = (_labels(labels) for labels in attention.labels(kind))
    sizes = _sizes(
        rows, columns, across=heads, down=layers, cell=min(0.15, LARGEST_PANEL / max(len(rows), len(columns)))
    )
    width, height, gap = sizes.cell * len(columns), sizes.cell * len(rows), 0.25
    figure = _figure(sizes.left + heads * (width + gap) + 0.7, sizes.top + layers * (height + gap) + 0.1)
    families, peak = _families([*rows, *columns]), float(weights.max(initial=0))
    for layer in range(layers):
        for head in range(heads):
            left, top = sizes.left + head * (width + gap), sizes.top + layer * (height + gap)
            axes = _axes(figure, left, top, width, height)
            image = _heat(axes, weights[layer, head], peak)
            _label(axes, rows if head == 0 else (), columns if layer == 0 else (), sizes, families)
            axes.set_xlabel(f"layer {layer}, head {head}", fontsize=7, labelpad=2)
    _colour_bar(figure, image, sizes.left + heads * (width + gap), sizes.top, height=min(height * layers, 2.5))
    figure.text(0, 1, TITLES[kind] + _left_out(attention), ha="left", va="bottom", fontsize=9)
    return figure


def picture_bytes(figure: "Figure", form: Literal["png", "svg"]) -> bytes:
    """The finished picture. The same figure gives the same bytes; in SVG, labels stay text that can be searched."""
    from matplotlib import rc_context

    content = io.BytesIO()
    metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "limelight"}
    with _ONE_AT_A_TIME, rc_context(settings), warnings.catch_warnings():
        # A character that no installed font has is drawn as a box; in SVG the viewer's fonts draw it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(content, format=form, dpi=DOTS_PER_INCH, bbox_inches="tight", pad_inches=0.15, metadata=metadata)
    return content.getvalue()


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise UserError(
            'pictures need matplotlib: pip install "limelight[plot]" (JSON and text need nothing)'
        ) from None


def _left_out(attention: AttentionMap) -> str:
    return "; without the source's </s>, rows rescaled" if attention.end_dropped else ""


def _which(layer: int | None, heads: int | Sequence[int] | None) -> str:
    which_layer = "mean of all layers" if layer is None else f"layer {layer}"
    if heads is None:
        which_heads = "mean of all heads"
    elif isinstance(heads, int):
        which_heads = f"head {heads}"
    else:
        which_heads = f"mean of heads {', '.join(map(str, heads))}"
    return f"{which_layer}, {which_heads}"


def _labels(pieces: Sequence[str]) -> tuple[str, ...]:
    """Pieces as labels: not too long, and without what cannot be drawn or stand in an SVG file."""
    if not pieces:
        raise UserError("there is nothing to draw: a side of this map has no pieces")
    shown = map(drawable, pieces)
    return tuple(text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…" for text in shown)


def _sizes(rows: Sequence[str], columns: Sequence[str], *, across: int, down: int, cell: float) -> _Sizes:
    """Cells of the wanted size, or smaller ones where the picture would not end; letters follow the cells."""
    cell = min(cell, LARGEST_PICTURE / (across * len(columns)), LARGEST_PICTURE / (down * len(rows)))
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


def _heat(axes: "Axes", weights: npt.NDArray[np.float32], peak: float) -> "AxesImage":
    image = axes.imshow(weights, cmap=COLOURS, vmin=0, vmax=peak or 1, aspect="auto", interpolation="none")
    axes.spines[:].set_color("0.7")
    axes.tick_params(length=0)
    return image


def _label(axes: "Axes", rows: Sequence[str], columns: Sequence[str], sizes: _Sizes, families: Sequence[str]) -> None:
    """Pieces at the left and above; where cells are smaller than letters only every second, third ... is written."""
    every = max(1, round(sizes.font / 72 / sizes.cell + 0.4))
    style: dict[str, Any] = {"fontsize": sizes.font, "fontfamily": list(families), "parse_math": False}
    # Anchored at the baseline: centred boxes would shift the pieces that carry the low mark of a word's start.
    upright: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor", "ha": "left", "va": "center_baseline"}
    axes.xaxis.tick_top()
    axes.set_xticks(range(0, len(columns), every), columns[::every], **upright, **style)
    axes.set_yticks(range(0, len(rows), every), rows[::every], **style)


def _colour_bar(figure: "Figure", image: "AxesImage", left: float, top: float, *, height: float) -> None:
    bar = figure.colorbar(image, cax=_axes(figure, left, top, 0.12, height))
    bar.outline.set_edgecolor("0.7")
    bar.ax.tick_params(labelsize=7, length=2)


def _families(labels: Iterable[str]) -> list[str]:
    """matplotlib's own font, then installed ones for characters it has not; letters fall back along the list."""
    from matplotlib import font_manager

    families = ["DejaVu Sans"]
    missing = {ord(letter) for label in labels for letter in label}
    missing -= set(font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap())
    # Files with several faces give one of them only; names in order make the choice repeatable.
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
