"""`limelight card`, `shortlist` and `calibrate`: files of a model folder."""

from __future__ import annotations

from pathlib import Path

import typer

from limelight.cli import options
from limelight.cli.arguments import SEVERAL, option
from limelight.cli.corpora import corpora
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.outcome import command, note, wrote
from limelight.cli.output import show
from limelight.errors import UserError

EXAMPLES = """
  limelight card
  limelight card --model runs/en-de
"""


@command("card", EXAMPLES)
def card(*, model: options.Words = options.ONE_MODEL) -> None:
    """Print the card of a model: what it was trained on, how good it is, its license."""
    folders, _ = find_models(model, bundled=True, only_one="one card is printed")
    from limelight.storage.layout import CARD, find_model

    path = find_model(folders[0]) / CARD
    try:
        show(path.read_text(encoding="utf-8", errors="replace").rstrip())
    except FileNotFoundError:
        raise UserError(f"{path}: this model has no card") from None


SHORTLIST_EXAMPLES = """
  limelight shortlist --model runs/en-de
  limelight shortlist --model runs/en-de --train train.en train.de
"""


@command("shortlist", SHORTLIST_EXAMPLES)
def shortlist(*, model: options.Words = options.OWN_MODEL, train: options.Words = options.TRAIN) -> None:
    """Learn which target tokens are likely for each source token (a lexical shortlist).

    `limelight translate --shortlist` then computes probabilities of these alone, which is faster with a large
    vocabulary. The shortlist is learned from --train, by default from the text that the run was trained on.
    """
    folders, configs = find_models(model, only_one="each has a shortlist of its own", pairs=True)
    from limelight.preparation.shortlist import make_shortlist
    from limelight.training.parent import named_as_in

    text = named_as_in(configs[0], corpora(train or [], "", "", "--train"))
    file = make_shortlist(folders[0], text, note)
    wrote(f"{file}; `limelight translate --shortlist` uses it")


CALIBRATE_EXAMPLES = """
  limelight calibrate --model runs/en-de
  limelight calibrate --model runs/en-de --valid dev.tsv --test test.tsv
  limelight calibrate --model runs/many --valid en-de=a.tsv en-fr=b.tsv
"""


@command("calibrate", CALIBRATE_EXAMPLES)
def calibrate(
    *,
    model: options.Words = options.OWN_MODEL,
    valid: options.Words = option(
        "Sentence pairs to learn from, a few hundred or more, in the formats of `limelight train`. Default: the "
        "validation text of the run.",
        SEVERAL,
    ),
    test: options.Words = option("Other pairs, to measure how far confidences are off.", SEVERAL),
    machine: Machine,
) -> None:
    """Make the confidences of a model true, and choose its heads for word alignment.

    The confidence of a translation, from 0 to 1, is in `limelight translate --json` and on the page. This command fits
    it on sentence pairs: of the translations with a confidence of 0.8, four fifths should then be good ones. It also
    chooses the attention heads that align words best, for `limelight align`. `limelight train` does both at its end;
    repeat it with text of your own subject, or for a model that was imported. Both are stored in the model folder, and
    its weights stay as they are.
    """
    folders, configs = find_models(model, only_one="confidence is fitted for one model", pairs=True)
    from limelight.preparation.kept import kept_valid
    from limelight.preparation.read import pairs_of
    from limelight.training.parent import named_as_in

    data = configs[0].data
    of_valid, of_test = (
        named_as_in(configs[0], corpora(files or [], "", "", option))
        for files, option in ((valid, "--valid"), (test, "--test"))
    )
    read = [list(pairs_of(corpus)) for corpus in of_valid]
    if not valid:
        of_valid, read = data.valid, [pairs for _, pairs in kept_valid(Path(folders[0]), data.valid)]
        if not of_valid or len(read) < len(of_valid):
            raise UserError(
                f"{folders[0]}: the validation text that this model was trained with is not there; give text with "
                "references: --valid FILE"
            )
    texts = (of_valid, read), (of_test, [list(pairs_of(corpus)) for corpus in of_test])
    translator = open_translator(folders, machine)
    from limelight.training.complete import described, learn_alignment, learn_confidence
    from limelight.training.tasks.translation import valid_pairs

    learned_from, tested_on = (
        valid_pairs(data.model_copy(update={"valid": of_role}), pairs) for of_role, pairs in texts
    )
    file, errors = learn_confidence(translator, learned_from, test=tested_on)
    for name, error in errors.items():
        typer.echo(f"expected calibration error, {name or 'test'}: {error:.3f}")
    wrote(file)
    try:
        file, heads, agreement = learn_alignment(translator, learned_from)
    except UserError as error:
        return note(f"no heads were chosen: {error}")
    typer.echo(f"heads that align words: {described(heads)}; agreement {agreement:.3f}")
    wrote(file)
