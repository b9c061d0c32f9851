"""What each part is worth: the rows of the paper's table 3 (Vaswani et al. 2017) and some more, on Multi30k en->de.

    python -m benchmarks.ablations DATA --out runs/ablations
    python -m benchmarks.ablations DATA --out runs/ablations --rows base-1 --rows heads-1

All rows make the same number of updates, on the same batches; the base is trained from five seeds, which also order
the batches anew, and the recurrent base from three. The table gives the standard deviation of these seeds.

A row is a process of one thread and a run in OUT/NAME. A finished row is not repeated, and a stopped one is resumed by
the same command. Perplexity is that of a token of `val`, BLEU that of `test_2016_flickr` (beam 4, length penalty 0.6,
as in the paper); target tokens/s are those of the log, beside other rows.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer

from benchmarks.common import multi30k, report, run, table
from limelight.config import (
    BatchingConfig,
    DataConfig,
    DecodingConfig,
    RecurrentConfig,
    RunConfig,
    TokensConfig,
    TrainingConfig,
    TransformerConfig,
    override,
)
from limelight.evaluation import evaluate, perplexity, score_pairs
from limelight.files import write_whole
from limelight.formats import read_pairs
from limelight.memory import hold_memory_for_work
from limelight.models.families import count_parameters
from limelight.pipelines.load import load_translator
from limelight.training.run import train

STEPS = 1200
TRANSFORMER = TransformerConfig(encoder_layers=2, decoder_layers=2, d_model=128, heads=4, d_ff=512, dropout=0.1)
"""The paper's own choices (normalization after, one embedding for all), at a quarter of its width."""
RECURRENT = RecurrentConfig(
    cell="lstm", wiring="luong", score="dot", input_feeding=False, bidirectional=False,
    embedding=128, hidden=256, dropout=0.1,
)  # fmt: skip
"""Luong et al. 2015 without input feeding. One direction: all inputs of a score have the same width."""
TRAINING = TrainingConfig(
    schedule="cosine", learning_rate=3e-3, clip_norm=1.0, best_by="loss", bleu_sentences=0, average=1,
    checkpoint_every=200, log_every=50, device="cpu", threads=1,
)  # fmt: skip
WARMUP = 8
"""One part in so many of the updates."""


class Row(NamedTuple):
    """One run: its name, its group in the table, and what it changes."""

    name: str
    group: str
    settings: tuple[str, ...] = ()
    seed: int = 1


ROWS = (
    *(Row(f"base-{seed}", "base", seed=seed) for seed in range(1, 6)),
    *(Row(f"heads-{heads}", "A", (f"model.heads={heads}",)) for heads in (1, 2, 8, 16)),
    *(Row(f"key-size-{size}", "B", (f"model.head_size={size}", "model.value_size=32")) for size in (8, 16)),
    *(Row(f"layers-{n}", "C", (f"model.encoder_layers={n}", f"model.decoder_layers={n}")) for n in (1, 4)),
    *(Row(f"d-model-{width}", "C", (f"model.d_model={width}",)) for width in (64, 256)),
    *(Row(f"d-ff-{width}", "C", (f"model.d_ff={width}",)) for width in (256, 1024)),
    *(Row(f"dropout-{share}", "D", (f"model.dropout={share}",)) for share in (0, 0.2)),
    *(Row(f"smoothing-{share}", "D", (f"training.label_smoothing={share}",)) for share in (0, 0.2)),
    Row("positions-learned", "E", ("model.positions=learned",)),
    Row("positions-rotary", "F", ("model.positions=rotary",)),
    Row("norm-first", "F", ("model.norm=pre",)),
    Row("norm-first-4", "F", ("model.norm=pre", "model.encoder_layers=4", "model.decoder_layers=4")),
    Row("two-way", "F", ("model.tie=two-way",)),
    Row("untied", "F", ("model.tie=none",)),
    *(Row(f"dot-{seed}", "recurrent", seed=seed) for seed in range(1, 4)),
    *(Row(score, "score", (f"model.score={score}",)) for score in ("scaled_dot", "general", "concat", "additive")),
    Row("no-attention", "score", ("model.wiring=fixed",)),
)
"""Groups A to E are the paper's (Vaswani et al. 2017, table 3)."""


def main(
    data: Annotated[Path, typer.Argument(help="Folder with the files of Multi30k.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs, one for each row.")],
    rows: Annotated[list[str] | None, typer.Option(help="Some of the rows; all when not given.")] = None,
    steps: Annotated[int, typer.Option(help="Updates of each row.", min=1)] = STEPS,
    workers: Annotated[int, typer.Option(help="Rows at a time, of one thread each.", min=1)] = 2,
    alone: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Train what is left to do, print the table; `--alone` is one of the rows."""
    known = {row.name: row for row in ROWS}
    if unknown := set(rows or ()) - known.keys():
        raise typer.BadParameter(f"{', '.join(sorted(unknown))}: the rows are {', '.join(known)}")
    if alone:
        one_row(known[alone], data, out, steps)
        return
    left = [name for name in rows or known if not (out / name / "row.json").exists()]
    words = [sys.executable, "-m", "benchmarks.ablations", str(data), "--out", str(out), "--steps", str(steps)]
    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(lambda name: subprocess.run([*words, "--alone", name], check=False).returncode, left))
    found = {name: json.loads(path.read_text()) for name in known if (path := out / name / "row.json").exists()}
    report("ablations", f"ablations DATA --out RUNS --steps {steps}", shown(found), rows=found)
    if any(done):
        raise typer.Exit(1)


def config_of(row: Row, data: Path, steps: int) -> RunConfig:
    """The whole run. All rows make the same updates of the same batches, but for those of another seed."""
    config = RunConfig(
        recipe=f"ablation {row.name}",
        data=DataConfig(train=multi30k(data, "train"), valid=multi30k(data, "val")),
        tokens=TokensConfig(kind="bpe", vocabulary_size=None, joint=True),
        batching=BatchingConfig(tokens=2048),
        model=RECURRENT if row.group in ("recurrent", "score") else TRANSFORMER,
        training=TRAINING,
        decoding=DecodingConfig(beam_size=4, length_penalty=0.6, prune=1000),
    )
    bounds = (
        f"training.max_steps={steps}", f"training.validate_every={steps}", f"training.warmup={steps // WARMUP}",
        f"training.seed={row.seed}",
    )  # fmt: skip
    return override(config, [*bounds, *row.settings])


def one_row(row: Row, data: Path, out: Path, steps: int) -> None:
    """Train, measure, and write `row.json`."""
    torch.set_num_threads(1)
    hold_memory_for_work()
    folder = out / row.name
    progress = train(config_of(row, data, steps), folder)
    translator = load_translator(folder, threads=1)
    valid, test = (list(read_pairs(multi30k(data, part)[0].files)) for part in ("val", "test_2016_flickr"))
    scores = evaluate(translator, test)
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    speeds = [line["target_tokens_per_second"] for line in lines if line["event"] == "training"]
    result = {
        "settings": list(row.settings),
        "seed": row.seed,
        "updates": progress.step,
        "parameters": count_parameters(translator.model),
        "perplexity": perplexity(score_pairs(translator, valid)),
        "bleu": round(scores.bleu.score, 4),
        "bleu_signature": scores.bleu.signature,
        "tokens_per_second": statistics.median(speeds),
    }
    write_whole(folder / "row.json", json.dumps(result, indent=1))


def shown(found: dict[str, dict[str, Any]]) -> str:
    """A line for each row; the seeds of a base are one line, with their standard deviation."""
    groups: dict[str, list[Row]] = {}
    for row in ROWS:
        if row.name in found:
            groups.setdefault(row.group if row.group in ("base", "recurrent") else row.name, []).append(row)
    lines = []
    for name, rows in groups.items():
        figures = [[found[row.name][key] for row in rows] for key in ("perplexity", "bleu", "tokens_per_second")]
        parameters = found[rows[0].name]["parameters"] / 1e6
        lines.append([name, " ".join(rows[0].settings), *map(_spread, figures), parameters])
    return table(["row", "changes", "PPL (val)", "BLEU (test)", "target tokens/s", "parameters, M"], lines)


def _spread(values: Sequence[float]) -> str:
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):,.2f}{deviation}"


if __name__ == "__main__":
    run(main)
