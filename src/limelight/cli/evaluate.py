"""`limelight evaluate`, `compare` and `score`."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight.cli import options
from limelight.cli.arguments import argument, option, refuse
from limelight.cli.corpora import by_direction, corpora, files_in
from limelight.cli.models import Machine, find_models, open_model, open_translator
from limelight.cli.outcome import command, note
from limelight.cli.output import is_path, lines_to, report, text_to
from limelight.errors import UserError, counted
from limelight.text.pair import Pair, one_line

if TYPE_CHECKING:
    from limelight.config import Corpus, Direction, RunConfig
    from limelight.evaluation.summary import Figures

EVALUATE = """
  limelight evaluate --model runs/en-de --test test.en test.de
  limelight evaluate --model runs/en-de --test test.tsv --json > result.json
  limelight evaluate --model runs/many --test en-de=a.tsv en-fr=b.tsv
  limelight evaluate --model runs/language --test labels.tsv
  limelight evaluate --model runs/plays --test unseen.txt --json
"""
MAX_SEARCHED = 5_000_000
"""Maximum number of training pairs that are searched for the test pairs, which takes a quarter of a minute."""


@command("evaluate", EVALUATE)
def evaluate(
    *,
    test: list[str] = options.TEST,
    model: options.Words = options.MODELS,
    as_json: bool = options.AS_JSON,
    output: Path | None = option("Write the translations to this file, one per line.", "FILE", None, "--output -o"),
    search: options.Search,
    precision: options.Precision = options.PRECISION,
    tokenize: str | None = option(
        "sacreBLEU's tokenization: 13a, intl, zh, ja-mecab, ko-mecab, char, none. Default: by the script "
        "of the references.",
        "NAME",
    ),
    metric: options.Words = option("Also compute chrf++, ter, or a metric of a plugin. Can be repeated.", "NAME"),
    source: str = options.FROM,
    target: str = options.TO,
    machine: Machine,
) -> None:
    """Evaluate a model on held-out text: BLEU and chrF of a translator, accuracy and F1 of a classifier, the loss of a
    language model."""
    folders, configs = find_models(model, bundled=True)
    learns_from = configs[0].model.learns_from
    origin = {"model": folders, "seed": [config.training.seed for config in configs]}
    if "pairs" not in learns_from:
        refuse(
            {
                "--beam": search.beam,
                "--length-penalty": search.length_penalty,
                "--set": search.settings,
                "--precision": precision,
                "--tokenize": tokenize,
                "--metric": metric,
                "--from": source,
                "--to": target,
                "--output": "labels" not in learns_from and output,
            },
            "this model does not search; leave it out",
        )
    figures: Figures
    texts: Sequence[str] = ()
    with lines_to(output, files_in(test)) if output else nullcontext() as write:
        if "pairs" in learns_from:
            pairs = read_tests(test, configs, (source, target))
            _warn_of_overlap(folders, [pair for of_direction in pairs.values() for pair in of_direction])
            from limelight.evaluation.evaluate import evaluate_directions

            translator = open_translator(folders, machine, precision)
            tokenize = tokenize or configs[0].training.bleu_tokenize
            scored = evaluate_directions(
                translator, pairs, **search.given(), metrics=metric or (), tokenize=tokenize, origin=origin
            )
            figures, texts = scored, scored.translations
        elif "labels" in learns_from:
            from limelight.evaluation.labels import evaluate_labels

            classifier = open_model("load_classifier", folders, machine)  # first: of a masked model no file would do
            labeled = read_test(corpora(test, "", "", "--test"), translated=False)
            _warn_of_overlap(folders, labeled)
            answered = evaluate_labels(classifier, labeled, origin=origin)
            figures, texts = answered, answered.answers
        else:
            from limelight.evaluation.text import evaluate_text

            generator, by_line = open_model("load_generator", folders, machine), configs[0].data.documents == "line"
            figures = evaluate_text(generator, test, by_line=by_line, origin=origin)
        if write is not None:
            for text in texts:
                write(one_line(text))
    report(figures, as_json=as_json)


def read_tests(
    files: list[str], configs: list[RunConfig], languages: tuple[str, str], option: str = "--test"
) -> dict[Direction | None, list[Pair]]:
    """The pairs of each direction; None stands for the only one of a model."""
    from limelight.config import directions_of

    trained = directions_of(configs[0].data)
    only_one = trained[0] if len(trained) == 1 else None
    groups = by_direction(corpora(files, *languages, option), configs, languages)
    return {direction: read_test(of_direction, direction or only_one) for direction, of_direction in groups.items()}


def read_test(
    corpora_given: Sequence[Corpus], direction: Direction | None = None, *, translated: bool = True
) -> list[Pair]:
    """The pairs of a test set, without blank lines of a file with both sides. Warns about these and about suspicious
    text; if it is `translated`, also about sides that do not belong together, or do not seem to be in the languages
    of `direction`."""
    from limelight.config import known_languages, sides_of
    from limelight.formats import names_languages
    from limelight.preparation.doubts import doubts
    from limelight.preparation.read import pairs_of
    from limelight.preparation.sides import check_sides, draw_sample

    pairs: list[Pair] = []
    faults: list[str] = []
    for corpus in corpora_given:
        languages = known_languages(corpus, direction)
        # A file that names its languages is in these; the text of any other file is checked.
        declared = languages if direction is None or names_languages(corpus.files) else direction
        faults += doubts(corpus.files, *(sides_of(corpus) if corpus.columns else declared))
        of_corpus = list(pairs_of(corpus, otherwise=direction))
        if translated:
            faults += check_sides(draw_sample(of_corpus), str(corpus), *declared).findings
        kept = [pair for pair in of_corpus if len(corpus.files) > 1 or pair.source or pair.target]
        if len(kept) < len(of_corpus):
            faults.append(f"{corpus.files[0]}: left out {counted(len(of_corpus) - len(kept), 'blank line')}")
        pairs += kept
    for fault in faults:
        warnings.warn(fault, stacklevel=2)
    if not pairs:
        raise UserError(f"{', '.join(map(str, corpora_given))}: there are no pairs")
    return pairs


def _warn_of_overlap(folders: list[str], pairs: list[Pair]) -> None:
    """Warn about test pairs in the training text of a run folder with at most `MAX_SEARCHED` pairs. A model folder
    has none."""
    from limelight.batching.store import open_store
    from limelight.errors import RunError
    from limelight.preparation.hold_out import overlap_warning

    for folder in folders:
        columns = sorted(Path(folder, "data").glob("train-*/source.offsets"))  # word alignments have none
        with suppress(OSError, RunError):  # a damaged store concerns training, not the scores
            stores = [open_store(path.parent) for path in columns]
            if sum(map(len, stores)) <= MAX_SEARCHED and (warning := overlap_warning(stores, pairs, "test")):
                note(warning)


COMPARE = """
  limelight compare runs/one runs/two --test test.en test.de
  limelight compare baseline.txt runs/two --test test.tsv --json
"""
SCORE = """
  limelight score test.en test.de --model runs/en-de
  limelight score pairs.tsv --from en --to de --json
"""
CHUNK = 2000
"""Pairs that are scored at a time."""


@command("compare", COMPARE)
def compare(
    *,
    first: str = argument("A run, a model, or a file of translations with a line for each test pair.", "A", ...),
    second: str = argument("The one to compare it with.", "B", ...),
    test: list[str] = options.TEST,
    as_json: bool = options.AS_JSON,
    output: Path | None = option("Write an HTML page with all of it to this file.", "FILE", None, "--output -o"),
    search: options.Search,
    precision: options.Precision = options.PRECISION,
    tokenize: str | None = option("sacreBLEU's tokenization. Default: by the script of the references.", "NAME"),
    source: str = options.FROM,
    target: str = options.TO,
    machine: Machine,
) -> None:
    """Compare two models, or files of translations, on one test set: BLEU and chrF with significance,
    and the sentences that differ most."""
    from limelight.evaluation.compare import compare as compared
    from limelight.evaluation.comparison_page import comparison_page
    from limelight.formats import read_lines

    inputs = (first, second, *files_in(test))
    pairs: list[Pair] | None = None
    texts = []
    with text_to(output, inputs) if output else nullcontext() as write:
        if output and output.suffix.lower() not in (".html", ".htm"):
            raise UserError(f"{output}: the comparison is a page; give -o a name with .html")
        for name in (first, second):
            if is_path(Path.is_file, name):
                texts.append(list(read_lines(Path(name))))
                continue
            folders, configs = find_models([name], pairs=True)
            groups = read_tests(test, configs, (source, target))
            if len(groups) > 1:
                raise UserError(f"{name}: the test set has several directions; compare one of them at a time")
            [(direction, pairs)] = groups.items()
            translator = open_translator(folders, machine, precision)
            sources = [pair.source for pair in pairs]
            translations = translator.translate(sources, **languages_of(direction), **search.given())
            texts.append([translation.text for translation in translations])
        if pairs is None:
            pairs = read_test(corpora(test, source, target, "--test"))
        comparison = compared(pairs, (first, second), (texts[0], texts[1]), tokenize=tokenize)
        report(comparison, as_json=as_json)
        if write is not None:
            write(comparison_page(comparison))


@command("score", SCORE)
def score(
    *,
    files: list[str] = argument("Sentence pairs, in the formats of `limelight train`.", "FILE...", ...),
    model: options.Words = options.ONE_MODEL,
    source: str = options.FROM,
    target: str = options.TO,
    as_json: bool = options.AS_JSON_LINES,
    output: options.Files = options.OUTPUT,
    machine: Machine,
) -> None:
    """Print the log-probability that a model gives to each translation (natural logarithm), a tab, and its number of
    tokens, with the end of the sentence. The perplexity of all pairs is reported at the end."""
    folders, configs = find_models(model, bundled=True, only_one="pairs are scored by one", pairs=True)
    groups = read_tests(files, configs, (source, target), "FILE")
    translator = open_translator(folders, machine, "fp32")
    from limelight.evaluation.score import PairScore, perplexity, score_pairs
    from limelight.formats.lines import chunks

    all_scores: list[PairScore] = []
    with lines_to(output, files_in(files)) as write:
        for direction, pairs in groups.items():
            for chunk in chunks(pairs, CHUNK):
                scores = score_pairs(translator, chunk, **languages_of(direction))
                for pair, pair_score in zip(chunk, scores, strict=True):
                    values = {"source": pair.source, "target": pair.target, **pair_score._asdict()}
                    line = f"{pair_score.log_probability:.6f}\t{pair_score.tokens}"
                    write(json.dumps(values, ensure_ascii=False) if as_json else line)
                all_scores += scores
    note(f"perplexity {perplexity(all_scores):.4f} per target token of {counted(len(all_scores), 'pair')}")


def languages_of(direction: Direction | None) -> dict[str, Any]:
    """The languages of a call; none for a model of one direction."""
    return {} if direction is None else {"source_lang": direction.source, "target_lang": direction.target}
