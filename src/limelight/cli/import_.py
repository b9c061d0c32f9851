"""`limelight import`."""

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
[bold]Examples[/bold]
  limelight import opus-mt-en-de -o runs/opus-en-de
  limelight translate --model runs/opus-en-de < input.txt > output.txt
"""
WITH_LESS_MEMORY = "Importing holds the weights two or three times: do it on a machine with more memory"

Foreign = Annotated[
    Path,
    typer.Argument(help="Folder of a Marian model as transformers saves it.", metavar="FOLDER", show_default=False),
]
Run = Annotated[Path, typer.Option("--output", "-o", help="The model folder to write; it must be new.", metavar="RUN")]


def import_(folder: Foreign, output: Run) -> None:
    """Take over a Marian model, such as those of OPUS-MT, to translate with it here."""
    from limelight.interop import import_huggingface

    import_huggingface(folder, output)
    typer.echo(f"wrote {output}; translate with `limelight translate --model {output}`", err=True)
