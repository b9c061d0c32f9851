"""`limelight compare` and `limelight score`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limelight.cli import options
from limelight.cli.arguments import argument, option
from limelight.cli.corpora import corpora
from limelight.cli.evaluate import read_test, read_tests
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.outcome import command, note
from limelight.cli.output import is_path, lines_to, show
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Direction
    from limelight.text.pair import Pair

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
    search: options.Search,
    precision: options.Precision = options.PRECISION,
    tokenize: str | None = option("sacreBLEU's tokenization. Default: by the script of the references.", "NAME"),
    source: str = options.FROM,
    target: str = options.TO,
    machine: Machine,
) -> None:
    """Compare two models, or files of translations, on one test set: BLEU and chrF with significance, scores by length,
    and the sentences that differ most."""
    from limelight.evaluation.compare import compare as compared
    from limelight.formats import read_lines

    pairs: list[Pair] | None = None
    texts = []
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
        asked = {**languages_of(direction), **search.given()}
        texts.append([each.text for each in translator.translate([pair.source for pair in pairs], **asked)])
    if pairs is None:
        pairs = read_test(corpora(test, source, target, "--test"))
    found = compared(pairs, (first, second), (texts[0], texts[1]), tokenize=tokenize)
    show(found.to_json() if as_json else found.table())


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
    folders, configs = find_models(model, bundled=True, one="pairs are scored by one", pairs=True)
    groups = read_tests(files, configs, (source, target), "FILE")
    translator = open_translator(folders, machine, "fp32")
    from limelight.evaluation.score import PairScore, perplexity, score_pairs
    from limelight.formats.lines import chunks

    every: list[PairScore] = []
    with lines_to(output) as write:
        for direction, pairs in groups.items():
            for some in chunks(pairs, CHUNK):
                scores = score_pairs(translator, some, **languages_of(direction))
                for pair, each in zip(some, scores, strict=True):
                    values = {"source": pair.source, "target": pair.target, **each._asdict()}
                    line = f"{each.log_probability:.6f}\t{each.tokens}"
                    write(json.dumps(values, ensure_ascii=False) if as_json else line)
                every += scores
    note(f"perplexity {perplexity(every):.4f} per target token of {len(every):,} pairs")


def languages_of(direction: Direction | None) -> dict[str, Any]:
    """The languages of a call; none for a model of one direction."""
    return {} if direction is None else {"source_lang": direction.source, "target_lang": direction.target}
