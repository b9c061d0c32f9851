"""Options of the commands that write training text."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.arguments import decimal, whole_number

TEXT = "Text"


class SimilarityName(StrEnum):
    """The values of `--choose-by`."""

    BLEU = "bleu"
    CHRF = "chrf"


SourceText = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        help="Text to translate, one sentence per line; also .gz, .xz, .zst.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
Pairs = Annotated[
    list[str] | None,
    typer.Option(
        "--train",
        help="Parallel text whose source side is translated, in the formats of `limelight train`.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
BothDirections = Annotated[
    bool,
    typer.Option(
        "--both-directions",
        help="Also translate the target side of --train, into a second file.",
        metavar="",
        rich_help_panel=TEXT,
    ),
]
NewCorpus = Annotated[
    Path,
    typer.Option("--output", "-o", help="The new corpus: .tsv, .tsv.gz, .tsv.xz or .tsv.zst.", metavar="FILE"),
]
ChooseBy = Annotated[
    SimilarityName | None,
    typer.Option(
        "--choose-by",
        help="Keep the n-best hypothesis most similar to the reference, by [bold]bleu[/bold] or [bold]chrf[/bold].",
        metavar="NAME",
    ),
]
ChosenFrom = Annotated[
    int | None,
    typer.Option(
        "--n-best",
        help="Number of hypotheses for --choose-by. Default: the beam size.",
        parser=whole_number(2),
        metavar="N",
    ),
]
MaxLengthRatio = Annotated[
    float | None,
    typer.Option(
        "--max-length-ratio",
        help="Leave out pairs with a larger ratio of lengths in characters. Default: the model's setting.",
        parser=decimal(at_least=1.0),
        metavar="R",
        rich_help_panel=TEXT,
    ),
]
