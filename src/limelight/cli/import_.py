"""`limelight import`."""

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
[bold]Examples[/bold]
  limelight import opus-mt-en-de -o runs/opus-en-de
  limelight translate --model runs/opus-en-de < input.txt > output.txt
"""
WITH_LESS_MEMORY = "Importing needs memory for two or three copies of the weights: use a machine with more"

Foreign = Annotated[
    Path,
    typer.Argument(help="Folder of a Marian model as transformers saves it.", metavar="FOLDER", show_default=False),
]
Run = Annotated[Path, typer.Option("--output", "-o", help="Output model folder; it must not exist.", metavar="RUN")]


def import_(folder: Foreign, output: Run) -> None:
    """Convert a Marian model, such as those of OPUS-MT, to a Limelight model."""
    from limelight.interop import import_huggingface

    import_huggingface(folder, output)
    typer.echo(f"wrote {output}; translate with `limelight translate --model {output}`", err=True)
