"""What the check before training says of clean text, and of the same text damaged in known places.

    python -m benchmarks.side_check --data DATA

DATA holds folders of parallel text: every `*.train.tsv.gz`, and `train.en.gz` beside `train.de.gz` and `train.fr.gz`.
Clean text is checked as a whole, with its sides exchanged, sorted, and in parts; whatever is found there is a false
alarm. Damaged text is the first 3,000 pairs, shifted, swapped or shuffled from a line on. Sentences are not printed.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, NamedTuple

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from limelight.formats import read_pairs
from limelight.preparation.sides import SideCheck, check_sides, draw_sample
from limelight.text.pair import Pair

Rows = list[tuple[str, str]]
PARTS = (200, 1000, 3000)
"""Sizes of the parts of clean text..."""
PARTS_OF_EACH = 3
"""...and how many of each size."""
DAMAGED = 3000
FROM, TO = 1100, 2000
"""The rows that are damaged, from 0."""


class Case(NamedTuple):
    """A text and its wrong rows, from 0; none if it is clean."""

    name: str
    rows: Rows
    wrong: range = range(0)


def main(data: Annotated[Path, typer.Option(help="Folder with folders of parallel text.")]) -> None:
    """Check all cases, print, write down."""
    clean, damaged = [], []
    for files in corpora(data):
        rows = [(pair.source, pair.target) for pair in read_pairs(files)]
        name = f"{files[0].parent.name} {files[-1].name.split('.')[0 if len(files) == 1 else 1]}"
        clean += [_checked(case) for case in clean_cases(name, rows)]
        damaged += [_checked(case) for case in damaged_cases(name, rows[:DAMAGED])]
        print(f"{name}: {len(clean)} clean and {len(damaged)} damaged texts checked", flush=True)
    alarms = [row for row in clean if row["findings"]]
    found = table(
        ("text", "wrong rows", "first row found", "last row found", "share said to be wrong"),
        [(row["name"], row["wrong"], row["first"], row["last"], row["share"]) for row in damaged],
    )
    seconds = max(row["seconds"] for row in (*clean, *damaged))
    print(f"\n{found}\n\n{len(alarms)} false alarms in {len(clean)} clean texts; at most {seconds:.1f} s for a text")
    for row in alarms:
        print(f"  {row['name']}: {row['share']:.2f} said to be wrong")
    result = {"benchmark": "check of the sides", "machine": describe_machine(), "clean": clean, "damaged": damaged}
    write_result("side-check", result, folder=RESULTS)


def corpora(data: Path) -> list[list[Path]]:
    """The files of each corpus."""
    found = [[path] for path in sorted(data.glob("*/*.train.tsv.gz"))]
    for path in sorted(data.glob("*/train.en.gz")):
        others = (path.with_name(f"train.{language}.gz") for language in ("de", "fr"))
        found += [[path, other] for other in others if other.exists()]
    return found


def clean_cases(name: str, rows: Rows) -> Iterator[Case]:
    """The text, its sides exchanged, sorted by each side and by length, and parts of it."""
    yield Case(name, rows)
    yield Case(f"{name}, sides exchanged", [(target, source) for source, target in rows])
    yield Case(f"{name}, sorted", sorted(rows))
    yield Case(f"{name}, sorted by target", sorted(rows, key=lambda row: row[1]))
    yield Case(f"{name}, sorted by length", sorted(rows, key=lambda row: len(row[0])))
    for size in PARTS:
        for number in range(PARTS_OF_EACH):
            part = rows[2 * number * size : (2 * number + 1) * size]
            if len(part) == size:
                yield Case(f"{name}, {size} from {2 * number * size}", part)


def damaged_cases(name: str, rows: Rows) -> Iterator[Case]:
    """The text with its targets shifted by a line, its columns swapped, or its targets shuffled."""
    targets = [target for _, target in rows]
    shifted = targets[:FROM] + targets[FROM + 1 :]
    yield Case(
        f"{name}, shifted", list(zip([row[0] for row in rows], shifted, strict=False)), range(FROM, len(shifted))
    )
    wrong = range(FROM, TO)
    swapped = [row[::-1] if number in wrong else row for number, row in enumerate(rows)]
    yield Case(f"{name}, swapped", swapped, wrong)
    moved = targets[FROM:TO]
    Random(1).shuffle(moved)
    shuffled = targets[:FROM] + moved + targets[TO:]
    yield Case(f"{name}, shuffled", list(zip([row[0] for row in rows], shuffled, strict=True)), wrong)


def _checked(case: Case) -> dict[str, object]:
    pairs = [Pair(source, target, "text", number) for number, (source, target) in enumerate(case.rows, start=1)]
    begin = time.perf_counter()
    sample = draw_sample(pairs)
    found = check_sides(sample, "text")
    seconds = time.perf_counter() - begin
    first, last = _bounds(found, [pair.line for pair in sample.pairs])
    return {
        "name": case.name,
        "pairs": len(pairs),
        "wrong": f"{case.wrong.start + 1}-{case.wrong.stop}" if case.wrong else "",
        "first": first,
        "last": last,
        "share": round(found.wrong, 3),
        "findings": len(found.findings),
        "seconds": round(seconds, 1),
    }


def _bounds(found: SideCheck, lines: Sequence[int]) -> tuple[int | None, int | None]:
    """The first and the last line that a finding is about."""
    rows = [(each.rows[0], each.rows[1] - 1) for each in found.findings]
    return (lines[min(rows)[0]], lines[max(row[1] for row in rows)]) if rows else (None, None)


if __name__ == "__main__":
    typer.run(main)
