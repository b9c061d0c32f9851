"""The options of all commands: name, type and help text.

Their order in the help is the order of a command's parameters.
"""

from pathlib import Path
from typing import Annotated, Literal

from limelight.cli.arguments import argument, decimal, device_name, option, setting, whole_number
from limelight.recipes import describe_recipes

# --- shared by several commands ---

Models = Annotated[
    list[str] | None,
    option("--model", "Run or model folder; several are one ensemble. Default: the bundled translator.", "RUN"),
]
OneModel = Annotated[
    list[str] | None, option("--model", "Run or model folder. Default: the bundled translator.", "RUN")
]
Beam = Annotated[
    int | None,
    option("--beam", "Beam size; 1 is greedy search. Default: the model's setting.", "N", setting("beam_size")),
]

COMPUTING = "Computing"
Device = Annotated[
    str | None,
    option(
        "--device",
        "auto (default: a GPU if there is one), cpu, cuda, cuda:1 (the second GPU), or mps.",
        "NAME",
        device_name,
        panel=COMPUTING,
    ),
]
Threads = Annotated[
    int | None,
    option("--threads", "Number of CPU threads. Default: one per core.", "N", whole_number(1), panel=COMPUTING),
]

# --- train ---

TEXT, MODEL, END = "Text", "Model", "When to stop"


Out = Annotated[Path | None, option("--out", "Run folder; an existing run is resumed.", "RUN")]
Preview = Annotated[
    int | None,
    option("--preview", "Print N augmented pairs and exit without training.", "N", whole_number(1), panel=TEXT),
]
Quiet = Annotated[bool, option("--quiet -q", "Show no progress.")]
Train = Annotated[
    list[str] | None,
    option(
        "--train",
        "Parallel training text: one file (.tsv, .jsonl, .tmx, .xliff, .po, .ts, .csv), or two aligned text "
        "files; also .gz, .xz, .zst.",
        "FILE...",
        panel=TEXT,
    ),
]
BackTranslated = Annotated[
    list[str] | None,
    option(
        "--back-translated",
        "Back-translated training text; its source sentences get the tag <bt>.",
        "FILE...",
        panel=TEXT,
    ),
]
Valid = Annotated[
    list[str] | None, option("--valid", "Parallel validation text, in the same formats.", "FILE...", panel=TEXT)
]
HoldOut = Annotated[
    int | None,
    option(
        "--hold-out",
        "Take N pairs of each direction out of --train for validation, and N for tests, into RUN/held-out.",
        "N",
        whole_number(1),
        panel=TEXT,
    ),
]
PlainText = Annotated[
    list[str] | None,
    option(
        "--text",
        "Plain text for a language model or a masked model; a tenth is held out for validation.",
        "FILE...",
        panel=TEXT,
    ),
]
ValidText = Annotated[
    list[str] | None,
    option("--valid-text", "Plain validation text, instead of the held-out part.", "FILE...", panel=TEXT),
]
Source = Annotated[
    str, option("--source", "Source language, e.g. en. Default: from file names such as train.en.", "LANG", panel=TEXT)
]
Target = Annotated[str, option("--target", "Target language, e.g. de.", "LANG", panel=TEXT)]
OnBadLine = Annotated[
    Literal["stop", "skip"] | None,
    option(
        "--on-bad-line",
        "Lines that cannot be read: stop and name the line (default), or skip and report them.",
        "stop|skip",
        panel=TEXT,
    ),
]
Recipe = Annotated[
    str,
    option(
        "--recipe",
        f"A complete configuration. Default: small, or quick for a small budget. {describe_recipes()}.",
        "NAME",
        panel=MODEL,
    ),
]
Config = Annotated[
    Path | None,
    option("--config", "A configuration file instead of a recipe, such as a run's config.yaml.", "FILE", panel=MODEL),
]
From = Annotated[
    str | None,
    option("--from", "Start from the weights and vocabulary of this run or model folder.", "MODEL", panel=MODEL),
]
Tag = Annotated[
    list[str] | None,
    option(
        "--tag",
        "A file of --train and what is said of it: formal, informal or domain:NAME; or column:NAME, a column of the "
        "file that says it of each pair (in .tsv its number). Can be repeated.",
        "FILE=NAME",
        panel=TEXT,
    ),
]
ExtendVocabulary = Annotated[
    bool,
    option(
        "--extend-vocabulary",
        "With --from: add tokens for new languages and for frequent words of the text to the vocabulary.",
        panel=MODEL,
    ),
]
General = Annotated[
    list[str] | None,
    option(
        "--general",
        "Parallel text of other subjects, which the new model should not forget. Default: the text "
        "that the folder of the model keeps.",
        "FILE...",
        panel=TEXT,
    ),
]
Settings = Annotated[
    list[str] | None,
    option("--set", "Change a setting, e.g. training.seed=7. Can be repeated.", "KEY=VALUE", panel=MODEL),
]
MaxMinutes = Annotated[
    float | None,
    option("--max-minutes", "Stop after M minutes of training in total.", "M", decimal(above=0.0), panel=END),
]
MaxSteps = Annotated[
    int | None, option("--max-steps", "Stop after N updates in total.", "N", whole_number(1), panel=END)
]

# --- translate ---

Text = Annotated[
    Path | None, argument("Text, one sentence per line; also .gz, .xz, .zst. Default: standard input.", "FILE")
]
GivenText = Annotated[
    str | None, option("--text", "Text to translate, even if it is a single word or the name of a file.", "TEXT")
]
FromLanguage = Annotated[str, option("--from", "Source language, for a model with several source languages.", "LANG")]
ToLanguage = Annotated[str, option("--to", "Target language, for a model with several directions.", "LANG")]
Output = Annotated[Path | None, option("--output -o", "Output file. Default: standard output.", "FILE")]
AsJsonLines = Annotated[bool, option("--json", "Print one JSON object per line, with text and scores.")]
Lines = Annotated[bool, option("--lines", "Translate each line as one sentence. Default: split lines into sentences.")]
NoGuards = Annotated[bool, option("--no-guards", "Return the result of the first search: no checks, no second search.")]
NoPivot = Annotated[
    bool,
    option(
        "--no-pivot", "Refuse languages that the model only connects through another one, instead of translating twice."
    ),
]
NBest = Annotated[
    int, option("--n-best", "Number of translations per line, as `number ||| text ||| score`.", "N", whole_number(1))
]


Precision = Annotated[
    Literal["fp32", "bf16", "int8"] | None,
    option(
        "--precision",
        "Precision of matrix products: [bold]fp32[/bold], [bold]bf16[/bold], or [bold]int8[/bold] (fastest).",
        "P",
    ),
]
Shortlisted = Annotated[
    bool, option("--shortlist", "Compute logits of a lexical shortlist only; see `limelight shortlist`.")
]
BatchTokens = Annotated[
    int,
    option("--batch-tokens", "Batch size in source tokens times hypotheses; bounds the memory.", "N", whole_number(1)),
]

# --- generate ---

Prompt = Annotated[str | None, argument("Text to continue. Default, or for -: standard input.", "PROMPT")]
Samples = Annotated[int, option("--samples", "Number of texts to generate for the prompt.", "N", whole_number(1))]
MaxTokens = Annotated[int, option("--max-tokens", "Maximum number of tokens per text.", "N", whole_number(1))]
FormerMaxTokens = Annotated[
    int | None, option("--max-pieces", "The former name of --max-tokens.", None, whole_number(1), hidden=True)
]
Stop = Annotated[list[str] | None, option("--stop", "Stop before this text. Can be repeated.", "TEXT")]
AsJsonTexts = Annotated[bool, option("--json", "Print one JSON object per line: text, prompt, tokens, ...")]

# --- fill ---

MaskedText = Annotated[str | None, argument("A text with [MASK] tokens. Default: lines of standard input.", "TEXT")]
Top = Annotated[int, option("--top", "Number of predictions per mask.", "N", whole_number(1))]

# --- evaluate ---

Test = Annotated[
    list[str],
    option(
        "--test",
        "Parallel text: one file (.tsv, .jsonl, .tmx, .xliff, .po, .ts, .csv), or two aligned text files.",
        "FILE...",
    ),
]
CalibrationTest = Annotated[
    list[str] | None, option("--test", "Parallel text to measure the calibration on.", "FILE...")
]
Tokenize = Annotated[
    str | None,
    option(
        "--tokenize",
        "sacreBLEU's tokenization: 13a, intl, zh, ja-mecab, ko-mecab, char, none, flores200. Default: by "
        "target language.",
        "NAME",
    ),
]
AsJson = Annotated[bool, option("--json", "Print all results as one JSON object.")]
Kept = Annotated[Path | None, option("--output -o", "Write the translations to this file, one per line.", "FILE")]
