"""`limelight heads`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from limelight.cli import options
from limelight.cli.arguments import flag, option
from limelight.cli.evaluate import read_tests
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.outcome import command, wrote
from limelight.cli.output import show
from limelight.screen import Display

EXAMPLES = """
  limelight heads --model runs/en-de --test test.en test.de
  limelight heads --model runs/en-de --test test.tsv --json > heads.json
  limelight heads --model runs/en-de --test test.tsv --keep
"""


@command("heads", EXAMPLES)
def heads(
    *,
    test: list[str] = options.TEST,
    model: options.Words = options.ONE_MODEL,
    sentences: int = option("Number of pairs, spread evenly over the files.", "N", 500, min=1),
    keep: bool = flag("Store the roles in the model folder, so that the page shows them."),
    as_json: bool = options.AS_JSON,
    source: str = options.FROM,
    target: str = options.TO,
    quiet: bool = options.QUIET,
    machine: Machine,
) -> None:
    """Measure what each attention head does on text with references, and how much it matters.

    Roles with means and deviations, the loss without each head, and gradient scores.
    """
    folders, configs = find_models(model, bundled=True, one="the heads of one are measured", pairs=True)
    groups = read_tests(test, configs, (source, target))
    translator = open_translator(folders, machine)
    from limelight.evaluation.heads import study_heads

    with Display(quiet=quiet) as display:
        count = partial(display.count, "head")
        study = study_heads(translator, groups, sentences=sentences, origin={"model": folders[0]}, show=count)
    if keep:
        from limelight.files import writing
        from limelight.storage.layout import ROLES, find_model
        from limelight.storage.tables import save_table

        path = find_model(folders[0]) / ROLES
        files = [Path(file).name for file in study.provenance["test_files"]]
        with writing(path, "give a copy of the model folder"):
            save_table(path, study.stored_roles(), {"test": files})
        wrote(path)
    show(study.to_json() if as_json else study.table())
