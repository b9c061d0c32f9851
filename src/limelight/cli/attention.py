"""`limelight attention`."""

from pathlib import Path
from typing import Annotated

import typer


def attention(
    sentence: Annotated[str, typer.Argument(help="The source sentence.")],
    model: Annotated[list[str] | None, typer.Option(help="Run or model folder.", metavar="RUN")] = None,
    target: Annotated[str | None, typer.Option(help="Look at this translation instead of the model's own.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A .png or .svg picture, or .json with every number.")
    ] = None,
    words: Annotated[bool, typer.Option("--words/--pieces", help="Merge sub-words to words.")] = True,
) -> None:
    """Show what a model attends to while it translates a sentence.

    [bold]Examples[/bold]

      limelight attention --model runs/en-de "A dog runs on the grass."

      limelight attention --model runs/en-de "A dog runs." --target "Ein Hund rennt." -o map.svg
    """
    from limelight.cli.models import open_translator
    from limelight.inspection import save, text_picture

    seen = open_translator(model).attention(sentence, target=target)
    if words:
        seen = seen.merge_words()
    if output is not None:
        save(seen, output)
        typer.echo(f"wrote {output}", err=True)
    else:
        typer.echo(text_picture(seen))
