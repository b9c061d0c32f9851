"""`limelight doctor`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli import options
from limelight.cli.arguments import SEVERAL, argument, flag, option
from limelight.cli.corpora import corpora
from limelight.cli.models import Machine
from limelight.cli.outcome import command
from limelight.cli.output import show
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Corpus

EXAMPLES = """
  limelight doctor train.en train.de --test test.en test.de
  limelight doctor memory.tmx --source en --target de
  limelight doctor runs/en-de
  limelight doctor
  limelight doctor --compile
"""


@command("doctor", EXAMPLES)
def doctor(
    *,
    files: options.Words = argument(
        "Sentence pairs as for `limelight train`, or a run folder. Default: this machine.", "FILE...|RUN"
    ),
    source: str = options.SOURCE,
    target: str = options.TARGET,
    test: options.Words = option("Test text that must not be in the training text.", SEVERAL),
    compile_loops: bool = flag("Compile the inner loops for this machine now, if they are not yet.", "--compile"),
    machine: Machine,
) -> None:
    """Say what is wrong with training text, with a trained run, or what this machine can do."""
    if compile_loops:
        if files or test or source or target:
            raise UserError("--compile is for this machine: give no text")
        machine.begin()
        from limelight.decoding.ahead import compile_now

        return show(compile_now())
    if files and len(files) == 1 and Path(files[0]).is_dir():
        if test or source or target:
            raise UserError(f"{files[0]} is a folder: --test, --source and --target are for files")
        machine.begin()
        from limelight.training.examine import examine_run

        for line in examine_run(Path(files[0])).lines:
            show(line)
    elif files:
        _examine(files, corpora(files, source, target, "FILE"), corpora(test or [], source, target, "--test"))
    elif test or source or target:
        raise UserError("--test, --source and --target need FILE...: name the training text")
    else:
        machine.begin()
        import torch

        from limelight.capabilities import describe

        show(describe())
        show(f"threads: {torch.get_num_threads()}")


def _examine(files: Sequence[str], given: Sequence[Corpus], tests: Sequence[Corpus]) -> None:
    from limelight.config import known_languages
    from limelight.preparation.examine import examine

    lines, has_faults = examine(given, tests)
    for line in lines:
        show(line)
    if has_faults:
        languages = known_languages(given[0])
        named = f" --source {languages[0]} --target {languages[1]}" if all(languages) else ""
        show(f"this command leaves them out: limelight clean {shlex.join(files)}{named} -o clean.tsv")
