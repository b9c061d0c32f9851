"""`limelight evaluate`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from limelight.cli import options
from limelight.cli.arguments import flag, option, refuse
from limelight.cli.corpora import by_direction, corpora
from limelight.cli.models import Machine, find_models, open_model, open_translator
from limelight.cli.outcome import command
from limelight.cli.output import lines_to, show
from limelight.errors import TextWarning

if TYPE_CHECKING:
    from limelight.config import Corpus, Direction, RunConfig
    from limelight.evaluation.evaluate import DirectionsEvaluation, Evaluation
    from limelight.evaluation.labels import LabelEvaluation
    from limelight.evaluation.text import TextEvaluation
    from limelight.text.pair import Pair

    Found = tuple[Sequence[str], Evaluation | DirectionsEvaluation | LabelEvaluation | TextEvaluation]

EXAMPLES = """
  limelight evaluate --model runs/en-de --test test.en test.de
  limelight evaluate --model runs/en-de --test test.tsv --json > result.json
  limelight evaluate --model runs/many --test en-de=a.tsv en-fr=b.tsv
  limelight evaluate --model runs/language --test labels.tsv
  limelight evaluate --model runs/plays --test unseen.txt --json
"""
MAX_SEARCHED = 5_000_000
"""Maximum number of training pairs that are searched for the test pairs, which takes a quarter of a minute."""


@command("evaluate", EXAMPLES, "Give a smaller --beam, or split very long lines")
def evaluate(
    *,
    test: options.Test,
    model: options.Models = None,
    as_json: options.AsJson = False,
    output: Annotated[
        Path | None, option("--output -o", "Write the translations to this file, one per line.", "FILE")
    ] = None,
    search: options.Search,
    precision: options.Precision = None,
    tokenize: Annotated[
        str | None,
        option(
            "--tokenize",
            "sacreBLEU's tokenization: 13a, intl, zh, ja-mecab, ko-mecab, char, none, flores200. Default: by "
            "target language.",
            "NAME",
        ),
    ] = None,
    source: options.FromLanguage = "",
    target: options.ToLanguage = "",
    machine: Machine,
) -> None:
    """Evaluate a model on held-out text: BLEU and chrF of a translator, accuracy and F1 of a classifier, the loss of a
    language model."""
    folders, configs = find_models(model, bundled=True)
    how = _How(folders, configs, test or [], search, precision, tokenize, (source, target), machine)
    given = {flag(name): value for name, value in search.given().items()}
    given |= {"--precision": precision, "--tokenize": tokenize, "--from": source, "--to": target}
    learns_from = configs[0].model.learns_from
    with lines_to(output) if output else nullcontext() as write:
        if "pairs" in learns_from:
            texts, found = _translations(how)
        elif "labels" in learns_from:
            refuse(given, "a classifier does not search; leave it out")
            texts, found = _labels(how)
        else:
            refuse({**given, "--output": output}, "a language model is evaluated without a search; leave it out")
            texts, found = _text(how)
        if write is not None:
            for text in texts:
                write(text)
    show(found.to_json() if as_json else found.table())


class _How(NamedTuple):
    """What is evaluated, on what, and how."""

    folders: list[str]
    configs: list[RunConfig]
    test: list[str]
    search: options.Search
    precision: str | None
    tokenize: str | None
    languages: tuple[str, str]
    machine: Machine

    @property
    def origin(self) -> dict[str, Any]:
        """The origin of the figures, as far as the command line knows it."""
        return {"model": self.folders, "seed": [config.training.seed for config in self.configs]}


def _translations(how: _How) -> Found:
    from limelight.evaluation.evaluate import DirectionsEvaluation
    from limelight.evaluation.evaluate import evaluate as measure
    from limelight.evaluation.metrics import target_language

    config = how.configs[0]
    groups = by_direction(corpora(how.test, *how.languages, "--test"), how.configs, how.languages)
    pairs = read_tests(config, groups)
    for unseen in pairs.values():
        _warn_of_overlap(how.folders, unseen)
    translator = open_translator(how.folders, how.machine, how.precision)
    found = {
        direction: measure(
            translator,
            unseen,
            tokenize=how.tokenize or config.training.bleu_tokenize,
            target=direction.target if direction else target_language(config.data) or groups[direction][0].target,
            direction=direction,
            origin=how.origin,
            **how.search.given(),
        )
        for direction, unseen in pairs.items()
    }
    if len(found) == 1:
        [only] = found.values()
        return only.translations, only
    several = DirectionsEvaluation({str(direction): each for direction, each in found.items()})
    return several.translations, several


def _labels(how: _How) -> Found:
    from limelight.evaluation.labels import evaluate_labels

    classifier = open_model("classifier", how.folders, how.machine)  # first: of a masked model no file would do
    pairs = read_test(corpora(how.test, "", "", "--test"))
    _warn_of_overlap(how.folders, pairs)
    found = evaluate_labels(classifier, pairs, origin=how.origin)
    return found.answers, found


def _text(how: _How) -> Found:
    from limelight.evaluation.text import evaluate_text

    by_line = how.configs[0].data.documents == "line"
    generator = open_model("generator", how.folders, how.machine)
    return (), evaluate_text(generator, how.test, by_line=by_line, origin=how.origin)


def read_tests(
    config: RunConfig, groups: Mapping[Direction | None, Sequence[Corpus]]
) -> dict[Direction | None, list[Pair]]:
    """The pairs of each direction; None stands for the only one of a model."""
    from limelight.config import directions_of

    trained = directions_of(config.data)
    only_one = trained[0] if len(trained) == 1 else None
    return {direction: read_test(some, direction or only_one) for direction, some in groups.items()}


def read_test(given: Sequence[Corpus], direction: Direction | None = None) -> list[Pair]:
    """The pairs of a test set, without blank lines of a file with both sides. Warns about these and about suspicious
    text, also if it does not seem to be in the languages of `direction`."""
    from limelight.config import known_languages, sides_of
    from limelight.formats import names_languages, read_pairs
    from limelight.preparation.doubts import doubts
    from limelight.preparation.sides import check_sides, draw_sample

    pairs: list[Pair] = []
    for corpus in given:
        languages = known_languages(corpus, direction)
        # The languages of a file of segments are known; for any other file the text is checked.
        said = languages if direction is None or names_languages(corpus.files) else direction
        for doubt in doubts(corpus.files, *(sides_of(corpus) if corpus.columns else said)):
            warnings.warn(doubt, TextWarning, stacklevel=2)
        found = list(read_pairs(corpus.files, *sides_of(corpus, direction)))
        for finding in check_sides(draw_sample(found), " + ".join(map(str, corpus.files)), *said).findings:
            warnings.warn(finding, TextWarning, stacklevel=2)
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
    from limelight.preparation.hold_out import overlap_warning

    for folder in folders:
        places = [path.parent for path in sorted(Path(folder, "data").glob(f"train-*/{DESCRIPTION}"))]
        with suppress(OSError, RunError):  # a damaged store concerns training, not the scores
            stores = [open_store(place) for place in places]
            if sum(map(len, stores)) <= MAX_SEARCHED and (warning := overlap_warning(stores, pairs, "test")):
                typer.echo(warning, err=True)
