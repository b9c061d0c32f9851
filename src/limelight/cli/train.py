"""`limelight train`."""

from pathlib import Path
from typing import Annotated

import typer

from limelight.cli.arguments import corpora
from limelight.config import RunConfig, load_config, override
from limelight.errors import UserError

EPILOG = """
[bold]Examples[/bold]

  limelight train --train train.en train.de --valid valid.en valid.de --out runs/en-de

  limelight train --train memory.tsv --source en --target fr --recipe bahdanau --max-minutes 30 --out runs/en-fr

  limelight train --out runs/en-de --max-minutes 60      (goes on where it stopped)
"""


def train(
    out: Annotated[Path, typer.Option(help="Run folder: made anew, or taken up where it stopped.", metavar="RUN")],
    train: Annotated[
        list[str] | None,
        typer.Option(help="Parallel text: one .tsv or .jsonl file, or two files line by line; .gz, .xz, .zst too.",
                     metavar="FILE..."),
    ] = None,
    valid: Annotated[
        list[str] | None, typer.Option(help="Text to validate on, in the same forms.", metavar="FILE...")
    ] = None,
    source: Annotated[str, typer.Option(help="Source language, e.g. en. Guessed from names like train.en.")] = "",
    target: Annotated[str, typer.Option(help="Target language, e.g. de.")] = "",
    recipe: Annotated[
        str, typer.Option(help="small, tiny, base, big (Transformers); seq2seq, bahdanau, luong (recurrent).")
    ] = "",
    config: Annotated[Path | None, typer.Option(help="A configuration in YAML, such as a run's config.yaml.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting, e.g. training.seed=7.", metavar="KEY=VALUE")
    ] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Stop after so many minutes of training in all.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Stop after so many updates in all.")] = None,
) -> None:
    """Train a translator from parallel text."""
    from limelight.training.run import train as run

    resolved = _start_from(out, recipe, config, anything=bool(train))
    data = {}
    if train:
        data["train"] = corpora(train, source, target, "--train")
    if valid:
        data["valid"] = corpora(valid, source, target, "--valid")
    if data:
        resolved = resolved.model_copy(update={"data": resolved.data.model_copy(update=data)})
    settings = list(set_ or [])
    if max_minutes is not None:
        settings.append(f"training.max_minutes={max_minutes}")
    if max_steps is not None:
        settings.append(f"training.max_steps={max_steps}")
    run(override(resolved, settings), out)


train.__doc__ = f"{train.__doc__}\n{EPILOG}"


def _start_from(out: Path, recipe: str, config: Path | None, *, anything: bool) -> RunConfig:
    """What the settings are applied to: a file, the run that is there, or a recipe."""
    from limelight.recipes import find_recipe

    if recipe and config:
        raise UserError("give --recipe or --config, not both: a configuration already says everything a recipe does")
    if config:
        return load_config(config)
    if not recipe and not anything and (out / "config.yaml").exists():
        return load_config(out / "config.yaml")
    return find_recipe(recipe or "small")
