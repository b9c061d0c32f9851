"""`limelight evaluate`."""

from typing import Annotated

import typer


def evaluate(
    test: Annotated[
        list[str],
        typer.Option(help="Parallel text: one .tsv or .jsonl file, or two files line by line.", metavar="FILE..."),
    ],
    model: Annotated[
        list[str] | None, typer.Option(help="Run or model folder; several are one ensemble.", metavar="RUN")
    ] = None,
    beam: Annotated[int | None, typer.Option(help="Beam size; the model's own default when not given.", min=1)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="All figures as one JSON object.")] = False,
) -> None:
    """Measure a model on text it has not seen: BLEU and chrF with signatures, also by source length.

    [bold]Example[/bold]

      limelight evaluate --model runs/en-de --test test.en test.de
    """
    from limelight.cli.arguments import corpora
    from limelight.cli.models import open_translator
    from limelight.evaluation.evaluate import evaluate as measure
    from limelight.text.readers import read_pairs

    pairs = [pair for corpus in corpora(test, "", "", "--test") for pair in read_pairs(corpus.files)]
    evaluation = measure(open_translator(model), pairs, beam_size=beam, origin={"model": model})
    typer.echo(evaluation.to_json() if as_json else evaluation.table())
