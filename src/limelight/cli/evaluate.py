"""`limelight evaluate`."""

from contextlib import nullcontext

from limelight.cli import options
from limelight.cli.arguments import corpora
from limelight.cli.models import find_models, open_translator
from limelight.cli.output import lines_to, show

EXAMPLES = """
[bold]Examples[/bold]
  limelight evaluate --model runs/en-de --test test.en test.de
  limelight evaluate --model runs/en-de --test test.tsv --json > result.json
"""
WITH_LESS_MEMORY = "Give a smaller --beam, or split very long lines"


def evaluate(
    test: options.Test,
    model: options.Models = None,
    as_json: options.AsJson = False,
    output: options.Kept = None,
    beam: options.Beam = None,
    length_penalty: options.LengthPenalty = None,
    precision: options.Precision = None,
) -> None:
    """Measure a model on text it has not seen: BLEU and chrF with signatures, also by source length."""
    from limelight.text.readers import read_pairs

    folders, configs = find_models(model)
    pairs = [pair for corpus in corpora(test, "", "", "--test") for pair in read_pairs(corpus.files)]
    from limelight.evaluation.evaluate import evaluate as measure

    with lines_to(output) if output else nullcontext() as write:
        found = measure(
            open_translator(folders, precision),
            pairs,
            beam_size=beam,
            length_penalty=length_penalty,
            origin={"model": folders, "seed": [config.training.seed for config in configs]},
        )
        if write is not None:
            for text in found.translations:
                write(text)
    show(found.to_json() if as_json else found.table())
