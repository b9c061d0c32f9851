"""What `limelight doctor` and `limelight clean` say of clean text, and of the same text damaged in known lines.

    python -m benchmarks.doctor --data DATA [--count 10000]

Clean text is the first pairs of Multi30k and of Tatoeba; whatever is removed there, but for duplicates and near
duplicates, is a false alarm. In damaged text 1 % of the pairs each have their target decoded as Windows-1252, their
sides swapped, or the source in lower case as their target, and the targets of 5 % of all lines, in one stretch, are
shuffled. Sentences are not printed.
"""

import csv
import gzip
import tempfile
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from limelight.cli.app import run
from limelight.text.clean import REASONS

Rows = list[tuple[str, str]]
HARMLESS = ("duplicate", "near_duplicate")


def main(
    data: Annotated[Path, typer.Option(help="Folder with folders of parallel text.")],
    count: Annotated[int, typer.Option(help="Pairs of each text.")] = 10_000,
) -> None:
    """Clean all texts, print, write down."""
    rows = []
    for name, target, text in _texts(data, count):
        alarms = {reason: len(lines) for reason, lines in _lines(text, target).items()}
        harmless = sum(alarms.get(REASONS[reason], 0) for reason in HARMLESS)
        false = sum(alarms.values()) - harmless
        damaged, wrong = _damaged(text)
        found = _lines(damaged, target)
        row: dict[str, object] = {"text": name, "pairs": len(text), "false alarms": false, "duplicates": harmless}
        for kind, lines in wrong.items():
            flagged = set().union(*found.values())
            row[f"{kind}: found"] = f"{len(lines & flagged)} of {len(lines)}"
        rows.append(row)
        print(row, flush=True)
    print(table([*rows[0]], [[*row.values()] for row in rows]))
    write_result("doctor", {"benchmark": "doctor", "machine": describe_machine(), "rows": rows}, folder=RESULTS)


def _texts(data: Path, count: int) -> list[tuple[str, str, Rows]]:
    found = []
    for target in ("de", "fr"):
        sides = []
        for language in ("en", target):
            with gzip.open(data / "multi30k" / f"train.{language}.gz", "rt", encoding="utf-8") as file:
                sides.append([line.rstrip("\n") for line, _ in zip(file, range(count), strict=False)])
        found.append((f"multi30k en-{target}", target, list(zip(*sides, strict=True))))
        with gzip.open(data / "tatoeba" / f"en-{target}.train.tsv.gz", "rt", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split("\t") for line in file]
        Random(1).shuffle(lines)
        found.append((f"tatoeba en-{target}", target, [(line[0], line[1]) for line in lines[:count]]))
    return found


def _damaged(text: Rows) -> tuple[Rows, dict[str, set[int]]]:
    """The text with its damage, and the damaged lines of each kind, from 1."""
    random, rows = Random(2), list(text)
    some = max(1, len(rows) // 100)
    free = [number for number in range(len(rows)) if not 0.5 <= number / len(rows) < 0.55]
    drawn = random.sample(free, 3 * some)
    wrong: dict[str, set[int]] = {"encoding": set(), "swapped": set(), "untranslated": set(), "shuffled": set()}
    for number in drawn[:some]:
        target = rows[number][1].encode().decode("cp1252", "replace")
        if target != rows[number][1]:
            wrong["encoding"].add(number + 1)
        rows[number] = rows[number][0], target
    for number in drawn[some : 2 * some]:
        rows[number] = rows[number][::-1]
        wrong["swapped"].add(number + 1)
    for number in drawn[2 * some :]:
        rows[number] = rows[number][0], rows[number][0].lower()
        wrong["untranslated"].add(number + 1)
    stretch = range(len(rows) // 2, len(rows) // 2 + len(rows) // 20)
    targets = [rows[number][1] for number in stretch]
    random.shuffle(targets)
    for number, target in zip(stretch, targets, strict=True):
        rows[number] = rows[number][0], target
        wrong["shuffled"].add(number + 1)
    return rows, wrong


def _lines(text: Rows, target: str) -> dict[str, set[int]]:
    """The lines that `limelight clean` removes, by reason."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "text.tsv"
        file.write_text("".join(f"{one}\t{other}\n" for one, other in text), encoding="utf-8")
        output = Path(name) / "clean.tsv"
        assert run(["clean", str(file), "--source", "en", "--target", target, "-o", str(output)]) == 0
        found: dict[str, set[int]] = {}
        listed = Path(name) / "clean-left-out.tsv"
        if listed.exists():
            with open(listed, encoding="utf-8", newline="") as rows:
                for row in csv.reader(rows, delimiter="\t", quoting=csv.QUOTE_NONE):
                    found.setdefault(row[2], set()).add(int(row[1]))
        return found


if __name__ == "__main__":
    typer.run(main)
