"""Target tokens per second of a recipe's training step, on sentences of real lengths.

    python -m benchmarks.training_speed train.en.gz train.de.gz --recipe small

Prints the share of places that hold a real token, page faults per update, and the same with freed memory handed back to
the system (`limelight.memory`), each in a process of its own, in turn.
"""

import contextlib
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated

import torch
import typer

from benchmarks.machine import describe_machine
from benchmarks.multi30k import RESULTS
from limelight.batching.drawing import Drawing, View
from limelight.batching.stream import BatchStream, Position
from limelight.config import Corpus, RunConfig
from limelight.memory import hold_memory_for_work
from limelight.models.families import build_model
from limelight.preparation.pairs import prepare
from limelight.recipes import find_recipe
from limelight.training.optimization.optimizer import make_optimizer, set_rate
from limelight.training.optimization.precision import HalfCopy, choose_precision
from limelight.training.optimization.update import update


def main(
    source: Annotated[Path, typer.Argument(help="One side of the training text.")],
    target: Annotated[Path, typer.Argument(help="The other side.")],
    recipe: Annotated[str, typer.Option(help="Any recipe.")] = "small",
    updates: Annotated[int, typer.Option(help="Updates measured, after five to warm up.")] = 25,
    rounds: Annotated[int, typer.Option(help="Processes of each kind, in turn.")] = 5,
    alone: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure in processes of their own; `--alone` is one of them."""
    if alone:
        print(json.dumps(_measure(source, target, recipe, updates, keep=alone == "keep")))
        return
    found: dict[str, list[dict[str, float]]] = {"keep": [], "hand back": []}
    for _ in range(rounds):
        for kind, runs in found.items():
            command = [sys.executable, "-m", "benchmarks.training_speed", str(source), str(target)]
            command += ["--recipe", recipe, "--updates", str(updates), "--alone", kind]
            runs.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    result = {
        "benchmark": "training speed",
        "command": f"python -m benchmarks.training_speed SOURCE TARGET --recipe {recipe} --rounds {rounds}",
        "machine": describe_machine(),
        **{
            f"freed memory: {kind}": {name: statistics.median(run[name] for run in runs) for name in runs[0]}
            for kind, runs in found.items()
        },
    }
    (RESULTS / f"training-speed-{recipe}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


def _measure(source: Path, target: Path, recipe: str, updates: int, *, keep: bool) -> dict[str, float]:
    if keep:
        hold_memory_for_work()
    config = find_recipe(recipe)
    corpus = Corpus(files=(str(source), str(target)))
    config = config.model_copy(update={"data": config.data.model_copy(update={"train": (corpus,)})})
    with tempfile.TemporaryDirectory() as folder:
        return _speed(config, Path(folder), updates)


def _speed(config: RunConfig, folder: Path, updates: int) -> dict[str, float]:
    prepared = prepare(config, folder, lambda _: None)
    torch.manual_seed(config.training.seed)
    model = build_model(config.model, prepared.tokenizers)
    optimizer = make_optimizer(model, beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0.0)
    set_rate(optimizer, 1e-4)
    precision = choose_precision(config.training.precision, torch.device("cpu"))
    half = HalfCopy(model) if precision == "bf16" else None
    stream = BatchStream(
        [View(prepared.stores[0])], prepared.tokenizers,
        tokens=config.batching.tokens, seed=1, drawing=Drawing(config.tokens.sampling),
    )  # fmt: skip
    batches = stream.batches(Position())
    pieces = real = places = 0
    for number in range(5 + updates):
        if number == 5:
            begin, faults = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            pieces = real = places = 0
        batch, _ = next(batches)
        result = update(
            model if half is None else half.refreshed(), [batch], optimizer, label_smoothing=0.1, clip_norm=1.0,
            interruptible=contextlib.nullcontext(),
        )  # fmt: skip
        pieces += result.tokens
        real += int(batch.source_valid.sum()) + result.tokens
        places += batch.source.numel() + batch.target_in.numel()
    seconds = time.perf_counter() - begin
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
    return {
        "target_tokens_per_second": round(pieces / seconds, 1),
        "milliseconds_per_update": round(1e3 * seconds / updates, 1),
        "real_places": round(real / places, 4),
        "page_faults_per_update": round(faults / updates),
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    typer.run(main)
