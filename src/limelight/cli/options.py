"""The options of all commands: name, type and help text.

Their order in the help is the order of a command's parameters.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.arguments import decimal, device_name, whole_number
from limelight.recipes import describe_recipes

# --- shared by several commands ---

Models = Annotated[
    list[str] | None,
    typer.Option("--model", help="Run or model folder; several are one ensemble.", metavar="RUN"),
]
OneModel = Annotated[list[str] | None, typer.Option("--model", help="Run or model folder.", metavar="RUN")]
Beam = Annotated[
    int | None,
    typer.Option(
        "--beam",
        help="Beam size; 1 is greedy search. Default: the model's setting.",
        parser=whole_number(1),
        metavar="N",
    ),
]

COMPUTING = "Computing"
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        help="auto (default: a GPU if there is one), cpu, cuda, cuda:1 (the second GPU), or mps.",
        parser=device_name,
        metavar="NAME",
        rich_help_panel=COMPUTING,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        help="Number of CPU threads. Default: one per core.",
        parser=whole_number(1),
        metavar="N",
        rich_help_panel=COMPUTING,
    ),
]

# --- train ---

TEXT, MODEL, END = "Text", "Model", "When to stop"


class BadLinePolicy(StrEnum):
    """The values of `--on-bad-line`, as in `data.on_bad_line`."""

    STOP = "stop"
    SKIP = "skip"


Out = Annotated[Path | None, typer.Option("--out", help="Run folder; an existing run is resumed.", metavar="RUN")]
Preview = Annotated[
    int | None,
    typer.Option(
        "--preview",
        help="Print N augmented pairs and exit without training.",
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
        help="Parallel training text: one file (.tsv, .jsonl, .tmx, .xliff, .po, .ts, .csv), or two aligned text "
        "files; also .gz, .xz, .zst.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
BackTranslated = Annotated[
    list[str] | None,
    typer.Option(
        "--back-translated",
        help="Back-translated training text; its source sentences get the tag <bt>.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
Valid = Annotated[
    list[str] | None,
    typer.Option(
        "--valid", help="Parallel validation text, in the same formats.", metavar="FILE...", rich_help_panel=TEXT
    ),
]
HoldOut = Annotated[
    int | None,
    typer.Option(
        "--hold-out",
        help="Take N pairs of each direction out of --train for validation, and N for tests, into RUN/held-out.",
        parser=whole_number(1),
        metavar="N",
        rich_help_panel=TEXT,
    ),
]
PlainText = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        help="Plain text for a language model or a masked model; a tenth is held out for validation.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
ValidText = Annotated[
    list[str] | None,
    typer.Option(
        "--valid-text",
        help="Plain validation text, instead of the held-out part.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
Source = Annotated[
    str,
    typer.Option(
        "--source",
        help="Source language, e.g. en. Default: from file names such as train.en.",
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
        help="Lines that cannot be read: stop and name the line (default), or skip and report them.",
        metavar="stop|skip",
        rich_help_panel=TEXT,
    ),
]
Recipe = Annotated[
    str,
    typer.Option(
        "--recipe",
        help=f"A complete configuration. Default: small. {describe_recipes()}.",
        metavar="NAME",
        rich_help_panel=MODEL,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="A configuration file instead of a recipe, such as a run's config.yaml.",
        metavar="FILE",
        rich_help_panel=MODEL,
    ),
]
From = Annotated[
    str | None,
    typer.Option(
        "--from",
        help="Start from the weights and vocabulary of this run or model folder.",
        metavar="MODEL",
        rich_help_panel=MODEL,
    ),
]
Tag = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        help="A file of --train and what is said of it: formal, informal or domain:NAME. Can be repeated.",
        metavar="FILE=NAME",
        rich_help_panel=TEXT,
    ),
]
ExtendVocabulary = Annotated[
    bool,
    typer.Option(
        "--extend-vocabulary",
        help="With --from: add tokens for new languages and for frequent words of the text to the vocabulary.",
        rich_help_panel=MODEL,
    ),
]
General = Annotated[
    list[str] | None,
    typer.Option(
        "--general",
        help="With --from: parallel text of other subjects, which the new model should not forget. Default: the text "
        "that the folder of the model keeps.",
        metavar="FILE...",
        rich_help_panel=TEXT,
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Change a setting, e.g. training.seed=7. Can be repeated.",
        metavar="KEY=VALUE",
        rich_help_panel=MODEL,
    ),
]
MaxMinutes = Annotated[
    float | None,
    typer.Option(
        "--max-minutes",
        help="Stop after M minutes of training in total.",
        parser=decimal(above=0.0),
        metavar="M",
        rich_help_panel=END,
    ),
]
MaxSteps = Annotated[
    int | None,
    typer.Option(
        "--max-steps",
        help="Stop after N updates in total.",
        parser=whole_number(1),
        metavar="N",
        rich_help_panel=END,
    ),
]

# --- translate ---

Text = Annotated[
    Path | None,
    typer.Argument(help="Text, one sentence per line; also .gz, .xz, .zst. Default: standard input.", metavar="FILE"),
]
GivenText = Annotated[
    str | None,
    typer.Option(
        "--text", help="Text to translate, even if it is a single word or the name of a file.", metavar="TEXT"
    ),
]
FromLanguage = Annotated[
    str,
    typer.Option("--from", help="Source language, for a model with several source languages.", metavar="LANG"),
]
ToLanguage = Annotated[
    str,
    typer.Option("--to", help="Target language, for a model with several directions.", metavar="LANG"),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Output file. Default: standard output.", metavar="FILE")
]
AsJsonLines = Annotated[
    bool, typer.Option("--json", help="Print one JSON object per line: text, score, tokens, ...", metavar="")
]
Lines = Annotated[
    bool,
    typer.Option(
        "--lines", help="Translate each line as one sentence. Default: split lines into sentences.", metavar=""
    ),
]
NoGuards = Annotated[
    bool,
    typer.Option("--no-guards", help="Return the result of the first search: no checks, no second search.", metavar=""),
]
NoPivot = Annotated[
    bool,
    typer.Option(
        "--no-pivot",
        help="Refuse languages that the model only connects through another one, instead of translating twice.",
        metavar="",
    ),
]
NBest = Annotated[
    int,
    typer.Option(
        "--n-best",
        help="Number of translations per line, as `number ||| text ||| score`.",
        parser=whole_number(1),
        metavar="N",
    ),
]


class PrecisionName(StrEnum):
    """The values of `--precision`."""

    FP32 = "fp32"
    BF16 = "bf16"
    INT8 = "int8"


Precision = Annotated[
    PrecisionName | None,
    typer.Option(
        "--precision",
        help="Precision of matrix products: [bold]fp32[/bold], [bold]bf16[/bold], or [bold]int8[/bold] (fastest).",
        metavar="P",
    ),
]
Shortlisted = Annotated[
    bool,
    typer.Option(
        "--shortlist", help="Compute logits of a lexical shortlist only; see `limelight shortlist`.", metavar=""
    ),
]
BatchTokens = Annotated[
    int,
    typer.Option(
        "--batch-tokens",
        help="Batch size in source tokens times hypotheses; bounds the memory.",
        parser=whole_number(1),
        metavar="N",
    ),
]

# --- generate ---

Prompt = Annotated[
    str | None,
    typer.Argument(help="Text to continue. Default, or for -: standard input.", metavar="PROMPT"),
]
Samples = Annotated[
    int,
    typer.Option("--samples", help="Number of texts to generate for the prompt.", parser=whole_number(1), metavar="N"),
]
MaxTokens = Annotated[
    int,
    typer.Option(
        "--max-tokens", help="Maximum number of tokens per text. Default: 500.", parser=whole_number(1), metavar="N"
    ),
]
FormerMaxTokens = Annotated[
    int | None,
    typer.Option("--max-pieces", hidden=True, help="The former name of --max-tokens.", parser=whole_number(1)),
]
Stop = Annotated[
    list[str] | None,
    typer.Option("--stop", help="Stop before this text. Can be repeated.", metavar="TEXT"),
]
AsJsonTexts = Annotated[
    bool, typer.Option("--json", help="Print one JSON object per line: text, prompt, tokens, ...", metavar="")
]

# --- fill ---

MaskedText = Annotated[
    str | None,
    typer.Argument(help="A text with [MASK] tokens. Default: lines of standard input.", metavar="TEXT"),
]
Top = Annotated[int, typer.Option("--top", help="Number of predictions per mask.", parser=whole_number(1), metavar="N")]

# --- evaluate ---

Test = Annotated[
    list[str],
    typer.Option(
        "--test",
        help="Parallel text: one file (.tsv, .jsonl, .tmx, .xliff, .po, .ts, .csv), or two aligned text files.",
        metavar="FILE...",
    ),
]
CalibrationTest = Annotated[
    list[str] | None,
    typer.Option("--test", help="Parallel text to measure the calibration on.", metavar="FILE..."),
]
Tokenize = Annotated[
    str | None,
    typer.Option(
        "--tokenize",
        help="sacreBLEU's tokenization: 13a, intl, zh, ja-mecab, ko-mecab, char, none, flores200. Default: by "
        "target language.",
        metavar="NAME",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print all results as one JSON object.", metavar="")]
Kept = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Write the translations to this file, one per line.", metavar="FILE"),
]
