"""How often translations follow the form of address that is asked for.

    python -m benchmarks.formality --data DATA [--out FOLDER] [--updates N]

The bundled model is fine-tuned on 4,000 pairs of Tatoeba whose German side has a form of address, with the command

    limelight train --from ... --extend-vocabulary --train ... --general ... --set augmentation.formality=0.8

Then 300 English sentences of the test part that address somebody are translated with each form and without one. Counted
are translations in which the rule (`text/formality.py`) finds a form. Sentences are not printed.
"""

import tempfile
import time
from pathlib import Path
from random import Random
from typing import Annotated

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from benchmarks.own_text import Rows, columns, lines_of, write_rows
from limelight.cli.app import run
from limelight.evaluation.metrics import corpus_bleu
from limelight.pipelines.load import load_translator
from limelight.storage.layout import DEFAULT
from limelight.text.formality import FORMAL, INFORMAL, form_of_address
from limelight.training.mix import read_before_after

NEW, GENERAL, TESTED = 4000, 3000, 300
ASKED = ("", FORMAL, INFORMAL)


def main(
    data: Annotated[Path, typer.Option(help="Folder with folders of parallel text.")],
    out: Annotated[Path | None, typer.Option(help="Folder for the text and the run. Default: a temporary one.")] = None,
    updates: Annotated[int, typer.Option(help="Number of updates.")] = 80,
) -> None:
    """Fine-tune the bundled model, count forms of address, write them down."""
    folder = out or Path(tempfile.mkdtemp(prefix="limelight-formality-"))
    folder.mkdir(exist_ok=True, parents=True)
    test = write_text(data, folder)
    began = time.process_time()
    words = ["train", "--from", DEFAULT, "--extend-vocabulary", "--train", f"en-de={folder / 'new.tsv'}"]
    settings = ["--set", "augmentation.formality=0.8", "--set", "training.learning_rate=5e-4"]
    words += ["--general", f"en-de={folder / 'general.tsv'}", *settings, "--max-steps", str(updates)]
    if run([*words, "--threads", "1", "--out", str(folder / "run")]):
        raise SystemExit(1)
    cpu = time.process_time() - began
    translator = load_translator(folder / "run")
    rows = []
    for asked in ASKED:
        found = translator.translate([row[0] for row in test], source_lang="en", target_lang="de", formality=asked)
        forms = [form_of_address(each.text, "de", row[0]) for each, row in zip(found, test, strict=True)]
        bleu = corpus_bleu([each.text for each in found], [row[1] for row in test], tokenize="13a").score
        rows.append((asked or "none", forms.count(FORMAL), forms.count(INFORMAL), forms.count(""), round(bleu, 1)))
    print(table(("asked", FORMAL, INFORMAL, "neither", "BLEU"), rows))
    scores = read_before_after(folder / "run")
    print("\n".join(scores.lines() if scores else ()))
    result = {"benchmark": "formality", "machine": describe_machine(), "cpu_seconds": round(cpu), "updates": updates}
    write_result("formality", {**result, "rows": rows}, folder=RESULTS)


def write_text(data: Path, folder: Path) -> Rows:
    """Write the new text, as much of each form, and the general text; returns the test."""
    draw = Random(5)
    rows = [columns(line) for line in lines_of(data / "tatoeba" / "en-de.train.tsv.gz")]
    draw.shuffle(rows)
    by_form: dict[str, Rows] = {FORMAL: [], INFORMAL: [], "": []}
    for row in rows:
        by_form[form_of_address(row[1], "de", row[0])].append(row)
    write_rows(folder / "new.tsv", by_form[FORMAL][: NEW // 2] + by_form[INFORMAL][: NEW // 2])
    write_rows(folder / "general.tsv", by_form[""][:GENERAL])
    test = [columns(line) for line in lines_of(data / "tatoeba" / "en-de.test.tsv.gz")]
    return [row for row in test if form_of_address(row[1], "de", row[0])][:TESTED]


if __name__ == "__main__":
    typer.run(main)
