"""`limelight train` and `limelight learn`."""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from limelight.cli import options
from limelight.cli.arguments import SEVERAL, assignments, flag, option
from limelight.cli.corpora import corpora, is_small_budget, with_settings
from limelight.cli.models import Machine, find_models
from limelight.cli.options import END, MODEL, TEXT
from limelight.cli.outcome import command, note
from limelight.errors import UserError
from limelight.memory import hold_memory_for_work
from limelight.recipes import describe_recipes, find_recipe
from limelight.signals import Stopped

if TYPE_CHECKING:
    from limelight.config import Corpus, RunConfig

TRAIN = """
  limelight train --train train.en train.de --valid valid.en valid.de \\
      --out runs/en-de
  limelight train --train memory.tsv --source en --target fr \\
      --recipe bahdanau --max-minutes 30 --out runs/en-fr
  limelight train --train memory.tmx --source en --target de \\
      --hold-out 500 --out runs/memory
  limelight train --out runs/en-de --max-minutes 60
  limelight train --train du.tsv sie.tsv --tag du.tsv=informal \\
      --tag sie.tsv=formal --hold-out 500 --out runs/register
  limelight train --text plays.txt --recipe gpt-small --out runs/plays
  limelight train --from runs/en-de --train terms.tsv --out runs/terms
  limelight train --from runs/en-de --extend-vocabulary \\
      --train en-es=spanish.tsv --out runs/en-de-es
"""
FINETUNE = "finetune"
"""The default recipe of a run that begins with another model."""


@command("train", TRAIN)
def train(
    *,
    out: Path = option("Run folder; an existing run is resumed.", "RUN", ...),
    quiet: bool = options.QUIET,
    train: options.Words = options.TRAIN,
    back_translated: options.Words = option(
        "Back-translated training text; its source sentences get the tag <bt>.", SEVERAL, panel=TEXT
    ),
    valid: options.Words = option("Validation text, in the formats of --train.", SEVERAL, panel=TEXT),
    hold_out: int | None = option(
        "Take N pairs of each direction out of --train for validation, and N for tests, into RUN/held-out.",
        "N",
        panel=TEXT,
        min=1,
    ),
    general: options.Words = options.GENERAL,
    tag: options.Words = option(
        "Label for a --train file: formal, informal or domain:NAME. Can be repeated.",
        "FILE=NAME",
        panel=TEXT,
    ),
    text: options.Words = option(
        "Plain text for a language model or a masked model; a tenth is held out for validation.", SEVERAL, panel=TEXT
    ),
    valid_text: options.Words = option("Plain validation text, instead of the held-out part.", SEVERAL, panel=TEXT),
    source: str = options.SOURCE,
    target: str = options.TARGET,
    on_bad_line: options.OnBadLine = options.ON_BAD_LINE,
    recipe: str = option(
        f"A complete configuration. Default: small, or quick for a small budget. {describe_recipes()}.",
        "NAME",
        "",
        panel=MODEL,
    ),
    config: Path | None = option(
        "A configuration file instead of a recipe, such as a run's config.yaml.", "FILE", panel=MODEL
    ),
    begin_with: str | None = option(
        "Start from the weights and vocabulary of this run or model folder.", "MODEL", None, "--from", panel=MODEL
    ),
    extend_vocabulary: bool = flag(
        "With --from: add tokens for new languages and for frequent words of the text to the vocabulary.", panel=MODEL
    ),
    settings: options.Words = option(
        "Change a setting, e.g. training.seed=7. Can be repeated.", "KEY=VALUE", None, "--set", panel=MODEL
    ),
    max_minutes: float | None = options.MAX_MINUTES,
    max_steps: int | None = option("Stop after N updates in total.", "N", panel=END, min=1),
    machine: Machine,
) -> None:
    """Train a model on parallel text, plain text or labeled text; an existing run is resumed."""
    from limelight.config import load_config

    if (source or target) and not (train or back_translated or valid):
        raise UserError("--source and --target name the languages of --train and --valid: give them together")
    if not begin_with and (general or extend_vocabulary or begin_with == ""):
        raise UserError("--general, --extend-vocabulary: the model to begin with is missing: --from MODEL")
    stored = load_config(out / "config.yaml") if (out / "config.yaml").is_file() else None
    parent = None
    if begin_with:
        from limelight.training.parent import read_parent

        # an existing run has all that is needed of its parent, which may have been removed
        parent = stored if stored and stored.begin_with == begin_with else read_parent(begin_with)
    resolved = _start_from(recipe, config, stored, parent)
    if begin_with:  # not parsed: a folder may be named 2024
        extends = extend_vocabulary or resolved.extend_vocabulary
        resolved = resolved.model_copy(update={"begin_with": begin_with, "extend_vocabulary": extends})
    languages = source, target
    translated = [
        corpus.model_copy(update={"tag": "bt"})
        for corpus in corpora(back_translated or [], *languages, "--back-translated")
    ]
    pairs = {
        "train": (*_constrained(corpora(train or [], *languages, "--train"), tag or []), *translated),
        "valid": corpora(valid or [], *languages, "--valid"),
        "general": corpora(general or [], *languages, "--general"),
    }
    if parent:
        from limelight.training.parent import named_as_in

        pairs = {side: named_as_in(parent, files) for side, files in pairs.items()}
    given = {**pairs, "text": tuple(text or ()), "valid_text": tuple(valid_text or ())}
    data = {name: files for name, files in given.items() if files}
    resolved = resolved.model_copy(update={"data": resolved.data.model_copy(update=data)})
    named = {
        "data.on_bad_line": on_bad_line,
        "data.hold_out": hold_out,
        "training.max_minutes": max_minutes,
        "training.max_steps": max_steps,
        **machine.settings(),
    }
    set_options = [*(settings or []), *assignments(named)]
    complete = partial(with_settings, settings=set_options, fit=stored.training.fit_to_budget if stored else not config)
    run_config = complete(resolved)
    if pairs["train"] and not (recipe or config or parent or stored) and is_small_budget(run_config):
        run_config = complete(find_recipe("quick").model_copy(update={"data": resolved.data}))
    hold_memory_for_work()
    from limelight.training.distributed import PeerEndedError
    from limelight.training.run import train as run

    try:
        run(run_config, out, quiet=quiet)
    except PeerEndedError:
        if os.environ.get("RANK", "0") != "0":
            raise typer.Exit(1) from None  # the first process reports it
        raise
    except Stopped as stopped:
        if (out / "config.yaml").exists():
            stopped.add_note(f"`limelight train --out {shlex.quote(str(out))}` resumes the run")
        raise


def _constrained(corpora: tuple[Corpus, ...], tags: list[str]) -> tuple[Corpus, ...]:
    """The corpora with the side constraints of `--tag FILE=NAME`."""
    from limelight.tokens import side_constraint_tag

    for tag in tags:
        file, _, name = tag.rpartition("=")
        try:
            side_constraint_tag(name)
        except UserError as error:
            raise UserError(f"--tag {tag}: {error}") from None
        chosen = [corpus for corpus in corpora if file in corpus.files]
        if not chosen or any(corpus.side_constraint for corpus in chosen):
            files = ", ".join(dict.fromkeys(file_name for corpus in corpora for file_name in corpus.files)) or "none"
            raise UserError(f"--tag {tag}: write FILE=NAME once for a file of --train ({files})")
        corpora = tuple(
            corpus.model_copy(update={"side_constraint": name}) if corpus in chosen else corpus for corpus in corpora
        )
    return corpora


def _start_from(recipe: str, config: Path | None, stored: RunConfig | None, parent: RunConfig | None) -> RunConfig:
    """The base configuration of the settings: a named file or recipe, the existing run, or a recipe for the initial
    model."""
    from limelight.config import load_config

    if recipe and config:
        raise UserError("give --recipe or --config, not both: a configuration already has all settings of a recipe")
    if config:
        return load_config(config)
    if stored and not recipe and parent in (None, stored):
        return stored
    if parent:
        from limelight.training.parent import fitting_recipe

        return fitting_recipe(recipe or FINETUNE, parent)
    if recipe == FINETUNE:
        raise UserError(f"--recipe {FINETUNE} continues the training of a model: name its folder with --from MODEL")
    return find_recipe(recipe or "small")


LEARN = """
  limelight learn --memory project_save.tmx --from en --to de -o models/own
  limelight learn --memory own.tmx --model runs/en-de -o models/2
  limelight learn --memory own.tmx --from en --to de \\
      --general everyday.en everyday.de -o models/own
"""


@command("learn", LEARN)
def learn(
    *,
    memory: list[str] = option(
        "A translation memory with the corrections: .tmx, .tsv, .xliff, .po, ..., or two aligned text files.",
        SEVERAL,
        ...,
    ),
    output: Path = option("Folder for the new model; it must not exist.", "NEW", ..., "--output -o"),
    model: str = option("Run or model folder to begin with. Default: the bundled translator.", "RUN", ""),
    source_lang: str = options.FROM,
    target_lang: str = options.TO,
    general: options.Words = options.GENERAL,
    max_minutes: float | None = options.MAX_MINUTES,
    machine: Machine,
    quiet: bool = options.QUIET,
) -> None:
    """Fine-tune a model on a translation memory, in minutes.

    The model stays as it is. The new one is written only if it is better on held-out pairs and has not forgotten too
    much. After an interruption, the same command continues.
    """
    from limelight.training.parent import fitting_recipe, named_as_in

    [begin_with], [parent] = find_models([model] if model else None, bundled=True, pairs=True)
    data = {
        "train": named_as_in(parent, corpora(memory, source_lang, target_lang, "--memory")),
        "general": named_as_in(parent, corpora(general or [], source_lang, target_lang, "--general")),
    }
    config = fitting_recipe("finetune", parent)
    config = config.model_copy(
        update={"begin_with": begin_with, "data": config.data.model_copy(update={**data, "on_bad_line": "skip"})}
    )
    set_options = {"training.max_minutes": max_minutes, **machine.settings()}
    config = with_settings(config, assignments(set_options), fit=True)
    hold_memory_for_work()
    from limelight.training.learn import learn as run

    report = run(config, output, quiet=quiet)
    if not quiet:
        note(f"{output}: the new model; {'; '.join(report.lines())}")
