"""The small measurements on which choices in the code rest; each comment that names a figure can be checked here.

    python -m benchmarks.kernels

Medians in microseconds of forward and backward together where a gradient is needed.
"""

import json
import statistics
import time
from collections.abc import Callable

import torch
from torch.nn import functional

from benchmarks.machine import describe_machine
from benchmarks.multi30k import RESULTS
from limelight.attention import scaled_dot
from limelight.layers.dropout import Dropout

REPEATS = 15


def median_us(work: Callable[[], object]) -> float:
    """The median time of a call, after three to warm up."""
    for _ in range(3):
        work()
    times = []
    for _ in range(REPEATS):
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


def main() -> None:
    """Measure, print, write down."""
    result = {
        "benchmark": "kernels",
        "command": "python -m benchmarks.kernels",
        "unit": "microseconds, medians of 15",
        "machine": describe_machine(),
        **{f"attention over {length} positions in training": attention_in_training(length) for length in (20, 60, 240)},
        "attention of one query": one_query(),
        "dropout in training": dropout(),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "kernels.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
