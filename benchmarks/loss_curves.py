"""Does bf16 cost anything in learning? The same run in fp32 and in bf16, and in fp32 from another seed.

    python -m benchmarks.loss_curves train.en.gz train.de.gz

Weights, dropout and batches of the first two are the same; the third has the same batches, other weights and other
dropout. How far apart two seeds lie is what a difference has to be measured by. Losses go to
`benchmarks/results/loss-curves.json`, the curves to `docs/pictures/loss-curves.svg`.
"""

import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import Annotated

import torch
import typer
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.machine import describe_machine
from benchmarks.multi30k import RESULTS
from limelight.batching.batch import Batch
from limelight.batching.drawing import View
from limelight.batching.stream import BatchStream, Position
from limelight.config import Corpus, RunConfig, override
from limelight.memory import hold_memory_for_work
from limelight.models.families import build_model
from limelight.preparation.pairs import prepare
from limelight.recipes import find_recipe
from limelight.tokens import Tokenizers
from limelight.training.optimization.optimizer import make_optimizer, rate_of, set_rate
from limelight.training.optimization.precision import HalfCopy
from limelight.training.optimization.update import update

PICTURE = Path(__file__).parent.parent / "docs" / "pictures" / "loss-curves.svg"
SMALL = (
    "model.encoder_layers=2", "model.decoder_layers=2", "model.d_model=128", "model.heads=4", "model.d_ff=512",
    "model.dropout=0.1", "tokens.vocabulary_size=2000", "tokens.sampling=0", "batching.tokens=1024",
    "training.warmup=100", "training.learning_rate=0.003",
)  # fmt: skip
RUNS = {"fp32": (1, "fp32"), "bf16": (1, "bf16"), "fp32, another seed": (2, "fp32")}
TOGETHER = 20
"""Updates that a point of the curves is the mean of: single batches differ more than anything that is shown."""


def main(
    source: Annotated[Path, typer.Argument(help="One side of the training text.")],
    target: Annotated[Path, typer.Argument(help="The other side.")],
    updates: Annotated[int, typer.Option(help="Updates of each run.")] = 400,
    out: Annotated[Path, typer.Option(help="Where the result goes.")] = RESULTS / "loss-curves.json",
    picture: Annotated[Path, typer.Option(help="Where the curves go, .svg or .png.")] = PICTURE,
) -> None:
    """Train three times, compare, draw."""
    hold_memory_for_work()
    config = override(find_recipe("small"), SMALL)
    corpus = Corpus(files=(str(source), str(target)))
    config = config.model_copy(update={"data": config.data.model_copy(update={"train": (corpus,)})})
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(config, Path(folder), lambda _: None)
        stream = BatchStream([View(prepared.stores[0])], prepared.tokenizers, tokens=config.batching.tokens, seed=1)
        batches = [batch for batch, _ in islice(stream.batches(Position()), updates)]
    curves = {
        name: learn(config, prepared.tokenizers, batches, seed=seed, precision=precision)
        for name, (seed, precision) in RUNS.items()
    }
    result = {
        "benchmark": "loss curves",
        "command": "python -m benchmarks.loss_curves SOURCE TARGET",
        "machine": describe_machine(),
        "unit": "training loss per target token, label smoothing 0.1, natural logarithm",
        "updates": updates,
        **compare(curves),
        "losses": {name: [round(loss, 5) for loss in losses] for name, losses in curves.items()},
    }
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    draw(curves, picture)
    print(json.dumps({name: value for name, value in result.items() if name != "losses"}, indent=1))


def learn(
    config: RunConfig, tokenizers: Tokenizers, batches: Sequence[Batch], *, seed: int, precision: str
) -> list[float]:
    """The loss of each update, per token."""
    torch.manual_seed(seed)
    model = build_model(config.model, tokenizers).train()
    training = config.training
    optimizer = make_optimizer(
        model, beta1=training.beta1, beta2=training.beta2, epsilon=training.epsilon, weight_decay=training.weight_decay
    )
    half = HalfCopy(model) if precision == "bf16" else None
    losses = []
    for step, batch in enumerate(batches, start=1):
        set_rate(optimizer, rate_of(config, step))
        done = update(
            model if half is None else half.refreshed(), [batch], optimizer,
            label_smoothing=training.label_smoothing, clip_norm=training.clip_norm, interruptible=nullcontext(),
        )  # fmt: skip
        losses.append(done.loss_sum / done.tokens)
    return losses


def compare(curves: dict[str, list[float]]) -> dict[str, object]:
    """What the last quarter comes to, and how far each run is from the first over all points of the curves."""
    smooth = {name: means(losses) for name, losses in curves.items()}
    first, *others = smooth
    return {
        "mean of the last quarter": {
            name: round(statistics.fmean(losses[-len(losses) // 4 :]), 4) for name, losses in curves.items()
        },
        f"mean distance from {first}": {
            name: distance(smooth[name], smooth[first], statistics.fmean) for name in others
        },
        f"largest distance from {first}": {name: distance(smooth[name], smooth[first], max) for name in others},
    }


def distance(one: Sequence[float], other: Sequence[float], among: Callable[[list[float]], float]) -> float:
    """How far two curves are from each other."""
    return round(among([abs(left - right) for left, right in zip(one, other, strict=True)]), 4)


def means(losses: Sequence[float]) -> list[float]:
    """The mean of each `TOGETHER` updates."""
    return [statistics.fmean(losses[first : first + TOGETHER]) for first in range(0, len(losses), TOGETHER)]


def draw(curves: dict[str, list[float]], picture: Path) -> None:
    """The three curves, and below them how far the others are from the first."""
    figure = Figure(figsize=(8, 5.6), layout="constrained")
    FigureCanvasAgg(figure)
    above, below = figure.subplots(2, sharex=True, height_ratios=(3, 2))
    smooth = {name: means(losses) for name, losses in curves.items()}
    first = next(iter(smooth))
    for (name, points), style in zip(smooth.items(), ("-", "--", ":"), strict=True):
        updates = [TOGETHER * (number + 1) for number in range(len(points))]
        above.plot(updates, points, style, label=name)
        below.plot(updates, [point - level for point, level in zip(points, smooth[first], strict=True)], style)
    above.set_ylabel("training loss per piece")
    below.set_ylabel(f"minus {first}")
    below.set_xlabel(f"updates (means of {TOGETHER})")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    above.legend()
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


if __name__ == "__main__":
    typer.run(main)
