"""What a model that was trained with similar translations gains from a translation memory.

    python -m benchmarks.fuzzy_repair --data DATA [--out FOLDER] [--updates N]

The bundled model is fine-tuned on 5,000 pairs of the help of LibreOffice, English to German, with

    limelight train --from ... --extend-vocabulary --train ... --general ... --set augmentation.memory=0.9

Then 200 pairs of the test part, which no model has seen, with a similar source in the training part (0.5 to 0.99) are
translated, with the training part as memory and without. Sentences are not printed.
"""

import tempfile
import time
from itertools import islice
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from benchmarks.own_text import Rows, columns, lines_of, write_rows
from limelight.cli.app import run
from limelight.evaluation.metrics import corpus_bleu
from limelight.formats.translation_memory import fuzzy_match, open_memory
from limelight.pipelines.load import load_translator
from limelight.storage.layout import DEFAULT
from limelight.training.mix import read_before_after

NEW, GENERAL, TESTED = 5000, 2000, 200
MAX_CHARACTERS = 120
BOUNDS = ((0.5, 1.0), (0.5, 0.7), (0.7, 1.0))


def main(
    data: Annotated[Path, typer.Option(help="Folder with folders of parallel text.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the text and the run. Default: a temporary one.")] = None,
    updates: Annotated[int, typer.Option(help="Number of updates.")] = 330,
) -> None:
    """Fine-tune the bundled model, translate with and without a memory, write the scores down."""
    folder = out or Path(tempfile.mkdtemp(prefix="limelight-fuzzy-"))
    folder.mkdir(exist_ok=True, parents=True)
    others = write_text(data, folder)
    memory = open_memory(folder / "memory.tsv", "en", "de")
    found_near = ((row, match) for row in others if (match := fuzzy_match(memory, row[0])) and not memory.exact(row[0]))
    near = list(islice(found_near, TESTED))
    began = time.process_time()
    words = ["train", "--from", DEFAULT, "--extend-vocabulary", "--train", f"en-de={folder / 'new.tsv'}"]
    changed = ("augmentation.memory=0.9", "training.learning_rate=5e-4", "batching.tokens=512", "data.replay=0.2")
    settings = [word for each in (*changed, "training.validate_every=110") for word in ("--set", each)]
    words += ["--general", f"en-de={folder / 'general.tsv'}", *settings, "--max-steps", str(updates)]
    if run([*words, "--threads", "1", "--out", str(folder / "run")]):
        raise SystemExit(1)
    cpu = time.process_time() - began
    rows = []
    for name, model, used in (
        ("the bundled model", DEFAULT, None),
        ("trained", folder / "run", None),
        ("trained, with the memory", folder / "run", memory),
    ):
        found = load_translator(model).translate(
            [row[0] for row, _ in near], source_lang="en", target_lang="de", memory=used, lines=True
        )
        outputs = [(each.text, row[1], match.similarity) for each, (row, match) in zip(found, near, strict=True)]
        rows.append((name, *(_bleu(outputs, *bounds) for bounds in BOUNDS)))
    counts = [sum(low <= match.similarity < high for _, match in near) for low, high in BOUNDS]
    names = (f"{low}-{high}: {count}" for (low, high), count in zip(BOUNDS, counts, strict=True))
    print(table(("BLEU by similarity", *names), rows))
    scores = read_before_after(folder / "run")
    print("\n".join(scores.lines() if scores else ()))
    result = {"benchmark": "fuzzy_repair", "machine": describe_machine(), "cpu_seconds": round(cpu), "updates": updates}
    write_result("fuzzy-repair", {**result, "counts": counts, "rows": rows}, folder=RESULTS)


def _bleu(outputs: list[tuple[str, str, float]], low: float, high: float) -> float:
    """BLEU of the outputs whose match has such a similarity."""
    some = [(text, reference) for text, reference, similarity in outputs if low <= similarity < high]
    return round(corpus_bleu([text for text, _ in some], [reference for _, reference in some], tokenize="13a").score, 1)


def write_text(data: Path, folder: Path) -> Rows:
    """Write the memory, a part of it as the new text, and the general text; returns the test."""
    draw = Random(5)
    rows, test = (_short(data / "libreoffice-help" / f"en-de.{part}.tsv.gz") for part in ("train", "test"))
    draw.shuffle(rows)
    write_rows(folder / "memory.tsv", rows)
    write_rows(folder / "new.tsv", rows[:NEW])
    general = [columns(line) for line in lines_of(data / "tatoeba" / "en-de.train.tsv.gz")]
    draw.shuffle(general)
    write_rows(folder / "general.tsv", general[:GENERAL])
    return test


def _short(path: Path) -> Rows:
    """The pairs of a file without very long ones, each source once."""
    found = dict(columns(line) for line in lines_of(path))
    return [row for row in found.items() if max(map(len, row)) <= MAX_CHARACTERS and all(map(str.strip, row))]


if __name__ == "__main__":
    typer.run(main)
