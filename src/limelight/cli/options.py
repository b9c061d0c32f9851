"""Options of several commands. Those of one command stand in its own file.

Their order in the help is the order of a command's parameters.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from limelight.cli.arguments import SEVERAL, assignments, flag, option, refuse

Words = list[str] | None
Files = Path | None
Precision = Literal["fp32", "bf16", "int8", "auto"] | None
OnBadLine = Literal["stop", "skip"] | None

COMPUTING, TEXT, MODEL, END = "Computing", "Text", "Model", "When to stop"
SEARCH, SAMPLING, SELECTION = "Search (default: the model's settings)", "Sampling", "Selection"

MODELS = option("Run or model folder; several are one ensemble. Default: the bundled translator.", "RUN")
ONE_MODEL = option("Run or model folder. Default: the bundled translator.", "RUN")
OWN_MODEL = option("Run folder of `limelight train`, or model folder.", "RUN")
FROM = option("Source language, for a model with several source languages.", "LANG", "", "--from --source")
TO = option("Target language, for a model with several directions.", "LANG", "", "--to --target")
OUTPUT = option("Output file. Default: standard output.", "FILE", names="--output -o")
AS_JSON = flag("Print all results as one JSON object.", "--json")
AS_JSON_LINES = flag("Print one JSON object per line, with all results.", "--json")
QUIET = flag("Show no progress.", "--quiet -q")
PRECISION = option(
    "Precision of matrix products: int8 (fastest on a CPU), bf16, fp32, or auto: int8 if the run measured that it "
    "costs at most 0.1 BLEU. Default: by model and machine.",
    "P",
)
SHORTLIST = flag("Compute only target tokens of the lexical shortlist, which is faster; see `limelight shortlist`.")
NO_PIVOT = flag("Refuse languages that the model only connects through another one, instead of translating twice.")
BATCH_TOKENS = option("Batch size in source tokens times hypotheses; bounds the memory.", "N", 16384, min=1)
BEAM = option("Beam size; 1 is greedy search. Default: the model's setting.", "N", min=1)
DEVICE = option(
    "auto (default: a GPU if there is one), cpu, cuda, cuda:1 (the second GPU), or mps.", "NAME", panel=COMPUTING
)
SAMPLE = flag("Sample translations instead of searching.", panel=SAMPLING)

# --- text to learn from ---

TRAIN = option(
    "Parallel training text: one file (.tsv, .jsonl, .tmx, .xliff, .po, .ts, .csv), or two aligned text files; also "
    ".gz, .xz, .zst.",
    SEVERAL,
    panel=TEXT,
)
TEST = option("Sentence pairs that the model was not trained on, in the formats of `limelight train`.", SEVERAL, ...)
GENERAL = option(
    "Parallel text of other subjects, which the new model should not forget. Default: the text that the "
    "folder of the model keeps.",
    SEVERAL,
    panel=TEXT,
)
SOURCE = option("Source language, e.g. en. Default: from file names such as train.en.", "LANG", "", panel=TEXT)
TARGET = option("Target language, e.g. de.", "LANG", "", panel=TEXT)
ON_BAD_LINE = option(
    "Lines that cannot be read: stop and name the line (default), or skip and report them.", "stop|skip", panel=TEXT
)
MAX_MINUTES = option("Stop after M minutes of training in total.", "M", panel=END)

# --- search and sampling ---


@dataclass(frozen=True)
class Search:
    """Settings of the search: two by name, and any other of the configuration's section `decoding`."""

    beam: int | None = BEAM
    length_penalty: float | None = option(
        "Exponent of the length penalty. Default: the model's setting.", "ALPHA", min=0
    )
    settings: Words = option(
        "Another setting of the search, such as patience=2, prune=8 or max_length_factor=3 (section decoding of "
        "docs/settings.md). Can be repeated.",
        "KEY=VALUE",
        names="--set",
        panel=SEARCH,
    )

    def given(self) -> dict[str, Any]:
        """The settings that are given. Raises `UserError` for an unknown one, and for a value out of bounds."""
        from limelight.config import RunConfig, override

        words = assignments({"beam_size": self.beam, "length_penalty": self.length_penalty})
        words += [word.removeprefix("decoding.") for word in self.settings or ()]
        chosen = override(RunConfig(), [f"decoding.{word}" for word in words]).decoding
        return {name: getattr(chosen, name) for name in (word.partition("=")[0].strip() for word in words)}


@dataclass(frozen=True)
class Drawing:
    """Settings of sampling, by the names of `Sampling`."""

    temperature: float | None = option(
        "Divides the logits: below 1 sharpens the distribution, above 1 flattens it.", "T", panel=SAMPLING
    )
    top_k: int | None = option("Sample from the K most probable tokens.", "K", panel=SAMPLING, min=1)
    top_p: float | None = option(
        "Sample from the most probable tokens with a total probability of P.", "P", panel=SAMPLING
    )
    seed: int | None = option("Seed of the random numbers.", "N", panel=SAMPLING, min=0)

    def sampling(self, *, sample: bool, why: str, **defaults: Any) -> Any:
        """The settings of sampling; None without `sample`, where an option raises `UserError` with the reason."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        if not sample:
            return refuse({f"--{name.replace('_', '-')}": value for name, value in given.items()}, why)
        from limelight.decoding.sampling import Sampling

        return Sampling(**{**defaults, **given})


NEEDS_SAMPLE = "sampling options need --sample; add it or leave them out"
