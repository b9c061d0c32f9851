"""Attention maps as files; the suffix determines the format."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.errors import UserError
from limelight.files import write_whole
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.heatmap import draw_panels, draw_weights, picture_bytes

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


PICTURES = (".png", ".svg")
ENDINGS = (*PICTURES, ".json", ".html")


def save(
    attention: AttentionMap,
    path: str | Path,
    *,
    kind: str = "cross",
    layer: int | None = None,
    heads: int | Sequence[int] | None = None,
    theme: str = "dark",
) -> None:
    """Write a map as `.png` or `.svg`, averaged over the chosen layers and heads, all weights as `.json`, or the page
    of the map as `.html`. The theme `light` is for print.

    The file is written atomically. Raises `UserError` for another suffix, an unknown kind, layer or head, a path that
    cannot be written, or if matplotlib is missing.
    """
    ending = _ending(path, ENDINGS)
    if ending == ".json":
        _write(path, attention.to_json().encode())
    elif ending == ".html":
        attention.to_html(path, theme=theme)
    else:
        figure = draw_average(attention, kind, layer=layer, heads=heads, theme=theme)
        _write(path, picture_bytes(figure, "svg" if ending == ".svg" else "png"))


def save_grid(attention: AttentionMap, path: str | Path, *, kind: str = "cross", theme: str = "dark") -> None:
    """Write every layer and head of one kind as one picture, `.png` or `.svg`. Errors as in `save`."""
    ending = _ending(path, PICTURES)
    _write(path, picture_bytes(draw_grid(attention, kind, theme=theme), "svg" if ending == ".svg" else "png"))


def _write(path: str | Path, content: bytes) -> None:
    try:
        write_whole(Path(path), content)
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {(error.strerror or str(error)).lower()}") from None


def _ending(path: str | Path, endings: Sequence[str]) -> str:
    ending = Path(path).suffix.lower()
    if ending not in endings:
        raise UserError(f"{path}: the suffix determines the format and must be one of {' '.join(endings)}")
    return ending
