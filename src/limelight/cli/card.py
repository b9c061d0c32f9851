"""`limelight card`."""

from __future__ import annotations

import typer

from limelight.cli import options
from limelight.cli.models import find_models
from limelight.errors import UserError

EXAMPLES = """
[bold]Examples[/bold]
  limelight card
  limelight card --model runs/en-de
"""
WITH_LESS_MEMORY = "Printing a card needs little memory: other programs on this machine use it"


def card(model: options.OneModel = None) -> None:
    """Print the card of a model: what it was trained on, how good it is, its license."""
    folders, _ = find_models(model, bundled=True)
    from limelight.storage.layout import CARD, find_model

    path = find_model(folders[0]) / CARD
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise UserError(f"{path}: this model has no card") from None
    typer.echo(text.rstrip())
