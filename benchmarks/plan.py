"""Past this machine: what limits training and translating at 1, 8, 64 and 1,024 GPUs and at 10^8 and 10^10 lines.

    python -m benchmarks.plan

Nothing is measured here. The tables follow by arithmetic from the parts below, each measured by a benchmark of this
repository on a CPU, or assumed, as all that is said of GPUs and networks: none was at hand. docs/scale.md has the same
tables; a test holds them equal.
"""

import torch

from benchmarks.output import table
from limelight.models.families import build_model, count_parameters
from limelight.recipes import find_recipe
from limelight.tokens import Tokenizers

GPUS = (1, 8, 64, 1024)
OF_A_MACHINE = 8

# --- measured (docs/corpus.md: Intel Xeon, AVX-512, bf16, 2 virtual cores; docs/performance.md) ---
DRAWN = 75_000
"""Tokens that one process draws in a second: 50,000 to 100,000 (docs/performance.md)."""
DRAWERS = 8
"""Such processes of each rank (`training.data_workers`)."""
LINES_OF_A_CORE = 163.0
"""Lines that one of two workers of one thread translates in a second, loading the model included."""
LINES_OF_A_DRIVER = 29_000.0
"""Lines that a driver reads, divides and writes in a second when translating costs nothing, on the same machine."""
BYTES_OF_A_LINE = 70
"""Of text and translation together, as in the corpus that was measured."""

# --- assumed ---
RATE = 0.4 * 989e12
"""Operations per second of an H100: 40 % of its bf16 rate, the aim of benchmarks/gpu.py."""
WITHIN = 450e9
"""Bytes per second between GPUs of a machine, in one direction (NVLink of an H100)."""
BETWEEN = 50e9
"""The same between machines: 400 Gbit/s."""
TOKENS = 25_000
"""Target tokens of a batch, as in `base`."""
MAX_TOKENS = 1_000_000
"""Target tokens of an update, beyond which more bring little: Ott et al. 2018 trained with 400,000."""
VOCABULARY = 32_000


class Words:
    """As much of a tokenizer as building a model needs."""

    size, padding = VOCABULARY, VOCABULARY - 1


def parameters(recipe: str) -> int:
    """Of a recipe with a vocabulary of 32,000."""
    with torch.device("meta"):
        both = Words()
        return count_parameters(build_model(find_recipe(recipe).model, Tokenizers(both, both)))  # type: ignore[arg-type]


def exchange(count: int, gpus: int) -> float:
    """Seconds of summing the gradients of so many parameters in fp32: a ring moves 2 (W - 1) / W of them through the
    slowest link, which between machines is the network."""
    if gpus == 1:
        return 0.0
    return 2 * (gpus - 1) / gpus * 4 * count / (WITHIN if gpus <= OF_A_MACHINE else BETWEEN)


def training(recipe: str) -> str:
    """A row for each number of GPUs."""
    count = parameters(recipe)
    of_one = RATE / (6 * count)
    rows = []
    for gpus in GPUS:
        tokens = min(TOKENS * gpus, MAX_TOKENS)
        computing, summing = tokens / gpus / of_one, exchange(count, gpus)
        rate = tokens / (computing + summing)
        drawing = DRAWN * DRAWERS
        limit = "drawing" if drawing < rate else "the exchange" if summing > computing else "computing"
        rows.append(
            (gpus, tokens, 1e3 * computing, 1e3 * summing, computing / (computing + summing), rate, min(rate, drawing),
             limit)
        )  # fmt: skip
    head = (f"GPUs, `{recipe}` ({count / 1e6:.0f} M)", "tokens of an update", "computing, ms", "exchange, ms",
            "share of computing", "tokens/s without drawing", "tokens/s", "limit")  # fmt: skip
    return table(head, rows)


def translating() -> str:
    """A row for each size of a corpus and number of cores."""
    rows = []
    for exponent in (8, 10):
        lines = 10**exponent
        for cores in (8, 64, 1024):
            rate = cores * LINES_OF_A_CORE
            drivers = max(1, -(-int(rate) // int(LINES_OF_A_DRIVER)))
            rows.append(
                (f"10^{exponent}", cores, rate, lines / rate / 86_400, lines / LINES_OF_A_CORE / 3600, drivers,
                 lines * BYTES_OF_A_LINE / 1e9)
            )  # fmt: skip
    head = ("lines", "cores", "lines/s", "days", "core-hours", "drivers (`--shard`)", "GB of text")
    return table(head, rows)


def printed() -> str:
    """All tables, as they stand in docs/scale.md."""
    return "\n\n".join([*(training(recipe) for recipe in ("base", "big")), translating()])


if __name__ == "__main__":
    print(printed())
