"""`limelight evaluate`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from limelight.cli import options, search_options
from limelight.cli.arguments import by_direction, corpora
from limelight.cli.models import Machine, find_models, open_classifier, open_generator, open_translator
from limelight.cli.outcome import command
from limelight.cli.output import lines_to, show
from limelight.errors import TextWarning, UserError

if TYPE_CHECKING:
    from limelight.config import Corpus, Direction, RunConfig
    from limelight.evaluation.evaluate import DirectionsEvaluation, Evaluation
    from limelight.evaluation.labels import LabelEvaluation
    from limelight.evaluation.text import TextEvaluation
    from limelight.pipelines.translator import Translator
    from limelight.text.pair import Pair

    Found = tuple[Sequence[str], Evaluation | DirectionsEvaluation | LabelEvaluation | TextEvaluation]
    Measure = Callable[[list[str], list[RunConfig], Machine, list[str], dict[str, Any]], Found]

EXAMPLES = """
[bold]Examples[/bold]
  limelight evaluate --model runs/en-de --test test.en test.de
  limelight evaluate --model runs/en-de --test test.tsv --json > result.json
  limelight evaluate --model runs/many --test en-de=a.tsv en-fr=b.tsv
  limelight evaluate --model runs/language --test labels.tsv
  limelight evaluate --model runs/plays --test unseen.txt --json
"""
MAX_SEARCHED = 5_000_000
"""Maximum number of training pairs that are searched for the test pairs, which takes a quarter of a minute."""
WITH_LESS_MEMORY = "Give a smaller --beam, or split very long lines"


@command("evaluate", EXAMPLES, WITH_LESS_MEMORY)
def evaluate(
    *,
    test: options.Test,
    model: options.Models = None,
    as_json: options.AsJson = False,
    output: options.Kept = None,
    search: search_options.Search,
    precision: options.Precision = None,
    tokenize: options.Tokenize = None,
    source: options.FromLanguage = "",
    target: options.ToLanguage = "",
    device: options.Device = None,
    threads: options.Threads = None,
) -> None:
    """Evaluate a model on held-out text: BLEU and chrF of a translator, accuracy and F1 of a classifier, the loss of a
    language model."""
    folders, configs = find_models(model, bundled=True)
    how = {
        **{search_options.flag(name): value for name, value in search.items()},
        "--precision": precision,
        "--output": output,
        "--tokenize": tokenize,
        "--from": source or None,
        "--to": target or None,
    }
    with lines_to(output) if output else nullcontext() as write:
        texts, found = _measure_of(configs[0])(folders, configs, Machine(device, threads), test, how)
        if write is not None:
            for text in texts:
                write(text)
    show(found.to_json() if as_json else found.table())


def _measure_of(config: RunConfig) -> Measure:
    """The measurement for the family of the model."""
    measures: dict[str, Measure] = {"pairs": _translations, "labels": _labels, "text": _text}
    return next(measures[kind] for kind in measures if kind in config.model.learns_from)


def _translations(
    folders: list[str], configs: list[RunConfig], machine: Machine, test: list[str], how: dict[str, Any]
) -> Found:
    from limelight.evaluation.evaluate import DirectionsEvaluation

    asked = how.pop("--from") or "", how.pop("--to") or ""
    groups = by_direction(corpora(test, *asked, "--test"), configs, asked)
    pairs = read_tests(configs[0], groups)
    for unseen in pairs.values():
        _warn_of_overlap(folders, unseen)
    translator = open_translator(folders, machine, how["--precision"])
    origin = _origin(folders, configs)
    found = {
        direction: _measured(translator, unseen, configs[0], how, origin, direction, groups[direction][0].target)
        for direction, unseen in pairs.items()
    }
    if len(found) == 1:
        [only] = found.values()
        return only.translations, only
    several = DirectionsEvaluation({str(direction): each for direction, each in found.items()})
    return several.translations, several


def read_tests(
    config: RunConfig, groups: Mapping[Direction | None, Sequence[Corpus]]
) -> dict[Direction | None, list[Pair]]:
    """The pairs of each direction; None stands for the only one of a model."""
    from limelight.config import directions_of

    trained = directions_of(config.data)
    only_one = trained[0] if len(trained) == 1 else None
    return {direction: read_test(some, direction or only_one) for direction, some in groups.items()}


def _measured(
    translator: Translator,
    pairs: Sequence[Pair],
    config: RunConfig,
    how: dict[str, Any],
    origin: dict[str, Any],
    direction: Direction | None,
    language: str,
) -> Evaluation:
    """One evaluation. `language`, the target of the test files, is used if the model does not name its own."""
    from limelight.evaluation.evaluate import evaluate as measure
    from limelight.evaluation.metrics import target_language

    return measure(
        translator,
        pairs,
        tokenize=how["--tokenize"] or config.training.bleu_tokenize,
        target=direction.target if direction else target_language(config.data) or language,
        direction=direction,
        origin=origin,
        **{name: how[search_options.flag(name)] for name in search_options.SEARCH_OPTIONS},
    )


def _labels(
    folders: list[str], configs: list[RunConfig], machine: Machine, test: list[str], how: dict[str, Any]
) -> Found:
    from limelight.evaluation.labels import evaluate_labels

    _refuse({**how, "--output": None}, "a classifier does not search")
    classifier = open_classifier(folders, machine)  # first: of a masked model no file would do
    pairs = read_test(corpora(test, "", "", "--test"))
    _warn_of_overlap(folders, pairs)
    found = evaluate_labels(classifier, pairs, origin=_origin(folders, configs))
    return found.answers, found


def _text(
    folders: list[str], configs: list[RunConfig], machine: Machine, test: list[str], how: dict[str, Any]
) -> Found:
    from limelight.evaluation.text import evaluate_text

    _refuse(how, "a language model is evaluated without a search")
    by_line = configs[0].data.documents == "line"
    return (), evaluate_text(open_generator(folders, machine), test, by_line=by_line, origin=_origin(folders, configs))


def _refuse(how: dict[str, Any], why: str) -> None:
    """Raise `UserError` for options that have no effect."""
    given = [f"{name} {value}" for name, value in how.items() if value is not None]
    if given:
        raise UserError(f"{' and '.join(given)}: {why}; leave it out")


def read_test(given: Sequence[Corpus], direction: Direction | None = None) -> list[Pair]:
    """The pairs of a test set, without blank lines of a file with both sides. Warns about these and about suspicious
    text, also if it does not seem to be in the languages of `direction`."""
    from limelight.config import known_languages
    from limelight.formats import names_languages, read_pairs
    from limelight.preparation.doubts import doubts
    from limelight.preparation.sides import check_sides, draw_sample

    pairs: list[Pair] = []
    for corpus in given:
        languages = known_languages(corpus, direction)
        # The languages of a file of segments are known; for any other file the text is checked.
        said = languages if direction is None or names_languages(corpus.files) else direction
        for doubt in doubts(corpus.files, *said, languages=False):
            warnings.warn(doubt, TextWarning, stacklevel=2)
        found = list(read_pairs(corpus.files, *languages))
        for finding in check_sides(draw_sample(found), " + ".join(map(str, corpus.files)), *said).findings:
            warnings.warn(finding.text, TextWarning, stacklevel=2)
        kept = [pair for pair in found if len(corpus.files) > 1 or pair.source or pair.target]
        if len(kept) < len(found):
            warnings.warn(
                f"{corpus.files[0]}: {len(found) - len(kept):,} blank lines are left out", TextWarning, stacklevel=2
            )
        pairs += kept
    return pairs


def _warn_of_overlap(folders: list[str], pairs: list[Pair]) -> None:
    """Warn about test pairs in the training text of a run folder with at most `MAX_SEARCHED` pairs. A model folder
    has none."""
    from limelight.batching.store import DESCRIPTION, open_store
    from limelight.errors import RunError
    from limelight.preparation.hold_out import find_overlap

    for folder in folders:
        places = [path.parent for path in sorted(Path(folder, "data").glob(f"train-*/{DESCRIPTION}"))]
        with suppress(OSError, RunError):  # a damaged store concerns training, not the scores
            stores = [open_store(place) for place in places]
            if sum(map(len, stores)) <= MAX_SEARCHED and (warning := find_overlap(stores, pairs).warning("test")):
                typer.echo(warning, err=True)


def _origin(folders: list[str], configs: list[RunConfig]) -> dict[str, Any]:
    """The origin of the figures, as far as the command line knows it."""
    return {"model": folders, "seed": [config.training.seed for config in configs]}
