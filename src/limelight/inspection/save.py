"""Attention maps as files; the suffix determines the format."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.heatmap import PictureForm, draw_panels, draw_weights, picture_bytes
from limelight.inspection.views import PICTURES, Panel, View, ending_of, save_view, write

if TYPE_CHECKING:
    from limelight.inspection.heatmap import Figure


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


ENDINGS = (*PICTURES, ".tex", ".csv", ".json", ".html")


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
    ending = ending_of(path, ENDINGS)
    if ending == ".json":
        write(path, attention.to_json().encode())
    elif ending == ".html":
        attention.to_html(path, theme=theme)
    elif ending == ".csv":
        save_view(_every_head(attention, attention.kinds), path)
    elif ending == ".tex":
        panel = Panel(kind, attention.average(kind, layer=layer, heads=heads), *attention.labels(kind))
        save_view(View("attention", attention.title(kind, layer=layer, heads=heads), [panel]), path)
    else:
        figure = draw_average(attention, kind, layer=layer, heads=heads, theme=theme)
        write(path, picture_bytes(figure, cast(PictureForm, ending[1:])))


def save_grid(attention: AttentionMap, path: str | Path, *, kind: str = "cross", theme: str = "dark") -> None:
    """Write every layer and head of one kind as one picture, `.png`, `.svg`, `.pdf` or `.tex`. Errors as in `save`."""
    ending = ending_of(path, (*PICTURES, ".tex"))
    if ending == ".tex":
        save_view(_every_head(attention, [kind]), path)
    else:
        write(path, picture_bytes(draw_grid(attention, kind, theme=theme), cast(PictureForm, ending[1:])))


def _every_head(attention: AttentionMap, kinds: Sequence[str]) -> View:
    panels = [
        Panel(f"{kind} layer {layer} head {head}", weights, *attention.labels(kind))
        for kind in kinds
        for layer, heads in enumerate(attention.weights(kind))
        for head, weights in enumerate(heads)
    ]
    return View("attention", attention.title(kinds[0], each=True) if kinds else "", panels)
