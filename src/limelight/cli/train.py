"""`limelight train`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from limelight.cli.arguments import corpora, decimal, whole_number
from limelight.errors import UserError
from limelight.training.signals import Stopped

if TYPE_CHECKING:
    from limelight.config import RunConfig

EXAMPLES = """
[bold]Examples[/bold]
  limelight train --train train.en train.de --valid valid.en valid.de \\
      --out runs/en-de
  limelight train --train memory.tsv --source en --target fr \\
      --recipe bahdanau --max-minutes 30 --out runs/en-fr
  limelight train --out runs/en-de --max-minutes 60
"""
WITH_LESS_MEMORY = (
    "The last checkpoint is intact. In a new run, halve batching.tokens and double training.accumulate: the same "
    "updates in half the memory"
)
TEXT, MODEL, END = "Text", "Model", "When to stop"
PARALLEL = "one .tsv or .jsonl file, or two files line by line; .gz, .xz, .zst too."


def train(
    out: Annotated[Path, typer.Option(help="Run folder: made anew, or taken up where it stopped.", metavar="RUN")],
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.", metavar="")] = False,
    train: Annotated[
        list[str] | None,
        typer.Option(help=f"Text to learn from: {PARALLEL}", metavar="FILE...", rich_help_panel=TEXT),
    ] = None,
    valid: Annotated[
        list[str] | None,
        typer.Option(help="Text to validate on, in the same forms.", metavar="FILE...", rich_help_panel=TEXT),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            help="Source language, e.g. en; guessed from names like train.en.", metavar="LANG", rich_help_panel=TEXT
        ),
    ] = "",
    target: Annotated[
        str, typer.Option(help="Target language, e.g. de.", metavar="LANG", rich_help_panel=TEXT)
    ] = "",
    recipe: Annotated[
        str,
        typer.Option(
            help="small (if nothing else is said), tiny, base, big: Transformers; seq2seq, bahdanau, luong: recurrent.",
            metavar="NAME", rich_help_panel=MODEL,
        ),
    ] = "",
    config: Annotated[
        Path | None,
        typer.Option(
            help="A configuration in YAML instead, such as a run's config.yaml.", metavar="FILE", rich_help_panel=MODEL
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Any setting, e.g. training.seed=7; may be given several times.",
            metavar="KEY=VALUE", rich_help_panel=MODEL,
        ),
    ] = None,
    max_minutes: Annotated[
        float | None,
        typer.Option(
            help="After so many minutes of training in all.",
            parser=decimal(above=0.0), metavar="M", rich_help_panel=END,
        ),
    ] = None,
    max_steps: Annotated[
        int | None,
        typer.Option(
            help="After so many updates in all.", parser=whole_number(1), metavar="N", rich_help_panel=END
        ),
    ] = None,
) -> None:  # fmt: skip
    """Train a translator from parallel text. On a run that exists, go on where it stopped."""
    from limelight.config import override

    if (source or target) and not (train or valid):
        raise UserError("--source and --target name the languages of --train and --valid: give them together")
    resolved = _start_from(out, recipe, config)
    data: dict[str, Any] = {}
    if train:
        data["train"] = corpora(train, source, target, "--train")
    if valid:
        data["valid"] = corpora(valid, source, target, "--valid")
    resolved = resolved.model_copy(update={"data": resolved.data.model_copy(update=data)})
    settings = list(set_ or [])
    if max_minutes is not None:
        settings.append(f"training.max_minutes={max_minutes}")
    if max_steps is not None:
        settings.append(f"training.max_steps={max_steps}")
    resolved = override(resolved, settings)
    from limelight.training.run import train as run

    try:
        run(resolved, out, quiet=quiet)
    except Stopped as stopped:
        if (out / "config.yaml").exists():
            stopped.add_note(f"`limelight train --out {out}` goes on where it stopped")
        raise


def _start_from(out: Path, recipe: str, config: Path | None) -> RunConfig:
    """What the settings are applied to: a file or a recipe where one is named, or the run that is there."""
    from limelight.config import load_config
    from limelight.recipes import find_recipe

    if recipe and config:
        raise UserError("give --recipe or --config, not both: a configuration already says everything a recipe does")
    if config:
        return load_config(config)
    if not recipe and (out / "config.yaml").is_file():
        return load_config(out / "config.yaml")
    return find_recipe(recipe or "small")
