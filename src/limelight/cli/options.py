"""Options of several commands. Those of one command stand in its own file.

Their order in the help is the order of a command's parameters.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from limelight.cli.arguments import SEVERAL, device_name, flag, number, option, refuse, setting
from limelight.errors import UserError

Models = Annotated[
    list[str] | None,
    option("--model", "Run or model folder; several are one ensemble. Default: the bundled translator.", "RUN"),
]
OneModel = Annotated[
    list[str] | None, option("--model", "Run or model folder. Default: the bundled translator.", "RUN")
]
FromLanguage = Annotated[str, option("--from", "Source language, for a model with several source languages.", "LANG")]
ToLanguage = Annotated[str, option("--to", "Target language, for a model with several directions.", "LANG")]
Output = Annotated[Path | None, option("--output -o", "Output file. Default: standard output.", "FILE")]
AsJson = Annotated[bool, option("--json", "Print all results as one JSON object.")]
AsJsonLines = Annotated[bool, option("--json", "Print one JSON object per line, with text and scores.")]
Quiet = Annotated[bool, option("--quiet -q", "Show no progress.")]
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
NoPivot = Annotated[
    bool,
    option(
        "--no-pivot", "Refuse languages that the model only connects through another one, instead of translating twice."
    ),
]
BatchTokens = Annotated[
    int,
    option("--batch-tokens", "Batch size in source tokens times hypotheses; bounds the memory.", "N", number(int, 1)),
]
Theme = Literal["dark", "light"]
PictureTheme = Annotated[
    Theme | None,
    option("--theme", "Colors of a picture: dark (default), or light for print.", "dark|light", panel="Selection"),
]

COMPUTING, TEXT, MODEL, END = "Computing", "Text", "Model", "When to stop"
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
    option("--threads", "Number of CPU threads. Default: one per core.", "N", number(int, 1), panel=COMPUTING),
]

# --- text to learn from ---

Train = Annotated[
    list[str] | None,
    option(
        "--train",
        "Parallel training text: one file (.tsv, .jsonl, .tmx, .xliff, .po, .ts, .csv), or two aligned text "
        "files; also .gz, .xz, .zst.",
        SEVERAL,
        panel=TEXT,
    ),
]
Valid = Annotated[
    list[str] | None, option("--valid", "Validation text, in the formats of --train.", SEVERAL, panel=TEXT)
]
Test = Annotated[list[str] | None, option("--test", "Held-out text, in the formats of `limelight train`.", SEVERAL)]
General = Annotated[
    list[str] | None,
    option(
        "--general",
        "Parallel text of other subjects, which the new model should not forget. Default: the text "
        "that the folder of the model keeps.",
        SEVERAL,
        panel=TEXT,
    ),
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
MaxMinutes = Annotated[
    float | None,
    option("--max-minutes", "Stop after M minutes of training in total.", "M", number(float, above=0), panel=END),
]

# --- search and sampling ---

SEARCH, SAMPLING = "Search (default: the model's settings)", "Sampling"
Beam = Annotated[
    int | None,
    option("--beam", "Beam size; 1 is greedy search. Default: the model's setting.", "N", setting("beam_size")),
]


def _setting(name: str, metavar: str, help: str) -> Any:
    return option(flag(name), help, metavar, setting(name), panel=SEARCH)


@dataclass(frozen=True)
class Search:
    """Settings of the search, by the names of `DecodingConfig`, which declares types and bounds."""

    beam_size: Beam = None
    length_penalty: Annotated[
        float | None,
        option("--length-penalty", "Exponent of the length penalty. Default: the model's setting.", "ALPHA",
               setting("length_penalty")),
    ] = None  # fmt: skip
    length_offset: Annotated[
        float | None,
        _setting("length_offset", "K", "K of the length penalty ((K + length) / (K + 1))^ALPHA; 0: length^ALPHA."),
    ] = None
    coverage_penalty: Annotated[
        float | None,
        _setting(
            "coverage_penalty", "BETA", "Weight of the coverage penalty, for source tokens that get no attention."
        ),
    ] = None
    patience: Annotated[
        float | None,
        _setting("patience", "P", "Stop a sentence when P times the beam size hypotheses have ended; 1000: exact."),
    ] = None
    prune: Annotated[
        float | None,
        _setting("prune", "D", "Prune hypotheses whose log-probability is D below the best one's; 1000: no pruning."),
    ] = None
    max_length_factor: Annotated[
        float | None,
        _setting("max_length_factor", "F", "Maximum length of a translation: F times the source's tokens, plus N."),
    ] = None
    max_length_extra: Annotated[int | None, _setting("max_length_extra", "N", "N of the maximum length.")] = None

    def given(self) -> dict[str, Any]:
        """The settings that are given."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def check(self, *, n_best: int, sample: bool = False) -> None:
        """Raise `UserError` for settings that exclude each other."""
        if self.beam_size is not None and n_best > self.beam_size and not sample:
            raise UserError(
                f"--n-best {n_best}: there are at most as many as the beam size, and --beam is {self.beam_size}; "
                "increase it"
            )
        if self.prune is not None and n_best > 1:
            raise UserError(
                f"--prune {self.prune:g} and --n-best {n_best} exclude each other: pruning keeps only the best one"
            )
        for name in ("beam_size", "coverage_penalty", "patience", "prune") if sample else ():
            if (value := getattr(self, name)) is not None:
                raise UserError(f"{flag(name)} {value:g} and --sample exclude each other: either search or sample")


@dataclass(frozen=True)
class Drawing:
    """Settings of sampling, by the names of `Sampling`."""

    temperature: Annotated[
        float | None,
        option(
            "--temperature",
            "Divides the logits: below 1 sharpens the distribution, above 1 flattens it.",
            "T",
            number(float, above=0),
            panel=SAMPLING,
        ),
    ] = None
    top_k: Annotated[
        int | None, option("--top-k", "Sample from the K most probable tokens.", "K", number(int, 1), panel=SAMPLING)
    ] = None
    top_p: Annotated[
        float | None,
        option(
            "--top-p",
            "Sample from the most probable tokens with a total probability of P.",
            "P",
            number(float, above=0, at_most=1),
            panel=SAMPLING,
        ),
    ] = None
    seed: Annotated[
        int | None, option("--seed", "Seed of the random numbers.", "N", number(int, 0), panel=SAMPLING)
    ] = None

    def sampling(
        self,
        *,
        sample: bool = True,
        why: str = "sampling options need --sample; add it or leave them out",
        **defaults: Any,
    ) -> Any:
        """The settings of sampling; None without `sample`, where an option raises `UserError` with the reason."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        if not sample:
            return refuse({flag(name): value for name, value in given.items()}, why)
        from limelight.decoding.sampling import Sampling

        return Sampling(**{**defaults, **given})


Sample = Annotated[bool, option("--sample", "Sample translations instead of searching.", panel=SAMPLING)]
