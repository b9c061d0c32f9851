"""Language models on tiny Shakespeare: nanoGPT's setting here and in a plain loop, cells beside attention, our best.

    python -m benchmarks.language_models TEXT --out runs/language

TEXT is the file of a megabyte that char-rnn and nanoGPT learn from; the last tenth is held out. Each is trained in a
process of its own, in turn; a run that is there already is gone on with, or only measured. Losses are of all of the
held-out text, in nats for a character, each block without what stood before it.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table, write_result
from limelight.models.families import count_parameters
from limelight.storage.model import load_model
from limelight.training.checkpoints.checkpoint import CHECKPOINTS, stored_progress

PLAIN = "a plain loop"
RECIPES = ("gpt-tiny", "lstm-tiny", "gpt-small")
PUBLISHED = {"gpt-tiny": 1.88, "gpt-small": 1.4697}
"""nanoGPT's figures: its setting for a CPU, and its larger one for a GPU."""


def main(
    text: Annotated[Path, typer.Argument(help="The text.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs.")],
    only: Annotated[list[str] | None, typer.Option(help="Some of them; all when not given.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting of the recipes, section.key=value.")
    ] = None,
) -> None:
    """Train each, print a table, write it down."""
    found = stored_figures()
    for name in only or [PLAIN, *RECIPES]:
        print(f"{name} ...", file=sys.stderr, flush=True)
        found[name] = plain(text) if name == PLAIN else trained(name, text, out / name, set_ or [])
    result = {
        "benchmark": "language models on a megabyte of plays, characters",
        "command": "python -m benchmarks.language_models TEXT --out runs/language",
        "machine": describe_machine(),
        **found,
    }
    write_result("language-models", result)
    print(shown(found))


def stored_figures() -> dict[str, Any]:
    """What is known of those that are not measured now."""
    path = RESULTS / "language-models.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return {name: known[name] for name in (PLAIN, *RECIPES) if name in known}


def plain(text: Path) -> dict[str, Any]:
    """What `benchmarks.plain_gpt` says of itself."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.plain_gpt", str(text)], check=True, capture_output=True, text=True
    )
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**result, "loss": result["loss_of_all"], "loss_as_it_reports": result["loss"]}


def trained(recipe: str, text: Path, run: Path, settings: list[str]) -> dict[str, Any]:
    """A run by the command, and what its log and its checkpoint say."""
    words = ["limelight", "train", "--text", str(text), "--recipe", recipe, "--out", str(run), "--quiet"]
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", *words, *(word for each in settings for word in ("--set", each))], check=True)
    command = time.perf_counter() - begin
    stored, progress = load_model(run), stored_progress(run / CHECKPOINTS)[-1]
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    looks = [line for line in lines if line["event"] in ("validation", "final") and "loss" in line]
    return {
        "loss": min(line["loss"] for line in looks),
        "bits_per_byte": min(line["bits_per_byte"] for line in looks),
        "seconds": progress.seconds,
        "seconds_of_the_command": command,
        "updates": progress.step,
        "parameters": count_parameters(stored.model),
        "curve": [{key: line[key] for key in ("step", "seconds", "loss")} for line in looks],
        "published": PUBLISHED.get(recipe),
    }


def shown(found: dict[str, Any]) -> str:
    """A row for each model."""
    rows = [
        (name, each.get("parameters"), each.get("updates", 2000), each["seconds"], each["loss"], PUBLISHED.get(name))
        for name, each in found.items()
    ]
    return table(["model", "parameters", "updates", "seconds", "loss of held-out text", "nanoGPT says"], rows)


if __name__ == "__main__":
    typer.run(main)
