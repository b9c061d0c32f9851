"""An imported model beside CTranslate2 with the same file: `python -m benchmarks.imported PACKAGE FOLDER < sentences`.

    python -m benchmarks.imported quality PACKAGE FOLDER SENTENCES REFERENCES

PACKAGE is an unpacked Argos package, FOLDER what `limelight import` made of it. The first prints CPU seconds of one
thread, int8 in both; the median of three rounds in turn. Wall time is not read: the machine may have other work. The
second prints BLEU and chrF of int8 and fp32 in both, and how many translations of int8 are those of fp32.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import ctranslate2
import sacrebleu
import sentencepiece
import typer

from benchmarks.common import run, table
from limelight.pipelines.load import load_translator
from limelight.pipelines.options import SEARCH_ONLY

Package = Annotated[Path, typer.Argument(help="An unpacked Argos package.")]
Folder = Annotated[Path, typer.Argument(help="What `limelight import` made of it.")]
Translate = Callable[[list[str], int], list[str]]
PRECISIONS = {"fp32": "float32", "int8": "int8"}


def opened(package: Path, folder: Path, precision: str) -> dict[str, Translate]:
    """Functions that translate texts with a beam, by the names of the programs."""
    split = sentencepiece.SentencePieceProcessor(model_file=str(package / "sentencepiece.model"))
    there = ctranslate2.Translator(str(package / "model"), compute_type=PRECISIONS[precision], intra_threads=1)
    here = load_translator(folder, precision=precision)

    def theirs(texts: list[str], beam: int) -> list[str]:
        rows = [split.encode(text, out_type=str) for text in texts]
        found = there.translate_batch(rows, beam_size=beam, max_batch_size=32)
        return ["".join(each.hypotheses[0]).replace("\u2581", " ").strip() for each in found]

    def ours(texts: list[str], beam: int) -> list[str]:
        search: dict[str, Any] = {**SEARCH_ONLY, "beam_size": beam}
        search |= {"length_penalty": 1.0, "length_offset": 0.0} if beam > 1 else {}
        return [each.text for each in here.translate(texts, **search)]

    return {"Limelight": ours, "CTranslate2": theirs}


def main(package: Package, folder: Folder) -> None:
    """Translate the lines of standard input with both, and print a table."""
    texts = sys.stdin.read().splitlines()
    ways = opened(package, folder, "int8")
    rows = []
    for name, some in (("one after the other", [[text] for text in texts[:20]]), ("in one call", [texts])):
        for beam in (1, 4):
            times = [[seconds(each, some, beam) for each in ways.values()] for _ in range(3)]
            spent = (statistics.median(column) for column in zip(*times, strict=True))
            rows.append((f"{sum(map(len, some))} sentences {name}, beam {beam}", *spent))
    print(table(["what", *(f"{name}, CPU s" for name in ways)], rows))


def seconds(translate: Translate, calls: list[list[str]], beam: int) -> float:
    begin = time.process_time()
    for texts in calls:
        translate(texts, beam)
    return time.process_time() - begin


def quality(package: Package, folder: Folder, sentences: Path, references: Path) -> None:
    """How good both are in fp32 and int8, and how much int8 changes."""
    texts, right = (path.read_text(encoding="utf-8").splitlines() for path in (sentences, references))
    found = {
        (name, beam, precision): translate(texts, beam)
        for precision in PRECISIONS
        for name, translate in opened(package, folder, precision).items()
        for beam in (1, 4)
    }
    rows = []
    for (name, beam, precision), outputs in sorted(found.items()):
        pairs = zip(outputs, found[name, beam, "fp32"], strict=True)
        scores = sacrebleu.corpus_bleu(outputs, [right]).score, sacrebleu.corpus_chrf(outputs, [right]).score
        rows.append((f"{name}, beam {beam}, {precision}", *scores, sum(one == other for one, other in pairs)))
    print(table(["what", "BLEU", "chrF", f"as in fp32, of {len(texts)}"], rows))


if __name__ == "__main__":
    run(main, quality=quality)
