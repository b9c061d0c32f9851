"""`limelight learn`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli import options
from limelight.cli.arguments import option
from limelight.cli.corpora import corpora, with_budget
from limelight.cli.models import Machine, find_models
from limelight.cli.outcome import command, note
from limelight.signals import Stopped

if TYPE_CHECKING:
    from limelight.config import Corpus, RunConfig

EXAMPLES = """
  limelight learn --memory project_save.tmx --from en --to de -o models/own
  limelight learn --memory own.tmx --model runs/en-de -o models/2
  limelight learn --memory own.tmx --from en --to de \\
      --general everyday.en everyday.de -o models/own
"""


@command("learn", EXAMPLES)
def learn(
    *,
    memory: list[str] = option(
        "A translation memory with the corrections: .tmx, .tsv, .xliff, .po, ... Can be repeated.", "FILE", ...
    ),
    output: Path = option("Folder for the new model; it must not exist.", "NEW", ..., "--output -o"),
    model: str = option("Run or model folder. Default: the bundled model.", "RUN", ""),
    source_lang: str = options.FROM,
    target_lang: str = options.TO,
    general: options.Words = options.GENERAL,
    max_minutes: float | None = options.MAX_MINUTES,
    machine: Machine,
    quiet: bool = options.QUIET,
) -> None:
    """Make a better model of a translation memory, in minutes.

    The old model stays as it is; a new one that is not better on held-out pairs, or has forgotten too much, is not
    written. After an interruption, the same command continues.
    """
    from limelight.config import override
    from limelight.memory import hold_memory_for_work
    from limelight.training.parent import fitting_recipe, named_as_in

    [begin_with], [parent] = find_models([model] if model else None, bundled=True, pairs=True)
    data = {
        "train": named_as_in(parent, _pairs(memory, parent, (source_lang, target_lang), "--memory")),
        "general": named_as_in(parent, _pairs(general or [], parent, (source_lang, target_lang), "--general")),
    }
    config = fitting_recipe("finetune", parent)
    config = config.model_copy(
        update={"begin_with": begin_with, "data": config.data.model_copy(update={**data, "on_bad_line": "skip"})}
    )
    bounds = {"max_minutes": max_minutes, "device": machine.device, "threads": machine.threads}
    given = [f"training.{name}={value}" for name, value in bounds.items() if value is not None]
    config = override(config, with_budget(given, fit=True))
    hold_memory_for_work()
    from limelight.training.learn import learn as run
    from limelight.training.learn import left_of, work_of

    if work_of(output).exists() and not output.exists() and not quiet:
        note(f"an earlier call was interrupted; {left_of(output)}")
    try:
        found = run(config, output, quiet=quiet)
    except Stopped as stopped:
        stopped.add_note(left_of(output))
        raise
    if not quiet:
        note(f"{output}: the new model; {'; '.join(found.lines())}")


def _pairs(files: list[str], parent: RunConfig, asked: tuple[str, str], option: str) -> tuple[Corpus, ...]:
    """The corpora of the files. Those that do not name their direction are in the one that is asked for, or in the only
    one of the model."""
    from limelight.config import UNNAMED, directions_of, find_direction

    found, directions = corpora(files, *asked, option), directions_of(parent.data)
    if len(directions) > 1 and any(each.source == UNNAMED["source"] for each in found):
        chosen = find_direction(directions, *asked)
        assert chosen is not None  # one of several is always named
        found = corpora(files, *chosen, option)
    return found
