"""`limelight evaluate`."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.arguments import corpora, decimal, whole_number
from limelight.cli.models import find_models, open_translator
from limelight.cli.output import lines_to, one_line, show

EXAMPLES = """
[bold]Examples[/bold]
  limelight evaluate --model runs/en-de --test test.en test.de
  limelight evaluate --model runs/en-de --test test.tsv --json > result.json
"""
WITH_LESS_MEMORY = "Give a smaller --beam, or split very long lines"


def evaluate(
    test: Annotated[
        list[str],
        typer.Option(help="Parallel text: one .tsv or .jsonl file, or two files line by line.", metavar="FILE..."),
    ],
    model: Annotated[
        list[str] | None, typer.Option(help="Run or model folder; several are one ensemble.", metavar="RUN")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as one JSON object.", metavar="")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Keep the translations, a line each.", metavar="FILE")
    ] = None,
    beam: Annotated[
        int | None,
        typer.Option(
            help="Hypotheses side by side, 1 is greedy; the model's own number when not given.",
            parser=whole_number(1), metavar="N",
        ),
    ] = None,
    length_penalty: Annotated[
        float | None,
        typer.Option(
            help="How much longer ones are preferred; the model's own when not given.",
            parser=decimal(at_least=0.0), metavar="ALPHA",
        ),
    ] = None,
) -> None:  # fmt: skip
    """Measure a model on text it has not seen: BLEU and chrF with signatures, also by source length."""
    from limelight.text.readers import read_pairs

    folders, configs = find_models(model)
    pairs = [pair for corpus in corpora(test, "", "", "--test") for pair in read_pairs(corpus.files)]
    from limelight.evaluation.evaluate import evaluate as measure

    with lines_to(output) if output else nullcontext() as write:
        found = measure(
            open_translator(folders),
            pairs,
            beam_size=beam,
            length_penalty=length_penalty,
            origin={"model": folders, "seed": [config.training.seed for config in configs]},
        )
        if write is not None:
            for text in found.translations:
                write(one_line(text))
    show(found.to_json() if as_json else found.table())
