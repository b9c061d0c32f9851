"""Attention maps as files; the suffix determines the format."""

from collections.abc import Sequence
from pathlib import Path

from limelight.errors import UserError
from limelight.files import write_whole
from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.heatmap import picture_bytes
from limelight.inspection.pictures import draw_average, draw_grid

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
