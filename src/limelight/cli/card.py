"""`limelight card`, `shortlist` and `calibrate`: files of a model folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from limelight.cli import options
from limelight.cli.corpora import corpora
from limelight.cli.models import Machine, find_models
from limelight.cli.outcome import command, wrote
from limelight.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from limelight.config import Corpus, DataConfig
    from limelight.training.confidence import Corpora


EXAMPLES = """
  limelight card
  limelight card --model runs/en-de
"""
WITH_LESS_MEMORY = "Printing a card needs little memory: other programs on this machine use it"


@command("card", EXAMPLES, WITH_LESS_MEMORY)
def card(model: options.OneModel = None) -> None:
    """Print the card of a model: what it was trained on, how good it is, its license."""
    folders, _ = find_models(model, bundled=True)
    from limelight.storage.layout import CARD, find_model

    path = find_model(folders[0]) / CARD
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise UserError(f"{path}: this model has no card") from None
    typer.echo(text.rstrip())


SHORTLIST_EXAMPLES = """
  limelight shortlist --model runs/en-de
  limelight shortlist --model runs/en-de --train train.en train.de
"""


@command("shortlist", SHORTLIST_EXAMPLES, "Give less text with --train: 100,000 pairs are nearly as good")
def shortlist(model: options.OneModel = None, train: options.Train = None) -> None:
    """Learn a lexical shortlist, for faster translation with a large vocabulary."""
    folders, _ = find_models(model, one="each has a shortlist of its own")
    from limelight.preparation.shortlist import make_shortlist

    file = make_shortlist(folders[0], corpora(train or [], "", "", "--train"), lambda line: typer.echo(line, err=True))
    typer.echo(f"wrote {file}; `limelight translate --shortlist` uses it", err=True)


CALIBRATE_EXAMPLES = """
  limelight calibrate --model runs/en-de
  limelight calibrate --model runs/en-de --valid dev.tsv --test test.tsv
  limelight calibrate --model runs/many --valid en-de=a.tsv en-fr=b.tsv
"""


@command("calibrate", CALIBRATE_EXAMPLES, "Give less text, with --valid")
def calibrate(
    *,
    model: options.OneModel = None,
    valid: options.Valid = None,
    test: options.Test = None,
    machine: Machine,
) -> None:
    """Fit the confidence of translations on text with references, and choose the heads that align words."""
    folders, configs = find_models(model, one="confidence is fitted for one model")
    data = configs[0].data
    given = corpora(valid, "", "", "--valid") if valid else list(data.valid)
    gone = [file for corpus in given for file in corpus.files if not valid and not Path(file).exists()]
    if gone:
        raise UserError(
            f"{gone[0]}: the validation text of {folders[0]} is not there; give text with references: --valid FILE"
        )
    if not given:
        raise UserError(f"{folders[0]}: this model was trained without validation text; give some with --valid")
    learned_from, tested_on = _pairs(data, given), _pairs(data, corpora(test, "", "", "--test") if test else [])
    target = machine.begin()
    from limelight.training.confidence import described, learn_alignment, learn_confidence

    file, errors = learn_confidence(folders[0], learned_from, test=tested_on, device=target)
    for name, (of_sentences, of_words) in errors.items():
        words = "none" if of_words is None else f"{of_words:.3f}"
        typer.echo(f"expected calibration error, {name or 'test'}: sentences {of_sentences:.3f}, words {words}")
    wrote(file)
    try:
        file, heads, agreement = learn_alignment(folders[0], learned_from, device=target)
    except UserError as error:
        typer.echo(f"no heads were chosen: {error}", err=True)
        return
    typer.echo(f"heads that align words: {described(heads)}; agreement {agreement:.3f}")
    wrote(file)


def _pairs(data: DataConfig, given: Sequence[Corpus]) -> Corpora:
    """The pairs of each direction; for a model of both directions also reversed."""
    from limelight.config import sides_of
    from limelight.formats import read_pairs
    from limelight.training.tasks.translation import valid_pairs

    named = data.model_copy(update={"valid": tuple(given)})
    return valid_pairs(named, [list(read_pairs(corpus.files, *sides_of(corpus))) for corpus in given])
