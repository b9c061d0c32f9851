"""`limelight train`."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from limelight.cli import options
from limelight.cli.arguments import SEVERAL, number, option
from limelight.cli.corpora import corpora, is_small_budget, with_budget
from limelight.cli.models import Machine
from limelight.cli.options import END, MODEL, TEXT
from limelight.cli.outcome import command
from limelight.errors import UserError
from limelight.recipes import describe_recipes
from limelight.signals import Stopped

if TYPE_CHECKING:
    from limelight.config import Corpus, RunConfig
    from limelight.text.pair import BadLine

EXAMPLES = """
  limelight train --train train.en train.de --valid valid.en valid.de \\
      --out runs/en-de
  limelight train --train memory.tsv --source en --target fr \\
      --recipe bahdanau --max-minutes 30 --out runs/en-fr
  limelight train --train memory.tmx --source en --target de \\
      --hold-out 500 --out runs/terms
  limelight train --out runs/en-de --max-minutes 60
  limelight train --train pairs.csv --tag pairs.csv=column:register \\
      --hold-out 500 --out runs/register
  limelight train --text plays.txt --recipe gpt-small --out runs/plays
  limelight train --from runs/en-de --train terms.tsv --out runs/terms
  limelight train --from runs/en-de --extend-vocabulary \\
      --train en-es=spanish.tsv --out runs/en-de-es
"""
LANGUAGE = r"[a-z]{2,3}([-_][A-Za-z]{2,4})?"
"""Pattern of language tags: `de`, `pt-BR`."""
MAX_CONSTRAINTS = 20
"""Maximum number of side constraints in a column: each is a corpus, and all of the file is read for each."""
FINETUNE = "finetune"
"""The default recipe of a run that begins with another model."""
WITH_LESS_MEMORY = (
    "The last checkpoint is intact. In a new run, halve batching.tokens and double training.accumulate: the same "
    "updates in half the memory"
)


@command("train", EXAMPLES, WITH_LESS_MEMORY)
def train(
    *,
    out: Annotated[Path | None, option("--out", "Run folder; an existing run is resumed.", "RUN")] = None,
    quiet: options.Quiet = False,
    train: options.Train = None,
    back_translated: Annotated[
        list[str] | None,
        option(
            "--back-translated",
            "Back-translated training text; its source sentences get the tag <bt>.",
            SEVERAL,
            panel=TEXT,
        ),
    ] = None,
    valid: options.Valid = None,
    hold_out: Annotated[
        int | None,
        option(
            "--hold-out",
            "Take N pairs of each direction out of --train for validation, and N for tests, into RUN/held-out.",
            "N",
            number(int, 1),
            panel=TEXT,
        ),
    ] = None,
    general: options.General = None,
    tag: Annotated[
        list[str] | None,
        option(
            "--tag",
            "Label for a --train file: formal, informal or domain:NAME; or column:NAME to read the label of each pair "
            "from a column (in .tsv its number). Can be repeated.",
            "FILE=NAME",
            panel=TEXT,
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        option(
            "--text",
            "Plain text for a language model or a masked model; a tenth is held out for validation.",
            SEVERAL,
            panel=TEXT,
        ),
    ] = None,
    valid_text: Annotated[
        list[str] | None,
        option("--valid-text", "Plain validation text, instead of the held-out part.", SEVERAL, panel=TEXT),
    ] = None,
    source: options.Source = "",
    target: options.Target = "",
    on_bad_line: options.OnBadLine = None,
    recipe: Annotated[
        str,
        option(
            "--recipe",
            f"A complete configuration. Default: small, or quick for a small budget. {describe_recipes()}.",
            "NAME",
            panel=MODEL,
        ),
    ] = "",
    config: Annotated[
        Path | None,
        option(
            "--config", "A configuration file instead of a recipe, such as a run's config.yaml.", "FILE", panel=MODEL
        ),
    ] = None,
    begin_with: Annotated[
        str | None,
        option("--from", "Start from the weights and vocabulary of this run or model folder.", "MODEL", panel=MODEL),
    ] = None,
    extend_vocabulary: Annotated[
        bool,
        option(
            "--extend-vocabulary",
            "With --from: add tokens for new languages and for frequent words of the text to the vocabulary.",
            panel=MODEL,
        ),
    ] = False,
    settings: Annotated[
        list[str] | None,
        option("--set", "Change a setting, e.g. training.seed=7. Can be repeated.", "KEY=VALUE", panel=MODEL),
    ] = None,
    max_minutes: options.MaxMinutes = None,
    max_steps: Annotated[
        int | None, option("--max-steps", "Stop after N updates in total.", "N", number(int, 1), panel=END)
    ] = None,
    machine: Machine,
) -> None:
    """Train a model on parallel text, plain text or labeled text; an existing run is resumed."""
    from limelight.config import load_config, override

    if (source or target) and not (train or back_translated or valid):
        raise UserError("--source and --target name the languages of --train and --valid: give them together")
    if begin_with == "":
        raise UserError("--from: it is empty; name the run or model folder to begin with, or leave it out")
    if begin_with is None and (general or extend_vocabulary):
        name = "--general" if general else "--extend-vocabulary"
        raise UserError(f"{name} is for a run that begins with another model: give --from MODEL, or leave it out")
    there = load_config(out / "config.yaml") if out and (out / "config.yaml").is_file() else None
    parent = _parent(begin_with, there) if begin_with else None
    resolved = _start_from(recipe, config, there, parent)
    if begin_with:  # not parsed: a folder may be named 2024
        extends = extend_vocabulary or resolved.extend_vocabulary
        resolved = resolved.model_copy(update={"begin_with": begin_with, "extend_vocabulary": extends})
    pairs = {
        "train": _constrained(_pairs(train, source, target, "--train"), tag or [])
        + _tagged(back_translated, source, target),
        "valid": _pairs(valid, source, target, "--valid"),
        "general": _pairs(general, source, target, "--general"),
    }
    if parent:
        from limelight.training.parent import named_as_in

        pairs = {side: named_as_in(parent, each) for side, each in pairs.items()}
    lines = {"text": tuple(text or ()), "valid_text": tuple(valid_text or ())}
    data = {name: files for name, files in {**pairs, **lines}.items() if files}
    resolved = resolved.model_copy(update={"data": resolved.data.model_copy(update=data)})
    named = {
        **{"data.on_bad_line": on_bad_line, "data.hold_out": hold_out, "training.max_minutes": max_minutes},
        **{"training.max_steps": max_steps, "training.device": machine.device, "training.threads": machine.threads},
    }
    given = [*(settings or []), *(f"{name}={value}" for name, value in named.items() if value is not None)]
    given = with_budget(given, fit=there.training.fit_to_budget if there else config is None)
    run_config = override(resolved, given)
    if pairs["train"] and not (recipe or config or parent or there) and is_small_budget(given):
        run_config = override(_start_from("quick", None, None, None).model_copy(update={"data": resolved.data}), given)
    _train(run_config, out, quiet=quiet)


def _train(resolved: RunConfig, out: Path | None, *, quiet: bool) -> None:
    """Train in this process, which does nothing else."""
    if out is None:
        raise UserError("missing option '--out'; see `limelight train --help`")
    from limelight.memory import hold_memory_for_work

    hold_memory_for_work()
    from limelight.training.distributed import PeerEndedError
    from limelight.training.run import train as run

    try:
        run(resolved, out, quiet=quiet)
    except PeerEndedError:
        if os.environ.get("RANK", "0") != "0":
            raise SystemExit(1) from None  # the first process reports it
        raise
    except Stopped as stopped:
        if (out / "config.yaml").exists():
            stopped.add_note(f"`limelight train --out {out}` resumes the run")
        raise


def _pairs(files: list[str] | None, source: str, target: str, option: str) -> tuple[Corpus, ...]:
    return corpora(files, source, target, option) if files else ()


def _tagged(files: list[str] | None, source: str, target: str) -> tuple[Corpus, ...]:
    """Corpora of back-translated text: their source is a machine translation."""
    found = _pairs(files, source, target, "--back-translated")
    return tuple(corpus.model_copy(update={"tag": "bt"}) for corpus in found)


def _constrained(corpora: tuple[Corpus, ...], tags: list[str]) -> tuple[Corpus, ...]:
    """The corpora with the side constraints of `--tag FILE=NAME`, where `column:` is before the name of a column that
    says those of each pair."""
    from limelight.tokens import side_constraint_tag

    for given in tags:
        file, _, name = given.rpartition("=")
        if not any(file in corpus.files for corpus in corpora):
            files = ", ".join(dict.fromkeys(each for corpus in corpora for each in corpus.files)) or "none"
            raise UserError(f"--tag {given}: write FILE=NAME with a file of --train ({files})")
        if any(file in corpus.files and (corpus.side_constraint or corpus.column) for corpus in corpora):
            raise UserError(f"--tag {given}: {file} has a tag already; give one --tag for a file")
        column = name.removeprefix("column:") if name.startswith("column:") else ""
        try:
            if not column:
                side_constraint_tag(name)
        except UserError as error:
            raise UserError(f"--tag {given}: {error}; or column:NAME, a column of the file that says it") from None
        found: list[Corpus] = []
        for corpus in corpora:
            if file not in corpus.files:
                found.append(corpus)
            elif column:
                found += _divided(corpus, column)
            else:
                found.append(corpus.model_copy(update={"side_constraint": name}))
        corpora = tuple(found)
    return corpora


def _divided(corpus: Corpus, column: str) -> list[Corpus]:
    """A corpus for each side constraint in a column. Raises `UserError` for a cell with another content, and for a file
    without this column."""
    from limelight.config import sides_of
    from limelight.formats import read_pairs
    from limelight.preparation.pairs import NO_CONSTRAINT
    from limelight.tokens import side_constraint_tag

    found, bad = set[str](), list["BadLine"]()  # the run reports bad lines, or stops at one
    pairs = read_pairs(
        corpus.files,
        *sides_of(corpus),
        column=column,
        on_bad_line=lambda line: bad.append(line) if not bad else None,
    )
    for pair in pairs:
        if pair.cell in found or not (pair.cell or pair.source.strip() or pair.target.strip()):
            continue
        try:
            if pair.cell != NO_CONSTRAINT:
                side_constraint_tag(pair.cell)
        except UserError as error:
            what = f"column {column} is empty" if not pair.cell else f"column {column}: {error}"
            raise UserError(f"{pair.place}: {what}; a pair without a side constraint has {NO_CONSTRAINT}") from None
        found.add(pair.cell)
        if len(found) > MAX_CONSTRAINTS:
            raise UserError(f"{pair.place}: column {column} has more than {MAX_CONSTRAINTS} different side constraints")
    if not found:
        raise UserError(str(bad[0]) if bad else f"{corpus.files[0]}: there are no pairs")
    constraints = ["" if cell == NO_CONSTRAINT else cell for cell in sorted(found)]
    return [corpus.model_copy(update={"column": column, "side_constraint": each}) for each in constraints]


def _parent(begin_with: str, there: RunConfig | None) -> RunConfig:
    """The configuration of the initial model. An existing run has all that is needed of it; the model may have been
    removed."""
    from limelight.training.parent import read_parent

    if there and there.begin_with == begin_with:
        return there
    try:
        return read_parent(begin_with)
    except UserError as error:
        if re.fullmatch(LANGUAGE, begin_with) and not Path(begin_with).exists():
            raise UserError(
                f"--from {begin_with}: there is no such model. Here --from names the model to begin with; "
                f"the language of the text is --source {begin_with}"
            ) from error
        raise


def _start_from(recipe: str, config: Path | None, there: RunConfig | None, parent: RunConfig | None) -> RunConfig:
    """The base configuration of the settings: a named file or recipe, the existing run, or a recipe for the initial
    model."""
    from limelight.config import load_config
    from limelight.recipes import find_recipe

    if recipe and config:
        raise UserError("give --recipe or --config, not both: a configuration already has all settings of a recipe")
    if config:
        return load_config(config)
    if there and not recipe:
        return there
    if parent:
        from limelight.training.parent import fitting_recipe

        return fitting_recipe(recipe or FINETUNE, parent)
    if recipe == FINETUNE:
        raise UserError(f"--recipe {FINETUNE} continues the training of a model: name its folder with --from MODEL")
    return find_recipe(recipe or "small")
