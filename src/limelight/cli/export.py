"""`limelight export`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from limelight.cli import options
from limelight.cli.models import find_models
from limelight.errors import UserError

EXAMPLES = """
[bold]Examples[/bold]
  limelight export --model runs/en-de --to ctranslate2 \\
      --quantization int8 -o en-de-int8
  limelight export --model runs/en-de --to huggingface -o en-de-marian
"""
WITH_LESS_MEMORY = "Exporting holds the weights two or three times: do it on a machine with more memory"


class Format(StrEnum):
    """The words of `--to`."""

    CTRANSLATE2 = "ctranslate2"
    HUGGINGFACE = "huggingface"


class Quantization(StrEnum):
    """The words of `--quantization`, which are CTranslate2's."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT8 = "int8"
    INT8_FLOAT32 = "int8_float32"
    INT8_FLOAT16 = "int8_float16"
    INT8_BFLOAT16 = "int8_bfloat16"
    INT16 = "int16"


To = Annotated[
    Format,
    typer.Option("--to", help="CTranslate2, or a Marian model for transformers.", metavar="ctranslate2|huggingface"),
]
Folder = Annotated[Path, typer.Option("--output", "-o", help="The folder to write; it must be new.", metavar="FOLDER")]
Bits = Annotated[
    Quantization | None,
    typer.Option(
        "--quantization",
        help="CTranslate2: how weights are stored; float32 if nothing else is said. int8 is a quarter of it.",
        metavar="int8|float16|...",
    ),
]


def export(to: To, output: Folder, model: options.OneModel = None, quantization: Bits = None) -> None:
    """Write a model for another tool: CTranslate2, or transformers."""
    if quantization is not None and to is not Format.CTRANSLATE2:
        raise UserError(
            f"--quantization {quantization.value}: only CTranslate2 stores weights so; use it with --to ctranslate2"
        )
    folders, _ = find_models(model)
    if len(folders) > 1:
        raise UserError(f"{len(folders)} models: one is exported at a time; give --model once")
    from limelight.interop import export_ctranslate2, export_huggingface
    from limelight.models.stored import load_model

    stored = load_model(folders[0])
    if to is Format.CTRANSLATE2:
        export_ctranslate2(stored, output, quantization=(quantization or Quantization.FLOAT32).value)
    else:
        export_huggingface(stored, output)
    typer.echo(f"wrote {output}; its README.md shows how to use it", err=True)
