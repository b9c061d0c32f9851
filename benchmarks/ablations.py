"""What each part is worth: the rows of the paper's table 3 (Vaswani et al. 2017) and some more, on Multi30k en->de.

    python -m benchmarks.ablations DATA --out runs/ablations
    python -m benchmarks.ablations DATA --out runs/ablations --rows base-1 --rows heads-1

DATA holds the files of Multi30k, as for `benchmarks.run_all`. All rows make the same number of updates, on the same
batches; the base is trained from five seeds, which also order the batches anew, and the recurrent base from three. A
difference counts where one more run of the base would not differ so much, 95 times in 100.

A row is a process of one thread and a run in OUT/NAME. What is done is not done again, and a run that was stopped goes
on where it stopped: give the same command. A row that fails leaves its reason, and the others go on. Perplexity is that
of a token of `val`, BLEU that of `test_2016_flickr` (beam 4, length penalty 0.6, as in the paper); target tokens/s are
those of an update, in processor seconds, so that neighbors count as little as possible. Figures go to
`benchmarks/results/ablations.json`, the table to `OUT/table.md`.
"""

import contextlib
import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer

from benchmarks.ablation_rows import ROWS, Row, config_of
from benchmarks.ablation_table import noises, tables
from benchmarks.machine import describe_machine
from benchmarks.output import RESULTS, write_result
from benchmarks.run_all import Step, require_data, work
from limelight.batching.drawing import View
from limelight.batching.stream import BatchStream, Position
from limelight.config import RunConfig
from limelight.evaluation import evaluate, perplexity, score_pairs
from limelight.files import write_whole
from limelight.formats import read_pairs
from limelight.memory import hold_memory_for_work
from limelight.models.families import build_model, count_parameters
from limelight.pipelines.load import load_translator
from limelight.preparation.pairs import Prepared, prepare
from limelight.training.optimization.optimizer import make_optimizer, set_rate
from limelight.training.optimization.precision import HalfCopy, choose_precision
from limelight.training.optimization.update import update
from limelight.training.run import train

STEPS = 1200
TRIAL, WARM = 30, 5
"""Updates that speed is measured on, and those before them that are not counted."""
AROUND = 35.0
"""Processor seconds of a row beside its updates, about: start, vocabulary, scores, translations, speed."""
DONE = "row.json"
PLAN = "plan.json"


def main(
    data: Annotated[Path, typer.Argument(help="Folder with the files of Multi30k.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs, one for each row.")],
    rows: Annotated[list[str] | None, typer.Option(help="Some of the rows; all when not given.")] = None,
    steps: Annotated[int, typer.Option(help=f"Updates of each row; {STEPS} when not given.", min=0)] = 0,
    minutes: Annotated[float, typer.Option(help="Instead: as many as fit into so many minutes.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Rows at a time, of one thread each.", min=1)] = 2,
    results: Annotated[Path, typer.Option(help="Folder for ablations.json.")] = RESULTS,
    alone: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Estimate, train what is left to do, print the table; `--alone` is one of the rows."""
    require_data(data)
    wanted = chosen(rows)
    out.mkdir(parents=True, exist_ok=True)
    if alone:
        one_row(chosen([alone])[0], data, out, steps)
        return
    costs = trial(wanted, data)
    steps = settle_steps(out, steps, updates_within(minutes, wanted, costs, workers))
    left = [row for row in wanted if not (out / row.name / DONE).exists()]
    seconds = {row.name: steps * costs[row.name] + AROUND for row in left}
    estimate = sum(seconds.values()) / workers / 60
    print(f"{len(left)} of {len(wanted)} rows, {steps:,} updates each: about {estimate:.0f} minutes", flush=True)
    options = [str(data), "--out", str(out), "--steps", str(steps), "--alone"]
    jobs = {
        row: Step(row.name, ["benchmarks.ablations", *options, row.name], max(5.0, seconds[row.name] / 60))
        for row in left
    }
    failed = run_rows(jobs, out, workers)
    write_down(out, steps, failed, results)
    if failed:
        raise typer.Exit(1)


def chosen(names: Sequence[str] | None) -> list[Row]:
    """The rows of these names, in the order of the table."""
    known = {row.name for row in ROWS}
    if unknown := set(names or ()) - known:
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: the rows are {', '.join(row.name for row in ROWS)}")
    return [row for row in ROWS if not names or row.name in names]


def settle_steps(out: Path, asked: int, fitting: int) -> int:
    """How many updates a row makes: as many as in all that lie in the folder already, else what is asked for.

    Raises `typer.BadParameter` where it asks for something else: rows with other budgets make no table.
    """
    plan = out / PLAN
    if not plan.exists():
        write_whole(plan, json.dumps({"steps": asked or fitting or STEPS}))
    steps = int(json.loads(plan.read_text(encoding="utf-8"))["steps"])
    if asked not in (0, steps):
        raise typer.BadParameter(
            f"the rows in {out} make {steps} updates, not {asked}: leave --steps out, or give another --out"
        )
    return steps


# --- how long it will take ---


def trial(rows: Sequence[Row], data: Path) -> dict[str, float]:
    """Processor seconds of an update of each row: measured for the base, then in proportion to what is multiplied."""
    torch.set_num_threads(1)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(config_of(ROWS[0], data, STEPS), Path(folder), lambda _: None)
        for base in {row.base for row in rows}:
            first = config_of(next(row for row in ROWS if row.group == base), data, STEPS)
            a_weight = speed_of(first, prepared).seconds / multiplied(first, prepared)
            found |= {
                row.name: a_weight * multiplied(config_of(row, data, STEPS), prepared)
                for row in rows
                if row.base == base
            }
    return found


def multiplied(config: RunConfig, prepared: Prepared) -> int:
    """Weights that a token meets in a product: all, but for embeddings that are only looked up."""
    with torch.device("meta"):
        model = build_model(config.model, prepared.tokenizers)
    vocabulary = prepared.tokenizers.target.size
    tables_of_pieces = [weight for weight in model.parameters() if vocabulary - 1 <= len(weight) <= vocabulary]
    return count_parameters(model) - sum(weight.numel() for weight in tables_of_pieces[1:])


def updates_within(minutes: float, rows: Sequence[Row], costs: dict[str, float], workers: int) -> int:
    """As many hundreds of updates of every row as fit, at least one."""
    seconds = 60 * minutes * workers - AROUND * len(rows)
    return max(100, int(seconds / sum(costs[row.name] for row in rows)) // 100 * 100) if minutes else 0


class Speed(NamedTuple):
    """Of updates, in processor time."""

    seconds: float
    """Of one."""
    tokens: float
    """Target tokens in a second."""


def speed_of(config: RunConfig, prepared: Prepared) -> Speed:
    """Some updates of fresh weights, on the first batches of the row."""
    torch.manual_seed(config.training.seed)
    model = build_model(config.model, prepared.tokenizers).train()
    optimizer = make_optimizer(model, beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0.0)
    set_rate(optimizer, 1e-4)
    half = HalfCopy(model) if choose_precision("auto", torch.device("cpu")) == "bf16" else None
    stream = BatchStream([View(prepared.stores[0])], prepared.tokenizers, tokens=config.batching.tokens, seed=1)
    times, pieces = [], []
    with contextlib.closing(stream.batches(Position())) as batches:
        for batch, _ in islice(batches, WARM + TRIAL):
            begin = time.process_time()
            update(
                model if half is None else half.refreshed(), [batch], optimizer,
                label_smoothing=config.training.label_smoothing, clip_norm=1.0, interruptible=contextlib.nullcontext(),
            )  # fmt: skip
            times.append(time.process_time() - begin)
            pieces.append(batch.target_tokens)
    seconds = sum(times[WARM:])
    return Speed(seconds / TRIAL, sum(pieces[WARM:]) / seconds)


# --- the rows ---


def run_rows(jobs: dict[Row, Step], out: Path, workers: int) -> dict[str, str]:
    """Some at a time, each in a process of its own; what failed, and why. Ctrl-C ends those that run, saved."""
    failed = {}
    begin = time.monotonic()
    with ThreadPoolExecutor(workers) as pool:
        try:
            reasons = pool.map(lambda row: work(jobs[row], out / f"{row.name}.log"), jobs)
            for number, (row, reason) in enumerate(zip(jobs, reasons, strict=True), start=1):
                if reason:
                    failed[row.name] = reason
                spent = (time.monotonic() - begin) / 60
                print(f"[{number}/{len(jobs)}] {spent:5.1f} minutes  {row.name}: {reason or 'done'}", flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return failed


def one_row(row: Row, data: Path, out: Path, steps: int) -> None:
    """Train, measure, and say so in `row.json`."""
    torch.set_num_threads(1)
    hold_memory_for_work()
    config = config_of(row, data, steps)
    folder = out / row.name
    progress = train(config, folder)
    translator = load_translator(folder, threads=torch.get_num_threads())
    valid, test = (
        list(read_pairs([data / f"{part}.en.gz", data / f"{part}.de.gz"])) for part in ("val", "test_2016_flickr")
    )
    scores = evaluate(translator, test)
    speed = speed_of(config, prepare(config, folder, lambda _: None))
    result = {
        "settings": list(row.settings),
        "seed": row.seed,
        "updates": progress.step,
        "target_pieces": progress.pieces,
        "parameters": count_parameters(translator.model),
        "vocabulary": translator.tokenizers.target.size,
        "perplexity": perplexity(score_pairs(translator, valid)),
        "bleu": round(scores.bleu.score, 4),
        "bleu_signature": scores.bleu.signature,
        "tokens_per_second": round(speed.tokens, 1),
        "minutes": round(progress.seconds / 60, 2),
    }
    write_whole(folder / DONE, json.dumps(result, indent=1))


# --- what came out ---


def write_down(out: Path, steps: int, failed: dict[str, str], results: Path) -> None:
    """The table of all rows that are done, with the noise it is judged by."""
    found = dict(stored_rows(out))
    printed = tables(found)
    result = {
        "benchmark": "ablations, multi30k en->de",
        "command": f"python -m benchmarks.ablations DATA --out RUNS --steps {steps}",
        "machine": describe_machine(),
        "updates": steps,
        "search": "beam 4, length penalty 0.6",
        "tokens_per_second": "target tokens of an update in a processor second of one thread, beside other rows",
        "noise": {
            base: {metric: noise and noise._asdict() for metric, noise in of.items()}
            for base, of in noises(found).items()
        },
        "failed": failed,
        "table": printed,
        "rows": found,
    }
    write_result("ablations", result, folder=results)
    write_whole(out / "table.md", printed + "\n")
    print(f"\n{printed}")


def stored_rows(out: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in ROWS:
        if (out / row.name / DONE).exists():
            yield row.name, json.loads((out / row.name / DONE).read_text(encoding="utf-8"))


if __name__ == "__main__":
    typer.run(main)
