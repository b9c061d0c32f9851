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
    sentences: int = option("Maximum number of pairs; of more, every n-th is taken.", "N", 500, min=1),
    keep: bool = flag("Store the roles in the model folder, so that the page shows them (page of `limelight serve`)."),
    as_json: bool = options.AS_JSON,
    source: str = options.FROM,
    target: str = options.TO,
    quiet: bool = options.QUIET,
    machine: Machine,
) -> None:
    """Show for each attention head of a translation model what it attends to, and how much it matters.

    Prints a line for each head of encoder, decoder and cross-attention: its role, the token on which most of its weight
    is (the previous or next one, the end, a rare word, or the source word that is translated), and the change of the
    loss if the head is switched off. Measured on sentence pairs, whose translations are forced.
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
