"""Figures of an attention map: the mean of some layers and heads, or each of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from limelight.inspection.attention_map import AttentionMap
from limelight.inspection.heatmap import draw_panels, draw_weights

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
