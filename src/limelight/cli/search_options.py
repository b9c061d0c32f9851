"""Options of search and sampling for all commands that decode.

`DecodingConfig` declares them; it is imported when a value is given, to keep `--help` fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from limelight.cli import options
from limelight.cli.arguments import Group, decimal, option, setting, whole_number
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.decoding.sampling import Sampling

SEARCH = "Search (default: the model's settings)"
SAMPLING = "Sampling"


def flag(name: str) -> str:
    """The option for one of `SEARCH_OPTIONS` or `SAMPLING_OPTIONS`."""
    return "--beam" if name == "beam_size" else f"--{name.replace('_', '-')}"


_HELP = {
    "length_penalty": ("ALPHA", "Exponent of the length penalty. Default: the model's setting.", None),
    "length_offset": ("K", "K of the length penalty ((K + length) / (K + 1))^ALPHA; 0 makes it length^ALPHA.", SEARCH),
    "coverage_penalty": (
        "BETA", "Weight of the coverage penalty, for source tokens that the translation pays no attention to.", SEARCH
    ),
    "patience": ("P", "Stop a sentence when P times the beam size hypotheses have ended; 1000: exact search.", SEARCH),
    "prune": ("D", "Prune hypotheses whose log-probability is D below the best one's; 1000: no pruning.", SEARCH),
    "max_length_factor": (
        "F", "Maximum length of a translation: F times the source's tokens, plus the extra.", SEARCH
    ),
    "max_length_extra": ("N", "The extra number of tokens.", SEARCH),
}  # fmt: skip
"""Metavar, help and panel by the name of a field of `DecodingConfig`, which declares the type and the bounds."""
SEARCH_OPTIONS: Mapping[str, Any] = {
    "beam_size": options.Beam,
    **{
        name: Annotated[float | None, option(flag(name), text, metavar, setting(name), panel=panel)]
        for name, (metavar, text, panel) in _HELP.items()
    },
}
"""By the names of `SearchOptions`."""
Search = Annotated[dict[str, Any], Group(SEARCH_OPTIONS)]

NoRepeatNgram = Annotated[
    int | None, option("--no-repeat-ngram", "Forbid repeated n-grams of N tokens.", "N", whole_number(1), panel=SEARCH)
]
RepetitionPenalty = Annotated[
    float | None,
    option(
        "--repetition-penalty",
        "Multiply the log-probability of tokens that occurred before by P.",
        "P",
        decimal(at_least=1.0),
        panel=SEARCH,
    ),
]
Formality = Annotated[
    str,
    option(
        "--formality",
        "Form of address, for a model trained with it: formal or informal; prefer_formal and so on: if it is.",
        "FORM",
    ),
]
Domain = Annotated[str, option("--domain", "Domain of the text, for a model trained with its tag.", "NAME")]
MustInclude = Annotated[
    list[str] | None,
    option(
        "--must-include",
        "Phrase that each translation has to contain; 'lamp|lamps': in one of these forms. Can be repeated.",
        "PHRASE",
        panel=SEARCH,
    ),
]
MustNotInclude = Annotated[
    list[str] | None,
    option("--must-not-include", "Phrase that no translation may contain. Can be repeated.", "PHRASE", panel=SEARCH),
]

Sample = Annotated[bool, option("--sample", "Sample translations instead of searching.", panel=SAMPLING)]
Greedy = Annotated[
    bool, option("--greedy", "Take the most probable token at every step instead of sampling.", panel=SAMPLING)
]
SAMPLING_OPTIONS: Mapping[str, Any] = {
    "temperature": Annotated[
        float | None,
        option(
            "--temperature",
            "Divides the logits: below 1 sharpens the distribution, above 1 flattens it.",
            "T",
            decimal(above=0.0),
            panel=SAMPLING,
        ),
    ],
    "top_k": Annotated[
        int | None, option("--top-k", "Sample from the K most probable tokens.", "K", whole_number(1), panel=SAMPLING)
    ],
    "top_p": Annotated[
        float | None,
        option(
            "--top-p",
            "Sample from the most probable tokens with a total probability of P.",
            "P",
            decimal(above=0.0, at_most=1.0),
            panel=SAMPLING,
        ),
    ],
    "seed": Annotated[
        int | None, option("--seed", "Seed of the random numbers.", "N", whole_number(0), panel=SAMPLING)
    ],
}
"""By the names of `Sampling`."""
Drawing = Annotated[dict[str, Any], Group(SAMPLING_OPTIONS)]


def check_search(search: Mapping[str, Any], *, n_best: int, sample: bool = False) -> None:
    """Raise `UserError` for search options that exclude each other."""
    beam, prune = search["beam_size"], search["prune"]
    if beam is not None and n_best > beam and not sample:
        raise UserError(
            f"--n-best {n_best}: there are at most as many as the beam size, and --beam is {beam}; increase it"
        )
    if prune is not None and n_best > 1:
        raise UserError(f"--prune {prune:g} and --n-best {n_best} exclude each other: pruning keeps only the best one")
    for name in ("beam_size", "coverage_penalty", "patience", "prune") if sample else ():
        if search[name] is not None:
            raise UserError(f"{flag(name)} {search[name]:g} and --sample exclude each other: either search or sample")


def sampling_of(given: Mapping[str, float | int | None], *, sample: bool) -> Sampling | None:
    """The sampling settings of the given options; None without `--sample`. Raises `UserError` for options that need
    `--sample`."""
    wanted = {name: value for name, value in given.items() if value is not None}
    if not sample:
        if wanted:
            named = " and ".join(f"{flag(name)} {value}" for name, value in wanted.items())
            raise UserError(f"{named}: sampling options need --sample; add it or leave them out")
        return None
    from limelight.decoding.sampling import Sampling

    return Sampling(**wanted)  # type: ignore[arg-type]  # each name has its own type
