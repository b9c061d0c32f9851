"""What the bundled model learns from 2,000 pairs of one subject, and what it forgets.

    python -m benchmarks.own_text --data DATA [--out FOLDER] [--threads N]

The new text is image captions of Multi30k, English to German, which the bundled model has never seen. The general text
is 2,000 pairs each of English-German and English-French: everyday sentences (half), help texts and interface texts. The
command is `limelight train --from ... --train ... --general ...` with no other settings; all scores are those it prints
at its end, of pairs that it held out. Sentences are not printed.
"""

import gzip
import json
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, write_result
from limelight.cli.app import run
from limelight.storage.layout import DEFAULT
from limelight.training.mix import read_before_after

Rows = list[tuple[str, ...]]
NEW = 2000
GENERAL = {"tatoeba": 1000, "libreoffice-help": 500, "home-assistant": 500}
LANGUAGES = ("de", "fr")


def main(
    data: Annotated[Path, typer.Option(help="Folder with folders of parallel text.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the text and the run. Default: a temporary one.")] = None,
    threads: Annotated[int, typer.Option(help="CPU threads.")] = 2,
) -> None:
    """Fine-tune the bundled model, print the scores, write them down."""
    folder = out or Path(tempfile.mkdtemp(prefix="limelight-own-text-"))
    folder.mkdir(exist_ok=True, parents=True)
    new, general = write_text(data, folder)
    began, cpu = time.perf_counter(), time.process_time()
    named = [f"en-{language}={path}" for language, path in general.items()]
    words = ["train", "--from", DEFAULT, "--train", str(new), "--source", "en", "--target", "de"]
    if run([*words, "--general", *named, "--threads", str(threads), "--out", str(folder / "run")]):
        raise SystemExit(1)
    row = {
        "pairs": NEW,
        "seconds": round(time.perf_counter() - began),
        "cpu_seconds": round(time.process_time() - cpu),
        "updates": _updates(folder / "run"),
        **json.loads((folder / "run" / "before-after.json").read_text(encoding="utf-8")),
    }
    found = read_before_after(folder / "run")
    assert found is not None
    print("\n".join(found.lines()))
    write_result("own-text", {"benchmark": "own_text", "machine": describe_machine(), **row}, folder=RESULTS)


def write_text(data: Path, folder: Path) -> tuple[Path, dict[str, Path]]:
    """Write the new text and the general text of each language; returns their files."""
    draw = Random(5)
    captions: Rows = []
    general: dict[str, Rows] = {}
    for language in LANGUAGES:
        sides = [lines_of(data / "multi30k" / f"train.{each}.gz") for each in ("en", language)]
        pairs = list(zip(*sides, strict=True))
        draw.shuffle(pairs)
        captions = captions or pairs[:NEW]
        general[language] = []
        for name, count in GENERAL.items():
            rows = [columns(line) for line in lines_of(data / name / f"en-{language}.train.tsv.gz")]
            draw.shuffle(rows)
            general[language] += [row for row in rows if all(map(str.strip, row))][:count]
            draw.shuffle(lines_of(data / name / f"en-{language}.test.tsv.gz"))  # the published figures were drawn so
    write_rows(folder / "new.tsv", captions)
    for language, rows in general.items():
        write_rows(folder / f"general.{language}.tsv", rows)
    return folder / "new.tsv", {language: folder / f"general.{language}.tsv" for language in general}


def lines_of(path: Path) -> list[str]:
    """The lines of a compressed file that are not empty."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line for line in file.read().split("\n") if line]


def columns(line: str) -> tuple[str, ...]:
    """Source and target of a line."""
    return tuple(line.split("\t")[:2])


def write_rows(path: Path, rows: Rows) -> None:
    """Write pairs as a table."""
    text = "".join(f"{source}\t{target}\n" for source, target in rows if "\t" not in source + target)
    path.write_text(text, encoding="utf-8")


def _updates(folder: Path) -> int:
    lines = (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()
    return max(int(json.loads(line)["step"]) for line in lines)


if __name__ == "__main__":
    typer.run(main)
