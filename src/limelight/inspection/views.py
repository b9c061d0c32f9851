"""Attention maps, and other numbers with labels, as files; the suffix determines the format.

A view has one or more panels of numbers. `.png`, `.svg` and `.pdf` are pictures (matplotlib), `.tex` is TikZ for the
package pgfplots, which sets labels in the font of the document, `.csv` and `.json` hold the numbers.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from limelight.errors import UserError
from limelight.files import write_output
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.heatmap import PictureForm, draw_panels, draw_stacked, draw_weights, picture_bytes
from limelight.inspection.words import drawable

if TYPE_CHECKING:
    from limelight.inspection.heatmap import Figure

PICTURES = (".png", ".svg", ".pdf")
ENDINGS = (*PICTURES, ".tex", ".csv", ".json")
VERSION = 1


class Panel(NamedTuple):
    """Numbers (rows, columns) with their labels."""

    name: str
    values: npt.NDArray[np.floating]
    rows: Sequence[str]
    columns: Sequence[str]


@dataclass(frozen=True)
class View:
    """What one file shows."""

    name: str
    """Of the measure, such as `attention`."""
    title: str
    panels: Sequence[Panel]
    notes: Mapping[str, Any] = field(default_factory=dict)
    """More for the JSON."""

    def to_json(self) -> str:
        """`format`, `version`, `title`, the notes, and `panels` with `name`, `rows`, `columns` and `values`."""
        values = {"format": f"limelight.{self.name}", "version": VERSION, "title": self.title, **self.notes}
        panels = [{**each._asdict(), "values": each.values.tolist()} for each in self.panels]
        return json.dumps(values | {"panels": panels}, ensure_ascii=False, indent=1) + "\n"

    def to_csv(self) -> str:
        """A line for each number: panel, row and column from 0, their labels, and the value."""
        content = io.StringIO()
        writer = csv.writer(content, lineterminator="\n")
        writer.writerow(["panel", "row", "column", "row_label", "column_label", "value"])
        for name, values, rows, columns in self.panels:
            for (row, column), value in np.ndenumerate(values):
                writer.writerow([name, row, column, rows[row], columns[column], f"{value:.6g}"])
        return content.getvalue()

    def to_tikz(self) -> str:
        """A `tikzpicture` with an `axis` for each panel, below one another."""
        lines = [TIKZ_HEAD, r"\begin{tikzpicture}"]
        for number, panel in enumerate(self.panels):
            lines += _axis(panel, number, self.title if number == 0 else "", alone=len(self.panels) == 1)
        return "\n".join([*lines, r"\end{tikzpicture}", ""])


TIKZ_HEAD = r"""% \usepackage{pgfplots} \pgfplotsset{compat=1.18} \usepgfplotslibrary{groupplots}
% Other scripts than Latin need fonts: XeLaTeX or LuaLaTeX with fontspec."""


def _axis(panel: Panel, number: int, title: str, *, alone: bool) -> list[str]:
    """The `axis` of a panel; square cells of 4 mm, values from 0 (white) to 1 (black)."""
    rows, columns = len(panel.rows), len(panel.columns)
    place = (
        "" if number == 0 else f"  at={{(panel{number - 1}.below south west)}}, anchor=above north west, yshift=-4mm,\n"
    )
    heading = r" \\ ".join([*map(_tex, title.splitlines()), *([] if alone else [rf"\textit{{{_tex(panel.name)}}}"])])
    options = (
        f"  name=panel{number}, title={{{heading}}},\n{place}"
        "  title style={at={(xticklabel cs:0.5)}, anchor=south, align=center, text width=12cm, font=\\small},\n"
        f"  scale only axis, width={4 * columns}mm, height={4 * rows}mm, axis on top,\n"
        f"  xmin=-0.5, xmax={columns - 0.5}, ymin=-0.5, ymax={rows - 0.5},\n"
        "  y dir=reverse, tick style={draw=none}, xticklabel pos=upper,\n"
        "  xticklabel style={rotate=90, anchor=west, font=\\footnotesize}, yticklabel style={font=\\footnotesize},\n"
        f"  xtick={{0,...,{columns - 1}}}, xticklabels={{{_labels(panel.columns)}}},\n"
        f"  ytick={{0,...,{rows - 1}}}, yticklabels={{{_labels(panel.rows)}}},\n"
        "  colormap={ink}{gray(0)=(1) gray(1)=(0)}, point meta min=0, point meta max=1]"
    )
    numbers = [f"{column} {row} {value:.4g}" for (row, column), value in np.ndenumerate(panel.values)]
    # No matrix plot: that has at least two rows and columns.
    plot = r"\addplot[scatter, scatter src=explicit, only marks, mark=square*, mark size=2mm, line width=0.1pt]"
    return [r"\begin{axis}[", options, plot, "  table[meta index=2] {", *numbers, "};", r"\end{axis}"]


def curves_tikz(panels: Mapping[str, Mapping[str, Sequence[float]]], *, across: str) -> str:
    """The curves of `heatmap.draw_curves` as a `tikzpicture`."""
    lines = [
        TIKZ_HEAD,
        r"\begin{tikzpicture}",
        rf"\begin{{groupplot}}[group style={{group size={len(panels)} by 1, horizontal sep=2cm}},",
        rf"  xlabel={{{_tex(across)}}}, legend style={{draw=none, font=\footnotesize}}]",
    ]
    for label, curves in panels.items():
        lines.append(rf"\nextgroupplot[ylabel={{{_tex(label)}}}]")
        for name, values in curves.items():
            points = " ".join(f"({place},{value:.6g})" for place, value in enumerate(values))
            lines += [rf"\addplot coordinates {{{points}}};", rf"\addlegendentry{{{_tex(name)}}}"]
    return "\n".join([*lines, r"\end{groupplot}", r"\end{tikzpicture}", ""])


def _labels(texts: Sequence[str]) -> str:
    return ",".join(f"{{{_tex(drawable(text))}}}" for text in texts)


SPECIAL = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "▁": r"\_", "\n": " ", "→": r"\textrightarrow{}",
    "−": r"\textminus{}", "`": r"\textasciigrave{}", "\ufffd": "?",
    **{each: f"\\{each}" for each in "#$%&_{}"},
}  # fmt: skip


def _tex(text: str) -> str:
    """Text as TeX writes it."""
    return "".join(SPECIAL.get(character, character) for character in text)


def save_view(view: View, path: str | Path, *, theme: str = "dark") -> None:
    """Write a view; the suffix determines the format. The file is written atomically.

    In pictures values are shown from 0 to 1. Raises `UserError` for another suffix, a path that cannot be written, an
    unknown theme, or if matplotlib is missing for a picture.
    """
    ending = ending_of(path, ENDINGS)
    if ending in PICTURES:
        panels = [panel[1:] for panel in view.panels]
        write_output(
            path, picture_bytes(draw_stacked(panels, title=view.title, theme=theme), cast(PictureForm, ending[1:]))
        )
    else:
        write_output(path, {".tex": view.to_tikz, ".csv": view.to_csv, ".json": view.to_json}[ending]().encode())


def ending_of(path: str | Path, endings: Sequence[str]) -> str:
    """The suffix of a path. Raises `UserError` for others than `endings`."""
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise UserError(f"{path}: the suffix determines the format and must be one of {' '.join(endings)}")
    return ending


def draw_average(
    attention: AttentionMap,
    kind: str = "cross",
    *,
    layer: int | None = None,
    heads: int | Sequence[int] | None = None,
    theme: str = "dark",
) -> "Figure":
    """One heat map: the mean over the chosen layers and heads (see `AttentionMap.average`).

    The color scale is from 0 to 1 in every picture. Raises `UserError` for an unknown kind, layer, head or theme, or if
    matplotlib is missing.
    """
    return draw_weights(
        attention.average(kind, layer=layer, heads=heads),
        *attention.labels(kind),
        may_attend=attention.may_attend(kind),
        title=attention.title(kind, layer=layer, heads=heads),
        theme=theme,
    )


def draw_grid(attention: AttentionMap, kind: str = "cross", *, theme: str = "dark") -> "Figure":
    """Every layer (down) and head (across) of one kind as small heat maps. Errors as in `draw_average`."""
    return draw_panels(
        attention.weights(kind),
        *attention.labels(kind),
        may_attend=attention.may_attend(kind),
        title=attention.title(kind, each=True),
        theme=theme,
    )


def save(
    attention: AttentionMap,
    path: str | Path,
    *,
    kind: str = "cross",
    layer: int | None = None,
    heads: int | Sequence[int] | None = None,
    theme: str = "dark",
) -> None:
    """Write a map: averaged over the chosen layers and heads as a picture (`.png`, `.svg`, `.pdf`) or as TikZ (`.tex`),
    all weights as `.json` or `.csv`, or the page of the map as `.html`. The theme `light` is for print.

    The file is written atomically. Raises `UserError` for another suffix, an unknown kind, layer or head, a path that
    cannot be written, or if matplotlib is missing for a picture.
    """
    ending = ending_of(path, (*ENDINGS, ".html"))
    if ending == ".json":
        write_output(path, attention.to_json().encode())
    elif ending == ".html":
        attention.to_html(path, theme=theme)
    elif ending == ".csv":
        save_view(_every_head(attention, attention.kinds), path)
    elif ending == ".tex":
        panel = Panel(kind, attention.average(kind, layer=layer, heads=heads), *attention.labels(kind))
        save_view(View("attention", attention.title(kind, layer=layer, heads=heads), [panel]), path)
    else:
        figure = draw_average(attention, kind, layer=layer, heads=heads, theme=theme)
        write_output(path, picture_bytes(figure, cast(PictureForm, ending[1:])))


def save_grid(attention: AttentionMap, path: str | Path, *, kind: str = "cross", theme: str = "dark") -> None:
    """Write every layer and head of one kind as one picture, `.png`, `.svg`, `.pdf` or `.tex`. Errors as in `save`."""
    ending = ending_of(path, (*PICTURES, ".tex"))
    if ending == ".tex":
        save_view(_every_head(attention, [kind]), path)
    else:
        write_output(path, picture_bytes(draw_grid(attention, kind, theme=theme), cast(PictureForm, ending[1:])))


def _every_head(attention: AttentionMap, kinds: Sequence[str]) -> View:
    panels = [
        Panel(f"{kind} layer {layer} head {head}", weights, *attention.labels(kind))
        for kind in kinds
        for layer, heads in enumerate(attention.weights(kind))
        for head, weights in enumerate(heads)
    ]
    return View("attention", attention.title(kinds[0], each=True) if kinds else "", panels)
