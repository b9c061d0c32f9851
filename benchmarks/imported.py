"""An imported model beside CTranslate2 with the same file: `python -m benchmarks.imported PACKAGE FOLDER < sentences`.

PACKAGE is an unpacked Argos package, FOLDER what `limelight import` made of it. Prints CPU seconds of one thread, int8
in both; the median of three rounds in turn. Wall time is not read: the machine may have other work.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import ctranslate2
import sentencepiece
import typer

from limelight.pipelines.load import load_translator
from limelight.pipelines.options import SEARCH_ONLY


def main(
    package: Annotated[Path, typer.Argument(help="An unpacked Argos package.")],
    folder: Annotated[Path, typer.Argument(help="What `limelight import` made of it.")],
) -> None:
    """Translate the lines of standard input with both, and print a table."""
    texts = sys.stdin.read().splitlines()
    split = sentencepiece.SentencePieceProcessor(model_file=str(package / "sentencepiece.model"))
    there = ctranslate2.Translator(str(package / "model"), compute_type="int8", intra_threads=1)
    here = load_translator(folder, precision="int8")
    search = {"length_penalty": 1.0, "length_offset": 0.0, **SEARCH_ONLY}

    def theirs(some: list[str], beam: int) -> None:
        there.translate_batch([split.encode(text, out_type=str) for text in some], beam_size=beam, max_batch_size=32)

    def ours(some: list[str], beam: int) -> None:
        here.translate(some, beam_size=beam, **(search if beam > 1 else SEARCH_ONLY))

    print("| what | Limelight, CPU s | CTranslate2, CPU s |\n|---|---|---|")
    for name, some in (("one after the other", [[text] for text in texts[:20]]), ("in one call", [texts])):
        for beam in (1, 4):
            times = [[seconds(each, some, beam) for each in (ours, theirs)] for _ in range(3)]
            mine, other = (statistics.median(column) for column in zip(*times, strict=True))
            count = sum(map(len, some))
            print(f"| {count} sentences {name}, beam {beam} | {mine:.2f} | {other:.2f} |", flush=True)


def seconds(translate: Callable[[list[str], int], None], calls: list[list[str]], beam: int) -> float:
    begin = time.process_time()
    for texts in calls:
        translate(texts, beam)
    return time.process_time() - begin


if __name__ == "__main__":
    typer.run(main)
