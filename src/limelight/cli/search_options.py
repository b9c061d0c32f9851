"""Options of search and sampling for all commands that decode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from limelight.cli.arguments import decimal, whole_number
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.decoding.sampling import Sampling

SEARCH = "Search (default: the model's settings)"
"""The bounds are those of `DecodingConfig`, which is not imported to keep `--help` fast; a test compares them."""

LengthOffset = Annotated[
    float | None,
    typer.Option(
        "--length-offset",
        help="K of the length penalty ((K + length) / (K + 1))^ALPHA; 0 makes it length^ALPHA.",
        parser=decimal(at_least=0.0, at_most=100.0),
        metavar="K",
        rich_help_panel=SEARCH,
    ),
]
Patience = Annotated[
    float | None,
    typer.Option(
        "--patience",
        help="Stop a sentence when P times the beam size hypotheses have ended; 1000: exact search.",
        parser=decimal(above=0.0),
        metavar="P",
        rich_help_panel=SEARCH,
    ),
]
Prune = Annotated[
    float | None,
    typer.Option(
        "--prune",
        help="Prune hypotheses whose log-probability is D below the best one's; 1000: no pruning.",
        parser=decimal(above=0.0),
        metavar="D",
        rich_help_panel=SEARCH,
    ),
]
MaxLengthFactor = Annotated[
    float | None,
    typer.Option(
        "--max-length-factor",
        help="Maximum length of a translation: F times the source's tokens, plus the extra.",
        parser=decimal(above=0.0, at_most=100.0),
        metavar="F",
        rich_help_panel=SEARCH,
    ),
]
MaxLengthExtra = Annotated[
    int | None,
    typer.Option(
        "--max-length-extra",
        help="The extra number of tokens.",
        parser=whole_number(1, 1000),
        metavar="N",
        rich_help_panel=SEARCH,
    ),
]
NoRepeatNgram = Annotated[
    int | None,
    typer.Option(
        "--no-repeat-ngram",
        help="Forbid repeated n-grams of N tokens.",
        parser=whole_number(1),
        metavar="N",
        rich_help_panel=SEARCH,
    ),
]

MustInclude = Annotated[
    list[str] | None,
    typer.Option(
        "--must-include",
        help="Phrase that each translation has to contain; 'lamp|lamps': in one of these forms. Can be repeated.",
        metavar="PHRASE",
        rich_help_panel=SEARCH,
    ),
]
MustNotInclude = Annotated[
    list[str] | None,
    typer.Option(
        "--must-not-include",
        help="Phrase that no translation may contain. Can be repeated.",
        metavar="PHRASE",
        rich_help_panel=SEARCH,
    ),
]

SAMPLING = "Sampling"

Sample = Annotated[
    bool,
    typer.Option("--sample", help="Sample translations instead of searching.", metavar="", rich_help_panel=SAMPLING),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        help="Divides the logits: below 1 sharpens the distribution, above 1 flattens it.",
        parser=decimal(above=0.0),
        metavar="T",
        rich_help_panel=SAMPLING,
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(
        "--top-k",
        help="Sample from the K most probable tokens.",
        parser=whole_number(1),
        metavar="K",
        rich_help_panel=SAMPLING,
    ),
]
TopP = Annotated[
    float | None,
    typer.Option(
        "--top-p",
        help="Sample from the most probable tokens with a total probability of P.",
        parser=decimal(above=0.0, at_most=1.0),
        metavar="P",
        rich_help_panel=SAMPLING,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", help="Seed of the random numbers.", parser=whole_number(0), metavar="N", rich_help_panel=SAMPLING
    ),
]
Greedy = Annotated[
    bool,
    typer.Option(
        "--greedy",
        help="Take the most probable token at every step instead of sampling.",
        metavar="",
        rich_help_panel=SAMPLING,
    ),
]


def check_search(
    *, beam: int | None, n_best: int, patience: float | None = None, prune: float | None = None, sample: bool = False
) -> None:
    """Raise `UserError` for search options that exclude each other."""
    if beam is not None and n_best > beam and not sample:
        raise UserError(
            f"--n-best {n_best}: there are at most as many as the beam size, and --beam is {beam}; increase it"
        )
    if prune is not None and n_best > 1:
        raise UserError(f"--prune {prune:g} and --n-best {n_best} exclude each other: pruning keeps only the best one")
    for name, value in {"beam": beam, "patience": patience, "prune": prune}.items() if sample else ():
        if value is not None:
            raise UserError(f"--{name} {value:g} and --sample exclude each other: either search or sample")


def sampling_of(given: dict[str, float | int | None], *, sample: bool) -> Sampling | None:
    """The sampling settings of the given options; None without `--sample`. Raises `UserError` for options that need
    `--sample`."""
    wanted = {name: value for name, value in given.items() if value is not None}
    if not sample:
        if wanted:
            named = " and ".join(f"--{name.replace('_', '-')} {value}" for name, value in wanted.items())
            raise UserError(f"{named}: sampling options need --sample; add it or leave them out")
        return None
    from limelight.decoding.sampling import Sampling

    return Sampling(**wanted)  # type: ignore[arg-type]  # each name has its own type
