"""Options of the commands that write training text."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.arguments import decimal, whole_number

TEXT = "Text"


class SimilarityName(StrEnum):
    """The words of `--choose-by`."""

    BLEU = "bleu"
    CHRF = "chrf"


SourceText = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        help="Text to translate, a sentence a line; .gz, .xz, .zst too.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--train",
        help="Or parallel text, whose source side is translated, in the same forms as for train.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
BothDirections = Annotated[
    bool,
    typer.Option(
        "--both-directions",
        help="Translate the target side of --train, too, into a file of its own.",
        metavar="",
        rich_help_panel=TEXT,
    ),
]
NewCorpus = Annotated[
    Path,
    typer.Option("--output", "-o", help="The new corpus: .tsv, or with .gz, .xz or .zst after it.", metavar="FILE"),
]
ChooseBy = Annotated[
    SimilarityName | None,
    typer.Option(
        "--choose-by",
        help="Of the n-best take the one most like the reference: by [bold]bleu[/bold] or [bold]chrf[/bold].",
        metavar="NAME",
    ),
]
ChosenFrom = Annotated[
    int | None,
    typer.Option(
        "--n-best",
        help="How many --choose-by chooses from; the whole beam when not given.",
        parser=whole_number(2),
        metavar="N",
    ),
]
MaxLengthRatio = Annotated[
    float | None,
    typer.Option(
        "--max-length-ratio",
        help="Leave out pairs whose sides differ more in characters; the model's own bound when not given.",
        parser=decimal(at_least=1.0),
        metavar="R",
        rich_help_panel=TEXT,
    ),
]
