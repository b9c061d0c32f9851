"""Every benchmark in turn, beside the peers: one command, a table of each, and all of them in one page.

    make bench DATA=multi30k
    python -m benchmarks.run_all --data multi30k --only startup --only memory

DATA holds the files of Multi30k as `train.en.gz`, `train.de.gz`, `val.*`, `test_2016_flickr.*`, `test_2017_flickr.*`.
The models that translate are trained first, for a few minutes each: speed asks how large they are, not how good. They
are kept under RUNS and used again. What a step says goes to RUNS/NAME.log, its figures to `benchmarks/results/`, and
the tables to `benchmarks/results/bench.md`; a step that fails leaves its reason there, and the others go on.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, table

NEEDED = ("train", "val", "test_2016_flickr", "test_2017_flickr")
PATIENCE = 3
"""A step that takes this many times longer than expected is stopped."""


class Step(NamedTuple):
    """Something to run, and how its result is shown."""

    title: str
    words: list[str]
    minutes: float
    result: str = ""
    show: Callable[[dict[str, Any]], str] = lambda result: str(result["table"])


def main(
    data: Annotated[Path, typer.Option(help="Folder with the files of Multi30k.")],
    runs: Annotated[Path, typer.Option(help="Folder for models and logs.")] = Path("runs/bench"),
    only: Annotated[list[str] | None, typer.Option(help="Some of the steps; all when not given.")] = None,
    results: Annotated[Path, typer.Option(help="Folder for bench.md, where the steps' results are.")] = RESULTS,
) -> None:
    """Run the steps, print a table after each, and write the page."""
    require_data(data)
    steps = all_steps(data, runs)
    wanted = only or list(steps)
    if unknown := set(wanted) - set(steps):
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: the steps are {', '.join(steps)}")
    runs.mkdir(parents=True, exist_ok=True)
    print(f"about {sum(steps[name].minutes for name in wanted):.0f} minutes; the logs are in {runs}", flush=True)
    failed = {}
    for number, name in enumerate(wanted, start=1):
        step = steps[name]
        print(f"\n[{number}/{len(wanted)}] {name}: {step.title} (about {step.minutes:g} minutes)", flush=True)
        if reason := work(step, runs / f"{name}.log"):
            failed[name] = reason
        print(section(step, results, reason), flush=True)
    (results / "bench.md").write_text(page(steps, results, failed), encoding="utf-8")
    if failed:
        raise typer.Exit(1)


def require_data(data: Path) -> None:
    """Say at once what is missing, and not after the first half hour."""
    names = [f"{part}.{side}.gz" for part in NEEDED for side in ("en", "de")]
    missing = [name for name in names if not (data / name).is_file()]
    if missing:
        raise typer.BadParameter(
            f"{data} lacks {', '.join(missing)}: name the folder that holds the files of Multi30k, a sentence a line"
        )


def all_steps(data: Path, runs: Path) -> dict[str, Step]:
    """By name, in their order; minutes are those of two cores."""
    sides = [str(data / "train.en.gz"), str(data / "train.de.gz")]
    models = {"small": runs / "small", "base": runs / "base"}
    peers = ["benchmarks.training_peers", *sides, "--size"]
    both = [word for size, folder in models.items() for word in (f"--{size}", str(folder))]
    first = ["benchmarks.multi30k", "--data", str(data), "--out", str(runs / "multi30k")]
    return {
        "kernels": Step("the small choices", ["benchmarks.kernels"], 0.5, "kernels", kernels),
        "training-small": Step(
            "training beside transformers, 3 + 3 layers, d=256, 8,000 pieces",
            [*peers, "small"], 5, "training-peers-small", training,
        ),
        "training-base": Step(
            "training beside transformers, the paper's base, 32,000 pieces",
            [*peers, "base"], 10, "training-peers-base", training,
        ),
        "training-marian": Step(
            "training beside Marian, 3 + 3 layers, d=256, 8,000 tokens, where it is installed",
            ["benchmarks.marian", *sides, "--size", "small"], 6, "marian-small",
        ),
        "bleu-per-minute": Step(
            "the recipe for a few minutes on Multi30k, English to German",
            [*first, "--recipe", "quick", "--minutes", "7", "--name", "quick"], 8.5, "multi30k-quick", curve,
        ),
        "train-small": Step("a small model, as Marian has them", training_of(data, models["small"], SMALL), 3),
        "train-base": Step("a model of the paper's base size", training_of(data, models["base"], BASE), 3),
        "decoding": Step(
            "decoding beside the peers, same weights",
            ["benchmarks.decoding", "--data", str(data), *both], 8, "decoding",
        ),
        "startup": Step("cold starts", ["benchmarks.startup", "--model", str(models["small"])], 2, "startup"),
        "memory": Step("memory by length", ["benchmarks.memory"], 5, "memory"),
    }  # fmt: skip


SMALL = ["--recipe", "small", "--set", "model.norm=post", "--set", "tokens.vocabulary_size=8000", "--max-minutes", "3"]
BASE = [
    *("--recipe", "base", "--set", "tokens.vocabulary_size=32000", "--set", "batching.tokens=2048"),
    *("--set", "training.schedule=inverse_sqrt", "--set", "training.learning_rate=5e-4", "--set", "training.warmup=50"),
    *("--set", "training.bleu_sentences=0", "--set", "training.best_by=loss", "--max-minutes", "3"),
]


def training_of(data: Path, folder: Path, settings: list[str]) -> list[str]:
    """`limelight train`, which goes on with the run that is there, or says that nothing is left to do."""
    text = [str(data / f"{part}.{side}.gz") for part in ("train", "val") for side in ("en", "de")]
    return ["limelight", "train", "--train", *text[:2], "--valid", *text[2:], *settings, "--out", str(folder)]


def work(step: Step, log: Path) -> str:
    """Why the step failed; an empty text where it did not."""
    begin = time.monotonic()
    with open(log, "w", encoding="utf-8") as said:
        try:
            subprocess.run(
                [sys.executable, "-m", *step.words],
                stdout=said, stderr=subprocess.STDOUT, check=True, timeout=60 * PATIENCE * step.minutes,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"stopped after {(time.monotonic() - begin) / 60:.0f} minutes; see {log}"
        except subprocess.CalledProcessError:
            lines = log.read_text(encoding="utf-8").strip().splitlines()
            return f"failed: {lines[-1] if lines else 'without a word'}; see {log}"
    return ""


# --- what is shown ---


def page(steps: dict[str, Step], results: Path, failed: dict[str, str]) -> str:
    """All tables; those of steps that were left out are from the last time they were run."""
    machine = "; ".join(f"{name} {value}" for name, value in describe_machine().items())
    parts = ["# Measured by `make bench`", machine]
    for name, step in steps.items():
        shown = section(step, results, failed.get(name, ""))
        parts += [f"## {step.title[:1].upper()}{step.title[1:]}", shown] if shown else []
    return "\n\n".join(parts) + "\n"


def section(step: Step, results: Path, reason: str) -> str:
    """The table of a step, or why there is none; nothing for a step that only prepares others."""
    stored = results / f"{step.result}.json"
    if reason or not step.result or not stored.is_file():
        return reason
    result = json.loads(stored.read_text(encoding="utf-8"))
    command = result.get("command") or "; ".join(result["commands"])
    return f"`{command}`\n\n{step.show(result)}"


def kernels(result: dict[str, Any]) -> str:
    found = {what: ways for what, ways in result.items() if isinstance(ways, dict) and what != "machine"}
    rows = [(what, way, took) for what, ways in found.items() for way, took in ways.items()]
    return table(["kernel", "way", "microseconds"], rows)


def training(result: dict[str, Any]) -> str:
    rows = [
        (way, found["tokens_per_second"], found["share_of_bf16_rate"], result["limelight is faster than"].get(way))
        for way, found in result.items()
        if isinstance(found, dict) and "tokens_per_second" in found
    ]
    return table(["training", "target tokens/s", "of the bf16 rate", "limelight is faster by"], rows)


def curve(result: dict[str, Any]) -> str:
    rows = [(point["minutes"], point["step"], point["loss"], point["bleu"]) for point in result["curve"]]
    scores = ", ".join(f"{name} {result[name]['bleu']:.2f}" for name in NEEDED if name in result)
    along = table(["minutes", "updates", "loss", "BLEU of validation, greedy"], rows)
    return f"{along}\n\nAfter {result['minutes']:g} minutes, beam {result['beam_size']}: {scores}"


if __name__ == "__main__":
    typer.run(main)
