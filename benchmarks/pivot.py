"""German and French with the bundled model: its own directions beside the way through English.

    python -m benchmarks.pivot --data DATA

The test parts of the bundled model's registers, with guards. For the way through English the directions de-fr and fr-de
are removed from the list of the model's directions. Confidence through English is the smaller one of both steps; the
Brier score (mean squared difference to whether chrF is at least 60) compares that with their product.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import sacrebleu
import typer

from benchmarks.box_text import REGISTERS, pairs_of, prepare_text
from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from limelight.config import Direction, find_pivots
from limelight.pipelines.load import load_translator
from limelight.pipelines.translation import Translation
from limelight.pipelines.translator import Translator
from limelight.storage.layout import DEFAULT

WAYS = (Direction("de", "fr"), Direction("fr", "de"))
GOOD = 60.0
"""chrF from which a translation counts as good, as in `pipelines/confidence.py`."""


def main(
    data: Annotated[Path, typer.Option(help="Folder with the text.")],
    model: Annotated[str, typer.Option(help="A model of all six directions.")] = DEFAULT,
    results: Annotated[Path, typer.Option(help="Folder for pivot.json.")] = RESULTS,
) -> None:
    """Translate both ways, score, print, write down."""
    translator = load_translator(model)
    rows: list[tuple[Any, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        prepare_text(data, Path(folder))
        for register in REGISTERS:
            for way in (each for each in WAYS if each in register.directions):
                pairs = [(one.source, one.target) for one in pairs_of(Path(folder), register, "test", way)]
                rows.append((register.folder, str(way), len(pairs), *measured(translator, pairs, way)))
    head = ("text", "direction", "pairs", "BLEU direct", "through English", "chrF direct", "through English")
    printed = table((*head, "Brier, direct", "minimum", "product"), rows)
    result = {
        "benchmark": "translation through another language",
        "command": "python -m benchmarks.pivot --data DATA",
        "machine": describe_machine(),
        "signature": "case:mixed|tok:13a|smooth:exp",
        "rows": [list(row) for row in rows],
        "table": printed,
    }
    write_result("pivot", result, folder=results)
    print(printed)


def measured(translator: Translator, pairs: Sequence[tuple[str, str]], way: Direction) -> tuple[float | None, ...]:
    """BLEU, chrF and the errors of the confidence: of the model's own direction, and through English."""
    texts, references = [source for source, _ in pairs], [target for _, target in pairs]
    own = translator.directions
    direct = translator.translate(texts, source_lang=way.source, target_lang=way.target)
    to_english = translator.translate(texts, source_lang=way.source, target_lang="en")
    try:
        translator.directions = tuple(each for each in own if "en" in each)
        translator.pivots = find_pivots(translator.directions)
        through = translator.translate(texts, source_lang=way.source, target_lang=way.target)
    finally:
        translator.directions = own
        translator.pivots = find_pivots(own)
    assert all(each.path == (way.source, "en", way.target) for each in through if each.tokens)
    again = translator.translate([each.text for each in to_english], source_lang="en", target_lang=way.target)
    both = [(one.confidence, other.confidence) for one, other in zip(to_english, again, strict=True)]
    product = [None if one is None or other is None else one * other for one, other in both]
    return (
        *(bleu(found, references) for found in (direct, through)),
        *(chrf(found, references) for found in (direct, through)),
        brier([each.confidence for each in direct], direct, references),
        brier([each.confidence for each in through], through, references),
        brier(product, through, references),
    )


def bleu(found: Sequence[Translation], references: Sequence[str]) -> float:
    """Of a test part."""
    return round(float(sacrebleu.corpus_bleu([each.text for each in found], [references]).score), 1)


def chrf(found: Sequence[Translation], references: Sequence[str]) -> float:
    """Of a test part."""
    return round(float(sacrebleu.corpus_chrf([each.text for each in found], [references]).score), 1)


def brier(confidences: Sequence[float | None], found: Sequence[Translation], references: Sequence[str]) -> float | None:
    """The mean squared difference between confidence and whether a translation is good; None where it is unknown."""
    errors = [
        (confidence - (sacrebleu.sentence_chrf(each.text, [reference]).score >= GOOD)) ** 2
        for confidence, each, reference in zip(confidences, found, references, strict=True)
        if confidence is not None
    ]
    return round(sum(errors) / len(errors), 3) if errors else None


if __name__ == "__main__":
    typer.run(main)
