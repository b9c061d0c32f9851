"""What `limelight attention` takes beside the options of other commands: which map, and what of it is drawn."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.arguments import whole_number

DRAWING = "What is drawn"


class Kind(StrEnum):
    """The words of `--kind`, which are those of an `AttentionMap` and of its JSON."""

    CROSS = "cross"
    ENCODER_SELF = "encoder_self"
    DECODER_SELF = "decoder_self"


class Theme(StrEnum):
    """The words of `--theme`."""

    DARK = "dark"
    LIGHT = "light"


Sentence = Annotated[
    str, typer.Argument(help="The source sentence; for a language model the text it reads.", metavar="SENTENCE")
]
Forced = Annotated[
    str | None,
    typer.Option("--target", help="Look at this translation instead of the model's own.", metavar="TEXT"),
]
Picture = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="A picture (.png, .svg), a page (.html), or every number (.json); else text.",
        metavar="FILE",
    ),
]
KindOfMap = Annotated[
    Kind | None,
    typer.Option(
        "--kind",
        help="Target to source (if nothing is said), source to source, or target to target, as in a text alone.",
        metavar="cross|encoder_self|decoder_self",
        rich_help_panel=DRAWING,
    ),
]
Layer = Annotated[
    int | None,
    typer.Option(
        "--layer",
        help="One layer, from 0; the mean of all when not given.",
        parser=whole_number(0),
        metavar="N",
        rich_help_panel=DRAWING,
    ),
]
Heads = Annotated[
    list[int] | None,
    typer.Option(
        "--head",
        help="One head, from 0; may be given several times; the mean of all when not given.",
        parser=whole_number(0),
        metavar="N",
        rich_help_panel=DRAWING,
    ),
]
Grid = Annotated[
    bool, typer.Option("--grid", help="All layers and heads in one picture.", metavar="", rich_help_panel=DRAWING)
]
PictureTheme = Annotated[
    Theme | None,
    typer.Option(
        "--theme",
        help="Colors of a picture: dark (if nothing is said), or light for print.",
        metavar="dark|light",
        rich_help_panel=DRAWING,
    ),
]
Words = Annotated[
    bool, typer.Option("--words/--pieces", help="Whole words or sub-words.", metavar="", rich_help_panel=DRAWING)
]
End = Annotated[
    bool,
    typer.Option(
        "--end/--no-end",
        help="With the source's </s>, or without and rescaled.",
        metavar="",
        rich_help_panel=DRAWING,
    ),
]
