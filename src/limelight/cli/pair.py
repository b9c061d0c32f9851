"""`limelight pair`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from limelight.cli.arguments import argument, flag, option
from limelight.cli.models import Machine, find_models, open_translator
from limelight.cli.outcome import command, note
from limelight.cli.output import Write, lines_to
from limelight.errors import RunError, UserError, counted

if TYPE_CHECKING:
    from limelight.config import Direction
    from limelight.corpus.pairing.pair import Result, Translate

EXAMPLES = """
  limelight pair manual.docx handbuch.docx -o pairs.tmx
  limelight pair texts/en texts/de --from en --to de -o pairs.tsv
  limelight pair book.en.txt book.fr.txt --threshold 0.8 -o pairs.tmx
"""
MAX_CHARACTERS = 600
"""Maximum characters of a sentence that are translated: more are not needed to recognize it."""


@command("pair", EXAMPLES)
def pair(
    *,
    source: Path = argument("A document, or a folder.", "SOURCE", ...),
    target: Path = argument("Its translation, or a folder with translations of the same names.", "TARGET", ...),
    output: Path = option("The pairs: a .tmx, .tsv or .jsonl file.", "FILE", ..., "--output -o"),
    source_lang: str = option("Source language. Default: detected in the text.", "LANG", "", "--from --source"),
    target_lang: str = option("Target language. Default: detected in the text.", "LANG", "", "--to --target"),
    threshold: float = option("Confidence, from 0 to 1, that a pair needs.", "X", 0.5, min=0, max=1),
    model: str | None = option(
        "Run or model folder whose translations are compared, too. Default: the bundled model, if it has the "
        "direction.",
        "RUN",
    ),
    no_model: bool = flag("Compare lengths and words alone, without translations."),
    machine: Machine,
) -> None:
    """Make sentence pairs of documents and their translations.

    Documents are of any format that `limelight translate` reads. What is left out is listed beside the output.
    """
    from limelight.corpus.pairing.pair import find_files, read_texts
    from limelight.corpus.pairing.pair import pair as pair_texts
    from limelight.text.pair import require_written

    require_written(output)
    if model and no_model:
        raise UserError("--model and --no-model exclude each other: leave one out")
    with lines_to(output, (source, target)) as write:
        files, unpaired = find_files(source, target)
        direction, texts, failed = read_texts(files, (source_lang, target_lang))
        translate = None if no_model else _translator(model, direction, machine)
        results = pair_texts(texts, threshold, note, translate)
        left_out = [f"{path}: no document has this name on the other side" for path in unpaired]
        _write(results, direction, [*left_out, *failed], output, write)


def _translator(model: str | None, wanted: Direction, machine: Machine) -> Translate | None:
    """A function that translates sentences; None without a model. Raises `UserError` for a given model without the
    direction."""
    from limelight.config import directions_of, find_direction, fitting_directions
    from limelight.storage.layout import DEFAULT, bundled_models

    if model is None and DEFAULT not in bundled_models():
        return None
    folders, configs = find_models([model or DEFAULT])
    directions = directions_of(configs[0].data)
    if not fitting_directions(directions, *wanted):
        if model is not None:
            find_direction(directions, *wanted)  # raises
        note(f"no model is bundled for {wanted}: only lengths and words are compared (--model names one)")
        return None
    note(f"sentences are compared with translations {wanted.source} to {wanted.target} by {folders[0]}")
    translator = open_translator(folders, machine)

    def translate(texts: Sequence[str]) -> Sequence[str]:
        translations = translator.translate(
            [text[:MAX_CHARACTERS] for text in texts],
            source_lang=wanted.source,
            target_lang=wanted.target,
            beam_size=1,
            lines=True,
            guards=False,
        )
        return [translation.text for translation in translations]

    return translate


def _write(results: list[Result], direction: Direction, left_out: list[str], output: Path, write: Write) -> None:
    """Write the pairs, a list of what was left out, and a summary of both. Raises `RunError` if there are no pairs, and
    writes none."""
    from limelight.text.clean import LeftOutList
    from limelight.text.pair import PairLines

    lines, pairs = PairLines(output, *direction), [result for result in results if not result.fault]
    for line in lines.whole(lines.pair(result.pair.source, result.pair.target, result.notes) for result in pairs):
        write(line)
    groups: dict[str, list[str]] = {}
    with LeftOutList(output.with_name(f"{output.stem}-left-out.tsv")) as listing:
        for left in (result for result in results if result.fault):
            listing.add(left.pair, left.fault)
            groups.setdefault(left.fault, []).append(left.pair.place)
    note(f"{output}: {counted(len(pairs), 'pair')}, {direction.source} to {direction.target}")
    for fault, places in sorted(groups.items(), key=lambda item: -len(item[1])):
        note(f"  left out {len(places):,}: {fault} (first: {places[0]})")
    for line in left_out:
        note(f"  left out {line}")
    if listing.total:
        note(listing.summary())
    if not pairs:
        raise RunError(f"no pair was found, for the reasons above; {output}: not written")
