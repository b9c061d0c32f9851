"""The options of `limelight attention`: which map to draw, and how."""

from pathlib import Path
from typing import Annotated, Literal

from limelight.cli.arguments import argument, option, whole_number

DRAWING = "Selection"

Kind = Literal["cross", "encoder_self", "decoder_self"]
"""As in `AttentionMap` and its JSON."""
Theme = Literal["dark", "light"]


Sentence = Annotated[str, argument("The source sentence, or the text that a language model reads.", "SENTENCE")]
Forced = Annotated[
    str | None, option("--target", "Show attention for this translation instead of the model's.", "TEXT")
]
Picture = Annotated[
    Path | None,
    option(
        "--output -o",
        "Picture (.png, .svg, .pdf, .tex), page (.html) or all values (.json, .csv). Default: text.",
        "FILE",
    ),
]
Measured = Annotated[
    Literal["weights", "contributions", "shares", "erasure", "layers"],
    option(
        "--measure",
        "Attention weights, or what they do: written to a file, see docs/inspection.md.",
        "weights|contributions|shares|erasure|layers",
    ),
]
KindOfMap = Annotated[
    Kind | None,
    option(
        "--kind",
        "Target to source (default), source to source, or target to target (default of language models).",
        "cross|encoder_self|decoder_self",
        panel=DRAWING,
    ),
]
Layer = Annotated[
    int | None,
    option("--layer", "Layer number, from 0. Default: the mean of all layers.", "N", whole_number(0), panel=DRAWING),
]
Heads = Annotated[
    list[int] | None,
    option(
        "--head",
        "Head number, from 0; can be repeated. Default: the mean of all heads.",
        "N",
        whole_number(0),
        panel=DRAWING,
    ),
]
Grid = Annotated[bool, option("--grid", "Draw every layer and head in one picture.", panel=DRAWING)]
PictureTheme = Annotated[
    Theme | None,
    option("--theme", "Colors of a picture: dark (default), or light for print.", "dark|light", panel=DRAWING),
]
Words = Annotated[bool, option("--words/--pieces", "Merge tokens to words, or show subword tokens.", panel=DRAWING)]
End = Annotated[
    bool, option("--end/--no-end", "Show the end token </s>, or leave it out and normalize the rows.", panel=DRAWING)
]
