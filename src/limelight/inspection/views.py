"""Attention maps as files; the suffix determines the format. `.png`, `.svg` and `.pdf` are pictures (matplotlib)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.errors import UserError
from limelight.files import write_output
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.heatmap import Panel, draw, picture_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = (".png", ".svg", ".pdf")
ENDINGS = (*PICTURES, ".json")


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
    panel = Panel(kind, attention.average(kind, layer=layer, heads=heads), *attention.labels(kind))
    title = attention.title(kind, layer=layer, heads=heads)
    return draw([[panel]], may_attend=attention.may_attend(kind), title=title, theme=theme)


def draw_grid(attention: AttentionMap, kind: str = "cross", *, theme: str = "dark") -> "Figure":
    """Every layer (down) and head (across) of one kind as small heat maps. Errors as in `draw_average`."""
    panels = [
        [Panel(f"layer {layer}, head {head}", each, *attention.labels(kind)) for head, each in enumerate(heads)]
        for layer, heads in enumerate(attention.weights(kind))
    ]
    return draw(panels, may_attend=attention.may_attend(kind), title=attention.title(kind, each=True), theme=theme)


def save(
    attention: AttentionMap,
    path: str | Path,
    *,
    kind: str = "cross",
    layer: int | None = None,
    heads: int | Sequence[int] | None = None,
    theme: str = "dark",
) -> None:
    """Write a map: averaged over the chosen layers and heads as a picture (`.png`, `.svg`, `.pdf`), all weights as
    `.json`, or the page of the map as `.html`. The theme `light` is for print.

    The file is written atomically. Raises `UserError` for another suffix, an unknown kind, layer or head, a path that
    cannot be written, or if matplotlib is missing for a picture.
    """
    ending = ending_of(path, (*ENDINGS, ".html"))
    if ending == ".json":
        write_output(path, attention.to_json().encode())
    elif ending == ".html":
        attention.to_html(path, theme=theme)
    else:
        figure = draw_average(attention, kind, layer=layer, heads=heads, theme=theme)
        write_output(path, picture_bytes(figure, ending[1:]))


def save_grid(attention: AttentionMap, path: str | Path, *, kind: str = "cross", theme: str = "dark") -> None:
    """Write every layer and head of one kind as one picture, `.png`, `.svg` or `.pdf`. Errors as in `save`."""
    ending = ending_of(path, PICTURES)
    write_output(path, picture_bytes(draw_grid(attention, kind, theme=theme), ending[1:]))
