"""Memory by length: how much a process grows at its peak while it works on texts of 512 to 8,192 tokens.

    python -m benchmarks.memory

Every figure is taken in a process of its own: the highest resident memory during the work less the resident memory
before it, when the model is there and has worked once on a short text; up to 4,096 tokens the median of three. What
grows with the length doubles with it, what grows with its square becomes four times as much. Freed memory goes back as
the system has it: the commands keep it (`limelight.memory`), and how large the holes are that they then keep as well is
a matter of chance.

A Transformer of 8 heads x 64 (2 + 2 layers, d_ff 2,048, 8,000 tokens, dropout 0.1) gets two rows, of which one is an
eighth shorter: masks and dropout are at work. Beside it stands attention alone, one row forward and backward: ours,
torch's kernel with dropout on the weights, and the equation as it is written, which holds all of them.
"""

import gc
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Annotated

import torch
import typer
from torch import Tensor
from torch.nn import functional

from benchmarks.common import apart, report, run, table
from benchmarks.training import Vocabulary
from limelight.attention import attend
from limelight.batching.batch import Batch, make_batch
from limelight.config import TransformerConfig
from limelight.models.families import build_model
from limelight.models.interface import Seq2Seq
from limelight.tokens import Tokenizers
from limelight.training.optimization.loss import batch_loss
from limelight.training.optimization.precision import HalfCopy, choose_precision

LENGTHS = (512, 1024, 2048, 4096, 8192)
HEADS, HEAD_SIZE, VOCABULARY = 8, 64, 8_000
AIM = 2.3
"""The most that twice the length may take."""
MOST = 24 * 2**30
SURE = 4096
CPU = torch.device("cpu")


def main(
    longest: Annotated[int, typer.Option(help="Leave out lengths above it.")] = LENGTHS[-1],
    rounds: Annotated[int, typer.Option(help="Processes for each figure.", min=1)] = 3,
    alone: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """Measure in processes of their own; `--alone WHAT:LENGTH` is one of them."""
    if alone:
        what, length = alone.rsplit(":", 1)
        print(measure(WORK[what], int(length)))
        return
    lengths = [length for length in LENGTHS if length <= longest]
    mib = {what: {length: peak(what, length, rounds) for length in lengths} for what in WORK}
    rows = []
    for what, found in mib.items():
        ratios = [here / half for length, here in found.items() if here and (half := found.get(length // 2))]
        rows.append((what, *found.values(), max(ratios, default=None)))
    shown = table(["peak MiB at", *(f"{length:,}" for length in lengths), "largest ratio"], rows)
    report("memory", "memory", shown, aim=f"at most {AIM} times for twice the length", mib=mib)


def measure(prepare: Callable[[], Callable[[int], object]], length: int) -> float:
    """MiB that this process grows by at its peak while it works on texts of that length."""
    torch.manual_seed(1)
    work = prepare()
    work(16)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the highest mark begins anew
    before = resident("VmRSS")
    work(length)
    return round((resident("VmHWM") - before) / 1024, 1)


def resident(field: str) -> int:
    """KiB of this process."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{field}:"))


def peak(what: str, length: int, rounds: int) -> float | None:
    """None where the weights of attention, held whole with what their gradient takes, would not fit."""
    if what in QUADRATIC and 8 * HEADS * length**2 * 4 > min(MOST, _available()):
        print(f"{what}, {length}: left out, it would not fit into memory", file=sys.stderr)
        return None
    # Where the heap begins differs from process to process, and with it what fits: a few MiB, which matter to few.
    again = rounds if length <= SURE and what not in QUADRATIC else 1
    return float(median(apart("benchmarks.memory", "--alone", f"{what}:{length}") for _ in range(again)))


def _available() -> int:
    """Bytes that the machine has left."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))


# --- a model at work ---


def _model() -> tuple[Seq2Seq, Callable[[int], Batch]]:
    config = TransformerConfig(encoder_layers=2, decoder_layers=2, d_model=HEADS * HEAD_SIZE, heads=HEADS, dropout=0.1)
    pieces = Vocabulary(VOCABULARY)
    model = build_model(config, Tokenizers(pieces, pieces))  # sizes are all it looks at

    def batch(length: int) -> Batch:
        rows = [torch.randint(2, VOCABULARY - 1, (size - 1,)).numpy() for size in (length, length - length // 8)]
        padding = pieces.padding
        return make_batch(rows, rows, source_padding=padding, target_padding=padding)

    return model.train(), batch


def training() -> Callable[[int], object]:
    """Forward and backward as an update does them."""
    model, batch = _model()
    half = HalfCopy(model) if choose_precision("auto", CPU) == "bf16" else None

    def work(length: int) -> None:
        computing = model if half is None else half.refreshed()
        batch_loss(computing, batch(length), label_smoothing=0.1).backward()

    return work


def scoring() -> Callable[[int], object]:
    """The loss of given translations, without gradients."""
    model, batch = _model()

    @torch.inference_mode()
    def work(length: int) -> None:
        batch_loss(model.eval(), batch(length), label_smoothing=0.0)

    return work


def encoding() -> Callable[[int], object]:
    """The encoder alone, as before a search."""
    model, batch = _model()

    @torch.inference_mode()
    def work(length: int) -> None:
        given = batch(length)
        model.eval().encode(given.source, given.source_valid)

    return work


# --- attention alone ---


def _attention(context: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> Callable[[int], object]:
    def work(length: int) -> None:
        queries, keys, values = (torch.randn(1, HEADS, length, HEAD_SIZE, requires_grad=True) for _ in range(3))
        may_attend = torch.ones(1, 1, 1, length, dtype=torch.bool)
        may_attend[..., -(length // 8) :] = False
        context(queries, keys, values, may_attend).sum().backward()

    return work


def ours() -> Callable[[int], object]:
    """`attend`, as the models call it."""
    return _attention(lambda queries, keys, values, allowed: attend(queries, keys, values, may_attend=allowed)[0])


def kernel_with_dropout() -> Callable[[int], object]:
    """torch's fused kernel, asked to drop weights as well."""
    return _attention(
        lambda queries, keys, values, allowed: functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=allowed, dropout_p=0.1
        )
    )


def naive() -> Callable[[int], object]:
    """softmax(Q K^T / sqrt(d_k)) V as it stands, and nothing else."""

    def context(queries: Tensor, keys: Tensor, values: Tensor, allowed: Tensor) -> Tensor:
        scores = queries @ keys.transpose(-2, -1) * HEAD_SIZE**-0.5
        return scores.masked_fill(~allowed, torch.finfo(scores.dtype).min).softmax(dim=-1) @ values

    return _attention(context)


WORK: dict[str, Callable[[], Callable[[int], object]]] = {
    "training, 2 rows": training,
    "scoring, 2 rows": scoring,
    "encoding, 2 rows": encoding,
    "attention": ours,
    "attention: kernel with dropout on weights": kernel_with_dropout,
    "attention: the equation as it stands": naive,
}
QUADRATIC = ("attention: kernel with dropout on weights", "attention: the equation as it stands")


if __name__ == "__main__":
    run(main)
