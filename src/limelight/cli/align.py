"""`limelight align`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from limelight.cli import options
from limelight.cli.arguments import argument, option
from limelight.cli.corpora import corpora
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.outcome import command
from limelight.cli.output import lines_to
from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.config import Direction
    from limelight.pipelines.align import Links, WordPair
    from limelight.pipelines.translator import Translator
    from limelight.text.pair import Pair

EXAMPLES = """
  limelight align pairs.tsv --from en --to de
  limelight align test.en test.de --model runs/en-de -o test.align
  limelight align pairs.tsv --from en --to de --tokenize --json
"""
WITH_LESS_MEMORY = "Split very long lines"
CHUNK = 2000
"""Pairs that are in memory at a time."""


@command("align", EXAMPLES, WITH_LESS_MEMORY)
def align(
    *,
    files: Annotated[
        list[str],
        argument(
            "Sentence pairs: one file with both sides (.tsv, .jsonl, .tmx, ...), or two files line by line.", "FILE..."
        ),
    ],
    model: options.OneModel = None,
    source_lang: options.FromLanguage = "",
    target_lang: options.ToLanguage = "",
    tokenize: Annotated[
        bool, option("--tokenize", "Divide the texts into words and signs. Default: tokens are separated by spaces.")
    ] = False,
    symmetrize: Annotated[
        bool,
        option("--symmetrize/--one-way", "Combine both directions, if the model has them, or use only the given one."),
    ] = True,
    as_json: Annotated[bool, option("--json", "Print one JSON object per line, with the words.")] = False,
    output: options.Output = None,
    machine: Machine,
) -> None:
    """Align the words of sentence pairs.

    Prints a line of links `i-j` for each pair: source word i, target word j, counted from 0 (Pharaoh format).
    """
    if len(files) > 2:
        raise UserError(f"{len(files)} files: give one file with both sides, or two files")
    folders, configs = find_models(model, bundled=True, one="words are aligned with one")
    [corpus] = corpora(files, source_lang, target_lang, "FILE")
    from limelight.config import directions_of, find_direction, known_languages, sides_of
    from limelight.formats import read_pairs
    from limelight.formats.lines import chunks

    languages = known_languages(corpus)
    direction = find_direction(directions_of(configs[0].data), *(languages if any(languages) else ("", "")))
    pairs = read_pairs(corpus.files, *sides_of(corpus))
    translator = open_translator(folders, machine, brief=True)
    with lines_to(output) as write:
        for some in chunks(pairs, CHUNK):
            words = [_words_of(pair, tokenize=tokenize) for pair in some]
            for each, links in zip(words, _aligned(translator, some, words, direction, symmetrize), strict=True):
                write(_as_json(each, links) if as_json else " ".join(f"{source}-{target}" for source, target in links))


def _words_of(pair: Pair, *, tokenize: bool) -> WordPair:
    from limelight.text.words import words_and_signs

    divide = words_and_signs if tokenize else str.split
    return divide(pair.source), divide(pair.target)


def _aligned(
    translator: Translator,
    some: Sequence[Pair],
    words: Sequence[WordPair],
    direction: Direction | None,
    symmetrize: bool,
) -> list[Links]:
    """The links; a fault names the file and line instead of the number of the pair."""
    from limelight.pipelines.align import PairError

    try:
        return translator.aligner.align(words, direction, symmetrize=symmetrize)
    except PairError as error:
        raise UserError(f"{some[error.number - 1].place}: {error.reason}") from None


def _as_json(words: WordPair, links: Links) -> str:
    source, target = words
    return json.dumps({"source": source, "target": target, "links": links}, ensure_ascii=False)
