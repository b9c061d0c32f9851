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


def fused_attention_by_type() -> dict[str, float]:
    """Training: 180 sentences of 20 pieces, 4 heads of 64, with a padding mask. Why the kernel runs in fp32."""
    may_attend = torch.ones(180, 1, 1, 20, dtype=torch.bool)
    found = {}
    for dtype in (torch.float32, torch.bfloat16):
        heads = [torch.randn(180, 20, 4, 64).to(dtype).transpose(1, 2).requires_grad_() for _ in range(3)]
        gradient = torch.ones(180, 4, 20, 64, dtype=dtype)

        def work(heads: list[torch.Tensor] = heads, gradient: torch.Tensor = gradient) -> None:
            functional.scaled_dot_product_attention(*heads, attn_mask=may_attend).backward(gradient)

        found[f"kernel in {str(dtype).removeprefix('torch.')}"] = median_us(work)
    return found


@torch.inference_mode()
def one_query() -> dict[str, float]:
    """A decoding step: 256 rows, 8 heads, one query over 25 keys. Why `attend` leaves the kernel aside there."""
    query, keys, values = torch.randn(256, 8, 1, 64), torch.randn(256, 8, 25, 64), torch.randn(256, 8, 25, 64)
    return {
        "fused kernel": median_us(lambda: functional.scaled_dot_product_attention(query, keys, values)),
        "two products": median_us(lambda: (query @ keys.transpose(-2, -1)).softmax(-1) @ values),
    }


def dropout() -> dict[str, float]:
    """4,096 positions of 1,024: torch's dropout, and ours with a byte per element."""
    inputs = torch.randn(4096, 1024, requires_grad=True)
    gradient = torch.ones(4096, 1024)
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
        "fused attention, forward and backward": fused_attention_by_type(),
        "attention of one query": one_query(),
        "dropout, forward and backward": dropout(),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "kernels.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
