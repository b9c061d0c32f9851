"""The small measurements on which choices in the code rest; each comment that names a figure can be checked here.

    python -m benchmarks.kernels

Medians in microseconds of forward and backward together where a gradient is needed.
"""

import json
import statistics
import time
from collections.abc import Callable
from unittest.mock import patch

import torch
from torch.nn import functional

from benchmarks.machine import describe_machine
from benchmarks.multi30k import RESULTS
from limelight.attention import scaled_dot
from limelight.layers.dropout import Dropout
from limelight.memory import hold_memory_for_work
from limelight.training import cross_entropy
from limelight.training.cross_entropy import linear_cross_entropy

REPEATS = 15


def median_us(work: Callable[[], object], repeats: int = REPEATS) -> float:
    """The median time of a call, after three to warm up."""
    for _ in range(3):
        work()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return round(1e6 * statistics.median(times), 1)


def attention_in_training(length: int) -> dict[str, float]:
    """3,600 positions in sentences of `length`, 4 heads of 64, with a padding mask, bf16 in and out. Why `attend` takes
    products where they are short, and the kernel in fp32 where they are long."""
    rows = 3600 // length
    may_attend = torch.ones(rows, 1, 1, length, dtype=torch.bool)
    heads = [torch.randn(rows, length, 4, 64, dtype=torch.bfloat16).transpose(1, 2).requires_grad_() for _ in range(3)]
    gradient = torch.ones(rows, 4, length, 64, dtype=torch.bfloat16)

    def in_bf16() -> None:
        functional.scaled_dot_product_attention(*heads, attn_mask=may_attend).backward(gradient)

    def in_fp32() -> None:
        wide = [each.float() for each in heads]
        functional.scaled_dot_product_attention(*wide, attn_mask=may_attend).bfloat16().backward(gradient)

    def products() -> None:
        queries, keys, values = heads
        scores = scaled_dot(queries, keys).masked_fill(~may_attend, torch.finfo(torch.bfloat16).min)
        (scores.softmax(-1) @ values).backward(gradient)

    ways = {"kernel in bf16": in_bf16, "kernel in fp32": in_fp32, "two products in bf16": products}
    return {name: median_us(way) for name, way in ways.items()}


@torch.inference_mode()
def one_query() -> dict[str, float]:
    """A decoding step: 256 rows, 8 heads, one query over 25 keys. Why `attend` leaves the kernel aside there."""
    query, keys, values = torch.randn(256, 8, 1, 64), torch.randn(256, 8, 25, 64), torch.randn(256, 8, 25, 64)
    return {
        "fused kernel": median_us(lambda: functional.scaled_dot_product_attention(query, keys, values)),
        "two products": median_us(lambda: (query @ keys.transpose(-2, -1)).softmax(-1) @ values),
    }


def dropout() -> dict[str, float]:
    """4,096 positions of 1,024 in bf16: torch's dropout, and ours with a byte per element."""
    inputs = torch.randn(4096, 1024, dtype=torch.bfloat16, requires_grad=True)
    gradient = torch.ones(4096, 1024, dtype=torch.bfloat16)
    ours = Dropout(0.3)
    return {
        "torch": median_us(lambda: functional.dropout(inputs, 0.3).backward(gradient)),
        "a byte per element": median_us(lambda: ours(inputs).backward(gradient)),
    }


def loss(width: int, vocabulary: int) -> dict[str, float]:
    """Linear layer and cross-entropy of 3,200 pieces in bf16: over all logits, and in parts of so many rows."""
    features = torch.randn(3200, width, dtype=torch.bfloat16, requires_grad=True)
    weight = (torch.randn(vocabulary, width) * width**-0.5).bfloat16().requires_grad_()
    targets = torch.randint(vocabulary, (3200,))

    def at_once() -> None:
        logits = functional.linear(features, weight).float()
        functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=0.1).backward()

    def in_parts(rows: int) -> float:
        with patch.object(cross_entropy, "ROWS", rows):
            return median_us(
                lambda: linear_cross_entropy(features, weight, None, targets, label_smoothing=0.1).backward(), repeats=5
            )

    parts = {f"{rows} rows at a time": in_parts(rows) for rows in (128, 256, 512, 1024, 2048)}
    return {"all logits at once": median_us(at_once, repeats=5), **parts}


def main() -> None:
    """Measure, print, write down."""
    hold_memory_for_work()
    result = {
        "benchmark": "kernels",
        "command": "python -m benchmarks.kernels",
        "unit": "microseconds, medians of 15, of the loss of 5",
        "machine": describe_machine(),
        **{f"attention over {length} positions in training": attention_in_training(length) for length in (20, 60, 240)},
        "attention of one query": one_query(),
        "dropout in training": dropout(),
        "loss, 256 to 8,000 pieces": loss(256, 7_999),
        "loss, 512 to 32,000 pieces": loss(512, 31_999),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "kernels.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
