"""Titles of maps: the sentence, the model, the kind of attention, the layers and heads."""

from collections.abc import Sequence

from limelight.inspection.words import drawable

TITLES: dict[str, str] = {
    "cross": "cross attention: predicted target (rows) to source (columns)",
    "encoder_self": "encoder self-attention: source to source",
    "decoder_self": "decoder self-attention: read target to read target",
}
MAX_TITLE_LENGTH = 60
"""Maximum characters of a sentence on one line."""


def caption(source: str, target: str, between: str = " → ") -> str:
    """`source → target`, or the one that is not empty."""
    return between.join(drawable(side) for side in (source, target) if side)


def shortened(text: str, longest: int = MAX_TITLE_LENGTH) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def chosen(layer: int | None, heads: int | Sequence[int] | None) -> str:
    """The layers and heads of a mean, in words."""
    which_layer = "mean of all layers" if layer is None else f"layer {layer}"
    if heads is None:
        which_heads = "mean of all heads"
    elif isinstance(heads, int):
        which_heads = f"head {heads}"
    else:
        which_heads = f"mean of heads {', '.join(map(str, heads))}"
    return f"{which_layer}, {which_heads}"
