"""`limelight align`."""

from __future__ import annotations

import json

from limelight.cli import options
from limelight.cli.arguments import argument, flag
from limelight.cli.corpora import corpora
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.outcome import command
from limelight.cli.output import lines_to
from limelight.errors import UserError

EXAMPLES = """
  limelight align pairs.tsv --from en --to de
  limelight align test.en test.de --model runs/en-de -o test.align
  limelight align pairs.tsv --from en --to de --tokenize --json
"""
CHUNK = 2000
"""Pairs that are in memory at a time."""


@command("align", EXAMPLES)
def align(
    *,
    files: list[str] = argument(
        "Sentence pairs: one file with both sides (.tsv, .jsonl, .tmx, ...), or two files line by line.", "FILE...", ...
    ),
    model: options.Words = options.ONE_MODEL,
    source_lang: str = options.FROM,
    target_lang: str = options.TO,
    tokenize: bool = flag("Divide the texts into words and signs. Default: tokens are separated by spaces."),
    as_json: bool = flag("Print one JSON object per line, with the words.", "--json"),
    output: options.Files = options.OUTPUT,
    machine: Machine,
) -> None:
    """Align the words of sentence pairs.

    Prints a line of links `i-j` for each pair: source word i, target word j, counted from 0 (Pharaoh format). The links
    of both directions are combined, if the model has both.
    """
    if len(files) > 2:
        raise UserError(f"{len(files)} files: give one file with both sides, or two files")
    folders, configs = find_models(model, bundled=True, one="words are aligned with one")
    [corpus] = corpora(files, source_lang, target_lang, "FILE")
    from limelight.config import directions_of, find_direction, known_languages, sides_of
    from limelight.formats import read_pairs
    from limelight.formats.lines import chunks
    from limelight.text.words import words_and_signs

    languages = known_languages(corpus)
    direction = find_direction(directions_of(configs[0].data), *(languages if any(languages) else ("", "")))
    pairs, divide = read_pairs(corpus.files, *sides_of(corpus)), words_and_signs if tokenize else str.split
    translator = open_translator(folders, machine, brief=True)
    from limelight.pipelines.align import PairError

    with lines_to(output) as write:
        for some in chunks(pairs, CHUNK):
            words = [(divide(pair.source), divide(pair.target)) for pair in some]
            try:
                found = translator.aligner.align(words, direction)
            except PairError as error:
                raise UserError(f"{some[error.number - 1].place}: {error.reason}") from None
            for (source, target), links in zip(words, found, strict=True):
                values = {"source": source, "target": target, "links": links}
                write(json.dumps(values, ensure_ascii=False) if as_json else " ".join(f"{i}-{j}" for i, j in links))
