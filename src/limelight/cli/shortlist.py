"""`limelight shortlist`."""

import typer

from limelight.cli import options
from limelight.cli.arguments import corpora
from limelight.cli.models import find_models
from limelight.errors import UserError

EXAMPLES = """
[bold]Examples[/bold]
  limelight shortlist --model runs/en-de
  limelight shortlist --model runs/en-de --train train.en train.de
"""
WITH_LESS_MEMORY = "Give less text with --train: 100,000 pairs are nearly as good"


def shortlist(model: options.OneModel = None, train: options.Train = None) -> None:
    """Learn a lexical shortlist, for faster translation with a large vocabulary."""
    folders, _ = find_models(model)
    if len(folders) > 1:
        raise UserError(f"{len(folders)} models: each has a shortlist of its own; give --model once")
    from limelight.preparation.lexicon import make_shortlist

    file = make_shortlist(folders[0], corpora(train or [], "", "", "--train"), lambda line: typer.echo(line, err=True))
    typer.echo(f"wrote {file}; `limelight translate --shortlist` uses it", err=True)
