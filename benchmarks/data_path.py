"""The data path of training alone: the computing of a batch is replaced by a wait, as long as an H100 computes one.

    python -m benchmarks.data_path

Batches of 25,000 tokens come from a store through plans, shares and threads, as in `limelight train`; an update has one
batch for each process, and the processes agree on the time as in a run. Reported: updates per second times the wait,
which is 1 if nothing but the wait takes time, for one process and for eight of torchrun on this machine.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer

from benchmarks.common import report, run, table
from limelight.batching.drawing import View
from limelight.batching.ragged import Ragged
from limelight.batching.store import TokenStore
from limelight.batching.stream import BatchStream, Position
from limelight.tokens import Tokenizers
from limelight.training.distributed import joined_group
from limelight.training.shares import shares

WAIT, TOKENS, PAIRS, VOCABULARY = 0.023, 25_000, 200_000, 32_000
WARM_UP, PROCESSES = 5, 8
ROOT = Path(__file__).parents[1]


class Words:
    """A tokenizer for text that is numbers already."""

    def __init__(self, size: int) -> None:
        self.size, self.padding = size, size - 1

    def encode(self, text: str) -> list[int]:
        return [int(word) for word in text.split()]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(map(str, ids))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [str(number) for number in ids]


def made_up_stream(tokens: int = TOKENS, vocabulary: int = VOCABULARY, pairs: int = PAIRS) -> BatchStream:
    """Random ids; sources log-normal around 22 tokens, as in news, targets near them."""
    generator = np.random.default_rng(1)
    sources = np.clip(generator.lognormal(np.log(22), 0.55, pairs), 3, 180).round().astype(np.int64)
    targets = np.clip(sources * generator.lognormal(0.04, 0.18, pairs), 3, 200).round().astype(np.int64)
    sides = [
        Ragged.of_lengths(generator.integers(2, vocabulary - 1, int(side.sum())).astype("<u2"), side)
        for side in (sources, targets)
    ]
    nothing = Ragged(np.zeros(0, np.uint8), np.zeros(pairs + 1, np.int64))
    words = Words(vocabulary)
    tokenizers = Tokenizers(words, words)  # type: ignore[arg-type]
    return BatchStream([View(TokenStore(*sides, nothing, nothing))], tokenizers, tokens=tokens, seed=1)


def measure(seconds: float) -> dict[str, float]:
    """In each process: updates per second after the first few, by the clock of the first process."""
    device = torch.device("cpu")
    with (
        joined_group() as group,
        closing(made_up_stream().plans(Position(), group)) as plans,
        closing(shares(plans, group.size, group, device)) as updates,
    ):
        done, tokens, began, worked, spent, before = -WARM_UP, 0, 0.0, 0.0, 0.0, time.monotonic()
        while done <= 0 or spent < seconds:
            share = next(updates)
            if done == 0:
                began, worked, spent = time.monotonic(), time.process_time(), 0.0
            for _ in share.batches(device, seed=1, step=done + WARM_UP):
                time.sleep(WAIT)
            done += 1
            tokens += share.tokens if done > 0 else 0
            now = time.monotonic()
            if agreed := group.agree(now - began, now - before, 0):
                spent = agreed[0]
            before = now
        work = 1e3 * (time.process_time() - worked) / done
        return {
            "updates_per_second": done / spent,
            "tokens_per_second": tokens / spent,
            "processor_ms_per_update": work,
        }


def main(
    seconds: Annotated[float, typer.Option(help="How long each number of processes is measured.")] = 10.0,
    alone: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Measure one process and eight."""
    if alone:
        figures = measure(seconds)
        if os.environ.get("RANK", "0") == "0":
            print(json.dumps(figures))
        return
    rows, found = [], {}
    for count in (1, PROCESSES):
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"] if count > 1 else []
        command = [sys.executable, *launcher, "-m", "benchmarks.data_path", "--alone", f"--seconds={seconds}"]
        printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
        figures = json.loads(printed.splitlines()[-1])
        found[f"{count} processes"] = figures
        share = figures["updates_per_second"] * WAIT
        rows.append(
            (
                count,
                f"{figures['updates_per_second']:.1f}",
                f"{figures['tokens_per_second']:,.0f}",
                f"{figures['processor_ms_per_update']:.1f}",
                f"{share:.1%}",
            )
        )
    ratio = found[f"{PROCESSES} processes"]["tokens_per_second"] / found["1 processes"]["tokens_per_second"]
    shown = table(
        ["processes", "updates/s", "target tokens/s", "processor ms per update", "of what the wait permits"], rows
    )
    report(
        "data-path",
        "data_path",
        f"{shown}\n\n{PROCESSES} processes: {ratio:.2f} times one",
        **found,
    )


if __name__ == "__main__":
    run(main)
