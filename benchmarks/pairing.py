"""How many pairs `limelight pair` finds again in documents that were made of known pairs.

    python -m benchmarks.pairing --data DATA [--model RUN]

DATA holds folders of parallel text (`NAME.train.tsv.gz`). Each document has pairs in a random order; 7 % of the
sentences are missing on either side, and 3 % of the pairs are merged with the next one on either side (2-1, 1-2). In
damaged documents stretches of up to 60 sentences of other text are inserted on both sides, too. A pair is right if both
of its texts are exactly those of a known pair; of 2-1 and 1-2, if all parts are there. With a model each document is
paired with and without it.
"""

import gzip
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import typer

from benchmarks.common import report, run, table
from limelight.corpus.pairing.align import Document, Sentence, align
from limelight.corpus.pairing.path import Bead
from limelight.text.sentences import split_sentences

SETS = ("tatoeba/en-de", "libreoffice-help/en-de", "python-docs/en-fr")
SIZES = (60, 1000)
SEEDS = (11,)
LARGE = 20_000
THRESHOLDS = (0.0, 0.5, 0.9)
Key = tuple[tuple[int, int], tuple[int, int]]
Translate = Callable[[Sequence[str]], Sequence[str]]


class Made(NamedTuple):
    """A document whose pairs are known: first sentence and number of sentences of both sides."""

    source: list[Sentence]
    target: list[Sentence]
    known: set[Key]


def main(
    data: Annotated[Path, typer.Option(help="Folder with folders of parallel text.")],
    model: Annotated[str, typer.Option(help="Model whose translations are compared, too.")] = "",
    large: Annotated[bool, typer.Option(help="Also a document of 20,000 sentences.")] = True,
) -> None:
    """Pair all documents, print, write down."""
    translator = _translator(model)
    rows = []
    for name in SETS:
        read = _read(data / f"{name}.train.tsv.gz", *name.split("/")[1].split("-"))
        for size in SIZES:
            for blocks in (0, max(1, size // 100)):
                made = [_made(Random(seed), read, size, blocks) for seed in SEEDS]
                for translate in (None, translator(*name.split("/")[1].split("-"))) if model else (None,):
                    rows.append(_measured(f"{name}, {size}" + ", damaged" * bool(blocks), made, translate))
                    print(rows[-1], flush=True)
        if large and name == SETS[0]:
            rows.append(_measured(f"{name}, {LARGE}", [_made(Random(0), read, LARGE, 40)], None))
    report("pairing", "pairing --data DATA", table([*rows[0]], [[*row.values()] for row in rows]), rows=rows)


def _translator(model: str) -> Callable[[str, str], Translate | None]:
    if not model:
        return lambda source, target: None
    import limelight

    loaded = limelight.load(model)

    def of(source: str, target: str) -> Translate:
        def translate(texts: Sequence[str]) -> Sequence[str]:
            found = loaded.translate(
                [text[:600] for text in texts], source_lang=source, target_lang=target, beam_size=1, lines=True,
                guards=False,
            )  # fmt: skip
            return [each.text for each in found]

        return translate

    return of


def _read(path: Path, source: str, target: str) -> list[tuple[str, str]]:
    """The pairs whose sides are one sentence each."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t")[:2] for line in file]
    Random(1).shuffle(rows)
    found = []
    for one, other in rows:
        if len(split_sentences(one, source).texts) == 1 == len(split_sentences(other, target).texts):
            found.append((one, other))
        if len(found) == 2 * LARGE:
            break
    return found


def _made(random: Random, rows: Sequence[tuple[str, str]], size: int, blocks: int) -> Made:
    drawn = random.sample(rows, min(2 * size, len(rows)))
    rows, others = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
    foreign = {random.randrange(len(rows)) for _ in range(blocks)}
    made, number = Made([], [], set()), 0
    while number < len(rows):
        random.random()
        if number in foreign:
            for side, sentences in enumerate(made[:2]):
                for _ in range(random.randrange(10, 60)):
                    sentences.append(Sentence(random.choice(others)[side], 0))
        kind, (source, target) = random.random(), rows[number]
        begins = len(made.source), len(made.target)
        counts = (kind >= 0.07, not 0.07 <= kind < 0.14)
        if 0.14 <= kind < 0.2 and number + 1 < len(rows):
            number += 1
            after = rows[number]
            counts = (1, 2) if kind < 0.17 else (2, 1)
            sides = [[source, after[0]], [target, after[1]]]
            one = counts.index(1)
            sides[one] = [f"{sides[one][0].rstrip('.')}, {sides[one][1]}"]
        else:
            sides = [[source] * counts[0], [target] * counts[1]]
        made.source.extend(Sentence(text, 0) for text in sides[0])
        made.target.extend(Sentence(text, 0) for text in sides[1])
        if all(counts):
            made.known.add((begins, (int(counts[0]), int(counts[1]))))
        number += 1
    return made


def _measured(name: str, made: Sequence[Made], translate: Translate | None) -> dict[str, object]:
    begun, found = time.perf_counter(), list[tuple[Made, list[Bead]]]()
    for each in made:
        told = translate([sentence.text for sentence in each.source]) if translate is not None else ()
        found.append((each, align([Document(each.source, each.target, told)])[0]))
    row: dict[str, object] = {"document": name, "with a model": "yes" if translate is not None else "no"}
    known = sum(len(each.known) for each in made)
    for threshold in THRESHOLDS:
        right = total = 0
        for each, beads in found:
            keys = [
                ((bead.source, bead.target), bead.kind) for bead in beads if bead.pairs and bead.confidence >= threshold
            ]
            total += len(keys)
            right += sum(key in each.known for key in keys)
        row[f"precision {threshold:g}"] = round(right / max(total, 1), 3)
        row[f"recall {threshold:g}"] = round(right / known, 3)
    row["seconds"] = round((time.perf_counter() - begun) / len(made), 1)
    return row


if __name__ == "__main__":
    run(main)
