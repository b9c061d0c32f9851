"""The small measurements on which choices in the code rest; each comment that names a figure can be checked here.

    python -m benchmarks.kernels

Medians in microseconds of forward and backward together where a gradient is needed. What belongs to decoding is
measured in one thread, as each of several workers has one.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import torch
from torch.nn import functional

from benchmarks.machine import describe_machine
from benchmarks.multi30k import RESULTS
from limelight.attention import attend, scaled_dot
from limelight.decoding import top
from limelight.inference import linear as layers
from limelight.inference.cpu.attention import attend_past, attend_source
from limelight.inference.cpu.best_tokens import Int8Ranking
from limelight.inference.cpu.int8 import multiply
from limelight.inference.linear import Bf16Linear, Fp32Linear, TorchInt8Linear, linear_of
from limelight.layers.feed_forward import Dropout
from limelight.memory import hold_memory_for_work
from limelight.models.interface import Active
from limelight.training.optimization import loss as cross_entropy
from limelight.training.optimization.loss import linear_cross_entropy

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


@contextmanager
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def lineage(sentences: int, width: int, past: int, room: int) -> np.ndarray:
    """Which hypothesis each one was at each position, after random choices of parents: soon they share their past."""
    random = np.random.default_rng(1)
    ancestors = np.zeros((sentences, width, room), dtype=np.int64)
    for place in range(past):
        ancestors[:, :, place] = np.arange(width)
        ancestors = np.take_along_axis(ancestors, random.integers(width, size=(sentences, width, 1)), axis=1)
    return ancestors


@torch.inference_mode()
def own_past(past: int) -> dict[str, float]:
    """A decoding step: 64 sentences with 4 hypotheses each, 8 heads of 64, so many positions before. The loops look up
    each hypothesis' own past; products compare with all that its sentence has, or with copies of its own."""
    joint, stored = (torch.randn(shape).numpy() for shape in ((256, 3 * 8 * 64), (2, 64, 4, 64, 8, 64)))
    ancestors, ages, context = lineage(64, 4, past, room=64), np.full(64, past), np.empty((256, 8, 64), np.float32)
    firsts = Active.of(np.full(64, 4)).firsts
    queries, single, parents = torch.randn(64, 8, 4, 64), torch.randn(256, 8, 1, 64), torch.randperm(256)
    copied = torch.randn(2, 256, 8, past + 1, 64)

    def products(columns: int) -> float:
        kept, bias = torch.randn(2, 64, 8, columns, 64), torch.zeros(64, 1, 4, columns)
        return median_us(lambda: attend(queries, *kept, bias=bias))

    seen = max(sum(len(set(place)) for place in sentence.T[:past].tolist()) for sentence in ancestors)
    return {
        "compiled loops": median_us(lambda: attend_past(joint, firsts, *stored, ancestors, ages, context)),
        "products with the columns that are seen": products(seen + 4),
        "products with all columns": products(4 * (past + 1)),
        "products with copies": median_us(lambda: attend(single, *copied[:, parents])),
        "products alone": median_us(lambda: attend(single, *copied)),
    }


@torch.inference_mode()
def own_source(length: int) -> dict[str, float]:
    """The same step: sources of at most so many positions, two thirds of them on average, as they stand in batches."""
    lengths = np.random.default_rng(1).integers(length // 3, length + 1, size=64)
    queries, memory = torch.randn(64, 4, 8, 64), torch.randn(2, 64, length, 8, 64)
    rows, firsts = queries.flatten(0, 1).numpy(), Active.of(np.full(64, 4)).firsts
    context = np.empty_like(rows)
    padded = torch.arange(length) >= torch.from_numpy(lengths)[:, None]
    bias = torch.zeros(64, 1, 1, length).masked_fill_(padded[:, None, None], -1e30)
    apart, keys, values = queries.transpose(1, 2).contiguous(), *memory.transpose(2, 3).contiguous()
    upright = keys.transpose(-1, -2).contiguous().transpose(-1, -2)
    return {
        "compiled loops": median_us(lambda: attend_source(rows, firsts, *memory.numpy(), lengths, context)),
        "products": median_us(lambda: attend(apart, upright, values, bias=bias)),
    }


@torch.inference_mode()
def linear(rows: int, outputs: int) -> dict[str, float]:
    """512 to so many outputs, in the precisions of decoding; int8 as it is chosen, and by each of torch's libraries."""
    weight, inputs = torch.randn(outputs, 512) / 23, torch.randn(rows, 512)
    made = {
        "fp32": Fp32Linear(weight, None),
        "bf16": Bf16Linear(weight, None),
        "int8": linear_of("int8")(weight, None),
    }
    times = {name: median_us(lambda layer=layer: layer(inputs)) for name, layer in made.items()}
    for engine in layers.int8_engines():
        with patch.object(layers, "int8_engines", lambda engine=engine: [engine]):
            layer = TorchInt8Linear(weight, None)
        times[f"int8 by {engine}"] = median_us(lambda layer=layer: layer(inputs))
    return times


@torch.inference_mode()
def int8_product(inputs: int, outputs: int) -> dict[str, float]:
    """A product of the bundled model, for several numbers of rows."""
    layer = linear_of("int8")(torch.randn(outputs, inputs) / 16, None).packed
    times = {}
    for rows in (1, 4, 5, 20, 128):
        given, found = torch.randn(rows, inputs).numpy(), np.empty((rows, outputs), np.float32)
        times[f"{rows} rows"] = median_us(lambda given=given, found=found: multiply(given, layer, found), repeats=41)
    return times


@torch.inference_mode()
def best_of_many() -> dict[str, float]:
    """The best 5 of 4 hypotheses' 32,000 continuations, for 64 sentences; and what it takes to normalize them."""
    logits, before, active = torch.randn(256, 32_000), torch.randn(256), Active.of(np.full(64, 4))
    return {
        "in blocks": median_us(lambda: top.best_continuations(logits, before, active, 4)),
        "torch.topk": median_us(lambda: (logits + before[:, None]).view(64, -1).topk(5, dim=-1)),
        "log softmax": median_us(lambda: logits.log_softmax(dim=-1)),
        "log softmax in place": median_us(lambda: torch.log_softmax(logits, dim=-1, out=logits)),
    }


@torch.inference_mode()
def output_layer(sentences: int) -> dict[str, float]:
    """The best 9 of 4 hypotheses' 12,000 continuations after 256 features, in int8: by a table of all log-probabilities
    and without it."""
    features, before, active = (
        torch.randn(4 * sentences, 256),
        torch.randn(4 * sentences),
        Active.of(np.full(sentences, 4)),
    )
    layer = linear_of("int8")(torch.randn(12_000, 256) / 16, None)
    return {
        "product": median_us(lambda: layer(features)),
        "with a table": median_us(lambda: top.best_continuations(top.normalized(layer(features)), before, active, 8)),
        "without": median_us(lambda: top.best_continuations(Int8Ranking(features, layer.packed), before, active, 8)),
    }


def decoding() -> dict[str, dict[str, float]]:
    """What a step of decoding consists of, in one thread."""
    with one_thread():
        return {
            **{f"attention to {past} positions before": own_past(past) for past in (10, 40)},
            **{f"attention to sources of up to {length}": own_source(length) for length in (16, 48)},
            **{
                f"linear layer, {rows} rows of 512 to {outputs:,}": linear(rows, outputs)
                for outputs in (2_048, 32_000)
                for rows in (1, 4, 64, 256)
            },
            **{
                f"int8 product, {inputs} to {outputs:,}": int8_product(inputs, outputs)
                for inputs, outputs in ((256, 256), (256, 768), (256, 1_024), (1_024, 256), (256, 12_000))
            },
            "best continuations": best_of_many(),
            **{f"output layer in int8, {count} sentences": output_layer(count) for count in (1, 32)},
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
    """Linear layer and cross-entropy of 3,200 tokens in bf16: over all logits, and in parts of so many rows."""
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
        **decoding(),
        "dropout in training": dropout(),
        "loss, 256 to 8,000 pieces": loss(256, 7_999),
        "loss, 512 to 32,000 pieces": loss(512, 31_999),
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "kernels.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
