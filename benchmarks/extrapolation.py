"""Sequences longer than any in training: sinusoids, learned vectors and rotation, on a copy task and on Multi30k.

    python -m benchmarks.extrapolation DATA --out runs/extrapolation

Copying: random tokens, up to 20 of them in training and up to 60 afterwards, from some seeds; the share of sequences
that greedy search copies without a mistake, and the share of tokens that stand in their place. Multi30k, English to
German: trained on pairs with at most 15 tokens on each side, then the loss per target token by the length of the longer
side, on `val`, `test_2016_flickr` and `test_2017_flickr`; beside it sinusoids trained on all lengths, with as many
updates. Learned positions have vectors for all lengths that are asked for, but beyond those of training they are as
they were drawn. DATA holds the files of Multi30k, as for `benchmarks.run_all`.

A model is a process of one thread. Figures go to `benchmarks/results/extrapolation.json`, the picture to
`docs/pictures/extrapolation.svg`.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, NamedTuple, cast

import torch
import typer
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.ablation_rows import Row, config_of
from benchmarks.machine import describe_machine
from benchmarks.memory import Pieces
from benchmarks.output import RESULTS, table, write_result
from benchmarks.run_all import require_data
from limelight.batching.batch import Batch, make_batch
from limelight.config import TransformerConfig, override
from limelight.decoding.engine import Engine
from limelight.decoding.request import Hypothesis, Request
from limelight.evaluation import score_pairs
from limelight.formats import read_pairs
from limelight.memory import hold_memory_for_work
from limelight.models.families import build_model
from limelight.models.interface import Seq2Seq
from limelight.pipelines.translator import Translator
from limelight.storage.model import load_model
from limelight.text.pair import Pair
from limelight.tokens import END, Tokenizers
from limelight.training.optimization.optimizer import learning_rate, make_optimizer, set_rate
from limelight.training.optimization.update import update
from limelight.training.run import train

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "extrapolation.svg"
POSITIONS = ("sinusoidal", "learned", "rotary")
COPYING = TransformerConfig(
    encoder_layers=2, decoder_layers=2, d_model=64, heads=4, d_ff=256, dropout=0.0, norm="pre", max_positions=128
)
SYMBOLS, FIRST = 24, 2
"""So few that most sequences hold one twice: what stands around it does not say where one is."""
PIECES = Pieces(SYMBOLS + 3, SYMBOLS + 2)
MAX_COPIED = 20
LENGTHS = (5, 10, 15, 20, 21, 22, 25, 30, 40, 50, 60)
ROWS, ASKED = 64, 100
RATE, WARMUP = 2e-3, 100
MAX_READ = 15
BUCKETS = ((1, 10), (11, 15), (16, 20), (21, 25), (26, 30), (31, 35), (36, 45))
TESTS = ("val", "test_2016_flickr", "test_2017_flickr")
EVERYTHING = "sinusoidal, trained on all lengths"

FEWEST = 20  # pairs: the loss of fewer is noise
SHORT = f"batching.max_length={MAX_READ + 1}"
"""The end is counted."""
READERS = {
    "sinusoidal": ("model.positions=sinusoidal", SHORT),
    "learned": ("model.positions=learned", "model.max_positions=128", SHORT),
    "rotary": ("model.positions=rotary", SHORT),
    EVERYTHING: ("model.positions=sinusoidal",),
}
IN_WORDS = {"whole": "sequences without a mistake", "places": "pieces in their place"}
LOOKS = {
    "sinusoidal": ("tab:blue", "o-"), "learned": ("tab:orange", "s-"), "rotary": ("tab:green", "^-"),
    EVERYTHING: ("gray", "o:"),
}  # fmt: skip
"""Color, and marks on a line."""

Points = dict[int, float]
"""Some figure by length."""
Shares = Mapping[str, Mapping[str, Sequence[Points]]]
"""By what was measured, and by positions: one for each seed."""


class Copied(NamedTuple):
    """How well one model copies, by length."""

    whole: Points
    """Share of sequences without a mistake, end included."""
    places: Points
    """Share of tokens that stand where they should."""


def main(
    data: Annotated[Path, typer.Argument(help="Folder with the files of Multi30k.")],
    out: Annotated[Path, typer.Option(help="Folder for the runs on Multi30k.")],
    seeds: Annotated[int, typer.Option(help="Models that copy, of each kind.", min=1)] = 3,
    updates: Annotated[int, typer.Option(help="Updates of a model that copies.", min=1)] = 1000,
    steps: Annotated[int, typer.Option(help="Updates of a model that translates.", min=1)] = 500,
    workers: Annotated[int, typer.Option(help="Models at a time, of one thread each.", min=1)] = 2,
    results: Annotated[Path, typer.Option(help="Folder for extrapolation.json.")] = RESULTS,
    picture: Annotated[Path, typer.Option(help="Where the picture goes, .svg or .png.")] = PICTURE,
) -> None:
    """Train all, write down, draw."""
    require_data(data)
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=torch.set_num_threads, initargs=(1,)) as pool:
        reading = pool.map(partial(losses_by_length, data=data, out=out, steps=steps), READERS)
        jobs = [(positions, seed) for positions in POSITIONS for seed in range(1, seeds + 1)]
        copying = pool.map(partial(copied_by_length, updates=updates), *zip(*jobs, strict=True))
        losses = dict(zip(READERS, reading, strict=True))
        copied = list(zip(jobs, copying, strict=True))
    shares = {
        measure: {name: [getattr(found, measure) for (kind, _), found in copied if kind == name] for name in POSITIONS}
        for measure in Copied._fields
    }
    result = {
        "benchmark": "lengths beyond those of training",
        "command": f"python -m benchmarks.extrapolation DATA --out RUNS --seeds {seeds}"
        f" --updates {updates} --steps {steps}",
        "machine": describe_machine(),
        "copying": {"longest in training": MAX_COPIED, "sequences of each length": ASKED, **shares},
        "multi30k": {"longest in training": MAX_READ, "unit": "nats per target piece", "loss": losses},
        "table": tables(shares, losses),
    }
    write_result("extrapolation", result, folder=results)
    draw(shares, losses, picture)
    print(result["table"])


# --- copying ---


def copied_by_length(positions: str, seed: int, *, updates: int) -> Copied:
    """Teach a model to copy short sequences; ask it for longer ones."""
    hold_memory_for_work()
    torch.manual_seed(seed)
    config = COPYING.model_copy(update={"positions": positions})
    model = cast(Seq2Seq, build_model(config, Tokenizers(PIECES, PIECES)))
    optimizer = make_optimizer(model, beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0.0)
    model.train()
    for step in range(1, updates + 1):
        rate = learning_rate(
            step, schedule="cosine", peak=RATE, warmup=WARMUP, d_model=config.d_model, done=step / updates
        )
        set_rate(optimizer, rate)
        batch = copies([int(length) for length in torch.randint(1, MAX_COPIED + 1, (ROWS,))])
        update(model, [batch], optimizer, label_smoothing=0.0, clip_norm=1.0, interruptible=nullcontext())
    model.eval()
    found = {length: copied(model, copies([length] * ASKED)) for length in LENGTHS}
    return Copied(*({length: shares[part] for length, shares in found.items()} for part in (0, 1)))


def copies(lengths: Sequence[int]) -> Batch:
    """Random sequences of these lengths, each to become itself."""
    rows = [torch.randint(FIRST, FIRST + SYMBOLS, (length,)).tolist() for length in lengths]
    padding = PIECES.padding
    return make_batch(rows, rows, start=padding, end=END, source_padding=padding, target_padding=padding)


def copied(model: Seq2Seq, batch: Batch) -> tuple[float, float]:
    """The share of sequences without a mistake, and of tokens in their place."""
    found = searched(model, batch)
    wanted = [row[valid][:-1].tolist() for row, valid in zip(batch.target_out, batch.target_valid, strict=True)]
    whole = [each.finished and list(each.ids) == row for each, row in zip(found, wanted, strict=True)]
    right = [
        sum(one == other for one, other in zip(each.ids, row, strict=False))
        for each, row in zip(found, wanted, strict=True)
    ]
    return statistics.fmean(whole), sum(right) / sum(map(len, wanted))


def searched(model: Seq2Seq, batch: Batch) -> list[Hypothesis]:
    """The output of greedy search for each source."""
    engine = Engine(model)
    limits = (batch.target_valid.sum(dim=1) + 9).tolist()
    rows = zip(batch.source, batch.source_valid, limits, strict=True)
    numbers = [engine.submit(Request(ids[valid].tolist(), limit)) for ids, valid, limit in rows]
    found = {}
    while engine.busy:
        for outcome in engine.step():
            if outcome.error is not None:
                raise outcome.error
            found[outcome.id] = outcome.hypotheses[0]
    return [found[number] for number in numbers]


# --- Multi30k ---


def losses_by_length(name: str, *, data: Path, out: Path, steps: int) -> Points:
    """Train on pairs that are short, or on all, and score pairs of every length.

    Returns the loss per target token of each bucket in which there are any, by its longest length.
    """
    hold_memory_for_work()
    folder = out / name.replace(",", "").replace(" ", "-")
    train(override(config_of(Row(name, "base"), data, steps), list(READERS[name])), folder)
    stored = load_model(folder)
    pairs = [pair for test in TESTS for pair in read_pairs([data / f"{test}.en.gz", data / f"{test}.de.gz"])]
    found = buckets_of(pairs, stored.tokenizers)
    translator, losses = Translator(cast(Seq2Seq, stored.model), stored.tokenizers), {}
    for last, some in found.items():
        scores = score_pairs(translator, some)
        losses[last] = -math.fsum(score.log_probability for score in scores) / sum(score.tokens for score in scores)
    return losses


def buckets_of(pairs: Sequence[Pair], tokenizers: Tokenizers) -> dict[int, list[Pair]]:
    """The pairs by the bucket of their longer side, in tokens; buckets without enough of them are left out."""
    sides = zip(
        tokenizers.source.encode_batch([pair.source for pair in pairs]),
        tokenizers.target.encode_batch([pair.target for pair in pairs]),
        strict=True,
    )
    lengths = [max(map(len, rows)) for rows in sides]
    found = {
        last: [pair for pair, length in zip(pairs, lengths, strict=True) if first <= length <= last]
        for first, last in BUCKETS
    }
    return {last: some for last, some in found.items() if len(some) >= FEWEST}


# --- what is shown ---


def tables(copied: Shares, losses: Mapping[str, Points]) -> str:
    """Means over the seeds, and losses; columns are lengths."""
    rows = [
        (f"copying, {IN_WORDS[measure]}", name, *(f"{statistics.fmean(values):.2f}" for values in zip_points(found)))
        for measure, kinds in copied.items()
        for name, found in kinds.items()
    ]
    read = [(name, *(f"{loss:.2f}" for loss in points.values())) for name, points in losses.items()]
    buckets = [f"{first} to {last}" for first, last in BUCKETS if last in next(iter(losses.values()))]
    return "\n\n".join(
        [table(["", "positions", *map(str, LENGTHS)], rows), table(["loss per target piece", *buckets], read)]
    )


def zip_points(found: Sequence[Points]) -> list[list[float]]:
    """The values of all models at each length."""
    return [[points[length] for points in found] for length in found[0]]


def draw(copied: Shares, losses: Mapping[str, Points], picture: Path) -> None:
    """Three panels; the longest length of training is a dotted line. Bands reach from the worst seed to the best."""
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    *copying, reading = figure.subplots(1, 3)
    for axes, (measure, kinds) in zip(copying, copied.items(), strict=True):
        for name, found in kinds.items():
            values = zip_points(found)
            _line(axes, name, {length: statistics.fmean(each) for length, each in zip(LENGTHS, values, strict=True)})
            bounds = [*map(min, values)], [*map(max, values)]
            axes.fill_between(LENGTHS, *bounds, color=LOOKS[name][0], alpha=0.15)
        axes.set_ylim(-0.03, 1.03)
        _finish(axes, f"copying: {IN_WORDS[measure]}", f"pieces (training: 1 to {MAX_COPIED})", MAX_COPIED)
    for name, points in losses.items():
        _line(reading, name, points)
    side = f"most tokens on a side (training: 1 to {MAX_READ})"
    _finish(reading, "Multi30k en-de: loss per target piece", side, MAX_READ)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


def _line(axes: Axes, name: str, points: Points) -> None:
    color, style = LOOKS[name]
    axes.plot([*points], [*points.values()], style, color=color, markersize=4, label=name)


def _finish(axes: Axes, title: str, what: str, longest: int) -> None:
    axes.axvline(longest, color="gray", linestyle=":")
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(what)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)


if __name__ == "__main__":
    typer.run(main)
