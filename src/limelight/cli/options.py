"""Every option once: its name, what it takes, and the line of help that stands beside it.

The order in which a command lists them is the order in its help.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.arguments import decimal, device_name, whole_number
from limelight.recipes.registry import describe_recipes

# --- what several commands share ---

Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="Run or model folder; several are one ensemble.", metavar="RUN"),
]
OneModel = Annotated[list[str] | None, typer.Option("--model", help="Run or model folder.", metavar="RUN")]
Beam = Annotated[
    int | None,
    typer.Option(
        "--beam",
        help="Hypotheses side by side, 1 is greedy; the model's own number when not given.",
        parser=whole_number(1),
        metavar="N",
    ),
]
LengthPenalty = Annotated[
    float | None,
    typer.Option(
        "--length-penalty",
        help="How much longer ones are preferred; the model's own when not given.",
        parser=decimal(at_least=0.0, at_most=10.0),
        metavar="ALPHA",
    ),
]

COMPUTING = "Computing"
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="auto (if nothing is said: a GPU where there is one), cpu, cuda, cuda:1 (the second GPU), or mps.",
        parser=device_name,
        metavar="NAME",
        rich_help_panel=COMPUTING,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        help="CPU threads; one for each core when not given.",
        parser=whole_number(1),
        metavar="N",
        rich_help_panel=COMPUTING,
    ),
]

# --- train ---

TEXT, MODEL, END = "Text", "Model", "When to stop"


class BadLinePolicy(StrEnum):
    """The words of `--on-bad-line`, which are those of `data.on_bad_line`."""

    STOP = "stop"
    SKIP = "skip"


Out = Annotated[
    Path | None, typer.Option("--out", help="Run folder: made anew, or taken up where it stopped.", metavar="RUN")
]
Preview = Annotated[
    int | None,
    typer.Option(
        "--preview",
        help="Print N pairs as augmentation varies them, and end without training.",
        parser=whole_number(1),
        metavar="N",
        rich_help_panel=TEXT,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.", metavar="")]
Train = Annotated[
    list[str] | None,
    typer.Option(
        "--train",
        help="Text to learn from: one file of both sides (.tsv, .jsonl, .tmx, .xliff, .po, .ts, .csv), or two files "
        "line by line; .gz, .xz, .zst too.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
BackTranslated = Annotated[
    list[str] | None,
    typer.Option(
        "--back-translated",
        help="More text to learn from, whose source is a machine translation: it gets the tag <bt>.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
Valid = Annotated[
    list[str] | None,
    typer.Option("--valid", help="Text to validate on, in the same forms.", metavar="FILE...", rich_help_panel=TEXT),
]
PlainText = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        help="Plain text for a model that writes or fills in; a tenth of it is held out for validation.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
ValidText = Annotated[
    list[str] | None,
    typer.Option("--valid-text", help="Plain text to validate on, instead.", metavar="FILE...", rich_help_panel=TEXT),
]
Source = Annotated[
    str,
    typer.Option(
        "--source",
        help="Source language, e.g. en; guessed from names like train.en.",
        metavar="LANG",
        rich_help_panel=TEXT,
    ),
]
Target = Annotated[
    str, typer.Option("--target", help="Target language, e.g. de.", metavar="LANG", rich_help_panel=TEXT)
]
OnBadLine = Annotated[
    BadLinePolicy | None,
    typer.Option(
        "--on-bad-line",
        help="Text that cannot be read: stop with its place (if nothing is said), or report and skip it.",
        metavar="stop|skip",
        rich_help_panel=TEXT,
    ),
]
Recipe = Annotated[
    str,
    typer.Option(
        "--recipe",
        help=f"What is trained and how; small when not given. {describe_recipes()}.",
        metavar="NAME",
        rich_help_panel=MODEL,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="A configuration in YAML instead, such as a run's config.yaml.",
        metavar="FILE",
        rich_help_panel=MODEL,
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Begin with the weights and the vocabulary of this run or model folder.",
        metavar="MODEL",
        rich_help_panel=MODEL,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Any setting, e.g. training.seed=7; may be given several times.",
        metavar="KEY=VALUE",
        rich_help_panel=MODEL,
    ),
]
MaxMinutes = Annotated[
    float | None,
    typer.Option(
        "--max-minutes",
        help="After so many minutes of training in all.",
        parser=decimal(above=0.0),
        metavar="M",
        rich_help_panel=END,
    ),
]
MaxSteps = Annotated[
    int | None,
    typer.Option(
        "--max-steps",
        help="After so many updates in all.",
        parser=whole_number(1),
        metavar="N",
        rich_help_panel=END,
    ),
]

# --- translate ---

Text = Annotated[
    Path | None,
    typer.Argument(help="A sentence a line, also .gz, .xz, .zst; standard input when not given.", metavar="FILE"),
]
TextOrFile = Annotated[
    str | None,
    typer.Argument(
        help="A file, also .gz, .xz, .zst, or some words to translate; standard input when not given.",
        metavar="FILE|TEXT",
        show_default=False,
    ),
]
GivenText = Annotated[
    str | None,
    typer.Option(
        "--text", help="Text to translate, even where a file has that name or it is a single word.", metavar="TEXT"
    ),
]
FromLanguage = Annotated[
    str,
    typer.Option("--from", help="Source language, where several lead to the target language.", metavar="LANG"),
]
ToLanguage = Annotated[
    str,
    typer.Option("--to", help="Target language, for a model of several directions.", metavar="LANG"),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write there instead of standard output.", metavar="FILE")
]
AsJsonLines = Annotated[bool, typer.Option("--json", help="An object a line: text, score, tokens, ...", metavar="")]
Lines = Annotated[
    bool,
    typer.Option("--lines", help="A line is one sentence; else a line is split into its sentences.", metavar=""),
]
NoGuards = Annotated[
    bool,
    typer.Option("--no-guards", help="What the search finds, as it is: no checks, no second search.", metavar=""),
]
NBest = Annotated[
    int,
    typer.Option(
        "--n-best",
        help="Translations of each line, as `number ||| text ||| score`.",
        parser=whole_number(1),
        metavar="N",
    ),
]


class PrecisionName(StrEnum):
    """The words of `--precision`."""

    FP32 = "fp32"
    BF16 = "bf16"
    INT8 = "int8"


Precision = Annotated[
    PrecisionName | None,
    typer.Option(
        "--precision",
        help="Numbers to multiply in: [bold]fp32[/bold], [bold]bf16[/bold], or the fastest, [bold]int8[/bold].",
        metavar="P",
    ),
]
Shortlisted = Annotated[
    bool,
    typer.Option("--shortlist", help="Score likely pieces alone; `limelight shortlist` learns which.", metavar=""),
]
BatchTokens = Annotated[
    int,
    typer.Option(
        "--batch-tokens",
        help="Bounds a batch, and the memory: source pieces times hypotheses.",
        parser=whole_number(1),
        metavar="N",
    ),
]

# --- generate ---

Prompt = Annotated[
    str | None,
    typer.Argument(help="Text to go on from; standard input when not given, or for -.", metavar="PROMPT"),
]
Samples = Annotated[
    int, typer.Option("--samples", help="How many texts, drawn side by side.", parser=whole_number(1), metavar="N")
]
MaxPieces = Annotated[
    int,
    typer.Option(
        "--max-pieces", help="Most pieces of each text; 500 when not given.", parser=whole_number(1), metavar="N"
    ),
]
Stop = Annotated[
    list[str] | None,
    typer.Option("--stop", help="Text before which to stop; may be given several times.", metavar="TEXT"),
]
AsJsonTexts = Annotated[bool, typer.Option("--json", help="An object a line: text, prompt, tokens, ...", metavar="")]

# --- fill ---

MaskedText = Annotated[
    str | None,
    typer.Argument(help="A text with [MASK] in it; a line each from standard input when not given.", metavar="TEXT"),
]
Top = Annotated[int, typer.Option("--top", help="Guesses for each mask.", parser=whole_number(1), metavar="N")]

# --- evaluate ---

Test = Annotated[
    list[str],
    typer.Option(
        "--test",
        help="Parallel text: one file of both sides (.tsv, .jsonl, .tmx, .xliff, .po, .ts, .csv), or two files line by "
        "line.",
        metavar="FILE...",
    ),
]
Tokenize = Annotated[
    str | None,
    typer.Option(
        "--tokenize",
        help="sacreBLEU's tokenization: 13a, intl, zh, ja-mecab, ko-mecab, char, none, flores200; chosen from the "
        "target language when not given.",
        metavar="NAME",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="All figures as one JSON object.", metavar="")]
Kept = Annotated[
    Path | None, typer.Option("--output", "-o", help="Keep the translations, a line each.", metavar="FILE")
]
