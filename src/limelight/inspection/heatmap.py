"""Attention maps as files. Pictures are heat maps by matplotlib (the `plot` extra), which only this file imports.

Rows are queries, columns are keys. All pictures have the same scale, from 0 to 1, so that they can be compared. In the
theme `dark` large weights are bright (as in figure 3 of Bahdanau et al. 2015); `light` is for print: white is 0. Masked
cells are gray in both. Figures are created without pyplot, which would keep them.
"""

import io
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from limelight.errors import UserError, drawable
from limelight.files import write_output
from limelight.inspection.attention_map import AttentionMap, Chosen
from limelight.inspection.standalone import require_theme

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf", ".json", ".html")
COLORS = {"dark": "magma", "light": "Blues"}
"""Perceptually uniform color maps, also in gray and for color-blind readers."""
MASKED = {"dark": "0.45", "light": "0.85"}
"""Gray levels that no weight has."""

MAX_LABEL_LENGTH = 24
TITLE = 72  # letters of a line
CELL, PANEL = 0.3, 1.8  # inches: of a cell, and of each of several heat maps beside one another
MAX_PICTURE = 40.0  # inches; 6,000 pixels at 150 dpi, which every viewer can open
DOTS_PER_INCH = 150


def save(
    attention: AttentionMap,
    path: str | Path,
    *,
    kind: str = "cross",
    layer: int | None = None,
    heads: Chosen = None,
    grid: bool = False,
    theme: str = "dark",
) -> None:
    """Write a map: the mean over the chosen layers and heads, or with `grid` every layer and head, as a picture
    (`.png`, `.svg`, `.pdf`), all weights as `.json`, or the page of the map as `.html`. The theme `light` is for print.

    The file is written atomically. Raises `UserError` for another suffix, an unknown kind, layer or head, a path that
    cannot be written, or if matplotlib is missing for a picture.
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise UserError(f"{path}: the suffix determines the format and must be one of {' '.join(ENDINGS)}")
    if ending == ".json":
        write_output(path, attention.to_json().encode())
    elif ending == ".html":
        attention.to_html(path, theme=theme)
    else:
        figure = draw(attention, kind, layer=layer, heads=heads, grid=grid, theme=theme)
        write_output(path, picture_bytes(figure, ending[1:]))


def draw(
    attention: AttentionMap,
    kind: str = "cross",
    *,
    layer: int | None = None,
    heads: Chosen = None,
    grid: bool = False,
    theme: str = "dark",
) -> "Figure":
    """The mean over the chosen layers and heads (see `AttentionMap.average`) as a heat map; with `grid` every layer
    (down) and head (across) as small ones.

    Raises `UserError` for an unknown kind, layer, head or theme, for a side without tokens, and if matplotlib is
    missing.
    """
    require_theme(theme)
    try:
        import matplotlib.figure
    except ImportError:
        needs = 'pictures need matplotlib: pip install "limelight[plot]" (JSON and text need nothing)'
        raise UserError(needs) from None

    panels = attention.weights(kind) if grid else attention.average(kind, layer=layer, heads=heads)[None, None]
    down, across, *size = panels.shape
    if not min(size):
        raise UserError("there is nothing to draw: a side of this map has no tokens")
    rows, columns = map(_labels, attention.labels(kind))
    cell = min(PANEL / max(size) if grid else CELL, MAX_PICTURE / max(down * size[0], across * size[1]))
    font = max(4.0, min(9.0, cell * 72 * 0.62))
    edge = max(map(len, [*rows, *columns])) * font * 0.6 / 72
    title = attention.title(kind, layer=layer, heads=heads, each=grid)
    style: dict[str, Any] = {"fontfamily": _families([*columns, *rows, title]), "parse_math": False}
    # Anchored at the baseline: centered boxes would shift tokens with the low word-start mark.
    upright: dict[str, Any] = {"rotation": 90, "rotation_mode": "anchor", "ha": "left", "va": "center_baseline"}
    labeled = slice(None, None, max(1, round(font / 72 / cell + 0.4)))  # of cells that are smaller than letters
    width, height = across * (cell * size[1] + 0.3), down * (cell * size[0] + 0.4)
    figure = matplotlib.figure.Figure(figsize=(width + edge, height + edge))
    pictures = figure.subplots(down, across, squeeze=False, gridspec_kw={"hspace": 0.3})
    for cell_of_grid, axes in np.ndenumerate(pictures):
        axes.set_facecolor(MASKED[theme])  # masked cells are transparent
        shown = np.ma.masked_where(~attention.may_attend(kind), panels[cell_of_grid])
        image = axes.imshow(shown, cmap=COLORS[theme], vmin=0, vmax=1, aspect="equal", interpolation="none")
        axes.tick_params(length=0)
        above, left = columns if cell_of_grid[0] == 0 else [], rows if cell_of_grid[1] == 0 else []
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(above))[labeled], above[labeled], fontsize=font, **upright, **style)
        axes.set_yticks(range(len(left))[labeled], left[labeled], fontsize=font, **style)
        if grid:
            axes.set_xlabel("layer {}, head {}".format(*cell_of_grid), fontsize=7)
    bar = figure.colorbar(image, ax=pictures, fraction=0.03, pad=0.02)
    bar.ax.tick_params(labelsize=7)
    lines = [part for line in title.split("\n") for part in textwrap.wrap(line, TITLE)]
    pictures[0][0].set_title("\n".join(lines), loc="left", pad=10, fontsize=9, **style)
    return figure


def picture_bytes(figure: "Figure", form: str) -> bytes:
    """The finished picture as `png`, `svg` or `pdf`. The same figure gives the same bytes; in the last two labels stay
    text."""
    from matplotlib import rc_context

    content = io.BytesIO()
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": "limelight", "pdf.fonttype": 42}
    with rc_context(settings), warnings.catch_warnings():
        # Characters without an installed font are drawn as boxes; in SVG the viewer's fonts are used.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(content, format=form, dpi=DOTS_PER_INCH, bbox_inches="tight", pad_inches=0.15, metadata=metadata)
    return content.getvalue()


def _labels(pieces: Sequence[str]) -> list[str]:
    """Tokens as labels: truncated, and without characters that cannot be drawn or are not valid in SVG."""
    shown = map(drawable, pieces)
    return [text if len(text) <= MAX_LABEL_LENGTH else text[: MAX_LABEL_LENGTH - 1] + "…" for text in shown]


def _families(labels: Iterable[str]) -> list[str]:
    """matplotlib's own font, then installed fonts for characters that it lacks, as a fallback list, without the last
    resort, which has a box for every character."""
    from matplotlib import font_manager

    families, fonts = ["DejaVu Sans"], font_manager.fontManager.ttflist
    missing = {ord(letter) for label in labels for letter in label if letter != "\n"}
    missing -= set(font_manager.get_font(font_manager.findfont("DejaVu Sans")).get_charmap())
    # Only one face of a font file is used; sorted names make the choice deterministic.
    for font in sorted(fonts, key=lambda font: (font.name, font.fname)):
        if not missing:
            break
        if font.name in families or font.style != "normal" or font.weight not in (400, "normal"):
            continue
        if "Last Resort" in font.name:
            continue
        if missing & (characters := set(font_manager.get_font(font.fname).get_charmap())):
            families.append(font.name)
            missing -= characters
    return families
