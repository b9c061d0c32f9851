"""The options of `limelight attention`: which map to draw, and how."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.arguments import whole_number

DRAWING = "Selection"


class Kind(StrEnum):
    """The values of `--kind`, as in `AttentionMap` and its JSON."""

    CROSS = "cross"
    ENCODER_SELF = "encoder_self"
    DECODER_SELF = "decoder_self"


class Measure(StrEnum):
    """The values of `--measure`."""

    WEIGHTS = "weights"
    CONTRIBUTIONS = "contributions"
    SHARES = "shares"
    ERASURE = "erasure"
    LAYERS = "layers"


class Theme(StrEnum):
    """The values of `--theme`."""

    DARK = "dark"
    LIGHT = "light"


Sentence = Annotated[
    str, typer.Argument(help="The source sentence, or the text that a language model reads.", metavar="SENTENCE")
]
Forced = Annotated[
    str | None,
    typer.Option("--target", help="Show attention for this translation instead of the model's.", metavar="TEXT"),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Picture (.png, .svg, .pdf, .tex), page (.html) or all values (.json, .csv). Default: text.",
        metavar="FILE",
    ),
]
Measured = Annotated[
    Measure,
    typer.Option(
        "--measure",
        help="Attention weights, or what they do: written to a file, see docs/inspection.md.",
        metavar="weights|contributions|shares|erasure|layers",
    ),
]
KindOfMap = Annotated[
    Kind | None,
    typer.Option(
        "--kind",
        help="Target to source (default), source to source, or target to target (default of language models).",
        metavar="cross|encoder_self|decoder_self",
        rich_help_panel=DRAWING,
    ),
]
Layer = Annotated[
    int | None,
    typer.Option(
        "--layer",
        help="Layer number, from 0. Default: the mean of all layers.",
        parser=whole_number(0),
        metavar="N",
        rich_help_panel=DRAWING,
    ),
]
Heads = Annotated[
    list[int] | None,
    typer.Option(
        "--head",
        help="Head number, from 0; can be repeated. Default: the mean of all heads.",
        parser=whole_number(0),
        metavar="N",
        rich_help_panel=DRAWING,
    ),
]
Grid = Annotated[
    bool, typer.Option("--grid", help="Draw every layer and head in one picture.", metavar="", rich_help_panel=DRAWING)
]
PictureTheme = Annotated[
    Theme | None,
    typer.Option(
        "--theme",
        help="Colors of a picture: dark (default), or light for print.",
        metavar="dark|light",
        rich_help_panel=DRAWING,
    ),
]
Words = Annotated[
    bool,
    typer.Option(
        "--words/--pieces", help="Merge tokens to words, or show subword tokens.", metavar="", rich_help_panel=DRAWING
    ),
]
End = Annotated[
    bool,
    typer.Option(
        "--end/--no-end",
        help="Show the end token </s>, or leave it out and normalize the rows.",
        metavar="",
        rich_help_panel=DRAWING,
    ),
]
