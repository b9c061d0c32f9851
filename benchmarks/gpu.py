"""A GPU at work: training and decoding speed of tiny, base and big, and how often a step waits for the device.

    python -m benchmarks.gpu
    python -m benchmarks.gpu --device cpu --size tiny --seconds 2

The models are the recipes'; the text is made up. Every part runs in a process of its own and for a bounded time. A
part for which no time is left, or which fails, leaves a reason in place of its figures; the whole takes less than 8
minutes.

`eager` trains on batches that are on the device already, `fed` on those of the data path, from the store to the
device, and `compiled` is `eager` with `training.compile`. Floating-point operations are counted as 6 (N_enc + N_dec +
N_out) for each target token and its share of source tokens; what is left out (attention, embeddings, norms, the
optimizer) is small for sentences. The share is that of a large bf16 product on the same device, measured first.
"""

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from benchmarks.common import RESULTS, product_rate, report, table
from limelight.batching.batch import Batch
from limelight.batching.drawing import View
from limelight.batching.ragged import Ragged
from limelight.batching.store import TokenStore
from limelight.batching.stream import BatchStream, Position
from limelight.config import DecodingConfig, TransformerConfig
from limelight.models.families import build_model, choose_device, count_parameters
from limelight.models.interface import Seq2Seq
from limelight.pipelines.translator import Translator
from limelight.recipes import find_recipe
from limelight.tokens import Tokenizers, suggest_vocabulary_size
from limelight.training.distributed import ALONE
from limelight.training.optimization.loss import batch_loss
from limelight.training.optimization.optimizer import make_optimizer, set_rate
from limelight.training.optimization.precision import HALVES, HalfCopy, choose_precision
from limelight.training.optimization.update import Compiled, sample_batch, update
from limelight.training.shares import shares

SIZES = ("tiny", "base", "big")
WHOLE_SECONDS = 460.0
"""All parts together, so that the whole ends within 8 minutes."""
STARTING = {"eager": 25.0, "fed": 25.0, "decoding": 25.0, "compiled": 150.0}
"""Seconds a part may take beside those it measures: importing torch, waking the device, compiling. What comes last is
left out where the time is up."""
WARM_UP, DIFFERENT = 3, 8
CAPTIONS = 29_000


def main(
    size: Annotated[list[str] | None, typer.Option(help=f"Any of {', '.join(SIZES)}; all when not given.")] = None,
    device: Annotated[str, typer.Option(help="cuda, cpu, or auto.")] = "auto",
    seconds: Annotated[float, typer.Option(help="How long each part measures.")] = 10.0,
    way: Annotated[
        list[str] | None,
        typer.Option(help=f"Any of {', '.join(STARTING)}; on a CPU the first three unless named."),
    ] = None,
    tokens: Annotated[int, typer.Option(help="Budget of a training batch; the recipe's when 0.")] = 0,
    results: Annotated[Path, typer.Option(help="Folder for gpu.json.")] = RESULTS,
    alone: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Measure in processes of their own; `--alone` is one of them."""
    where = choose_device(device)
    sizes, ways = size or list(SIZES), way or list(STARTING)[: None if where.type == "cuda" else 3]
    if alone:
        torch.manual_seed(1)
        measure = decoding(sizes[0], where, seconds) if ways[0] == "decoding" else None
        print(json.dumps(measure or training(sizes[0], where, seconds, way=ways[0], tokens=tokens)))
        return
    over = time.monotonic() + WHOLE_SECONDS
    shared = ["--device", where.type, "--seconds", str(seconds), "--tokens", str(tokens), "--alone"]
    found = {
        (name, how): _part(["--size", name, "--way", how, *shared], STARTING[how] + seconds, over)
        for how in ways
        for name in sizes
    }
    printed = "\n\n".join(filter(None, [_training_table(found), _decoding_table(found)]))
    parts = [{"size": name, "way": how, **figures} for (name, how), figures in found.items()]
    report("gpu" if where.type == "cuda" else "gpu-on-cpu", "gpu", printed, folder=results, parts=parts)
    for (name, how), figures in found.items():
        if "failed" in figures:
            print(f"{name}, {how}: {figures['failed']}")


def _part(words: list[str], seconds: float, over: float) -> dict[str, Any]:
    """The figures of a process, or why there are none."""
    left = min(seconds, over - time.monotonic())
    if left < 10:
        return {"failed": "no time was left for it"}
    command = [sys.executable, "-m", "benchmarks.gpu", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=left)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {left:.0f} seconds"}
    except subprocess.CalledProcessError as error:
        return {"failed": " ".join(error.stderr.split()[-40:])}
    return dict(json.loads(done.stdout.splitlines()[-1]))


# --- training ---


def training(size: str, device: torch.device, seconds: float, *, way: str, tokens: int = 0) -> dict[str, Any]:
    """Updates as `limelight train` makes them."""
    recipe = find_recipe(size)
    model, config = _model(size, device)
    ceiling = device_rate(device)
    stream = made_up_stream(tokens or recipe.batching.tokens, model.output_size + 1, 20_000)
    precision = choose_precision("auto", device)
    half = HalfCopy(model, HALVES[precision]) if precision in HALVES else None
    compiled = Compiled(model if half is None else half.refreshed()) if way == "compiled" else None
    began = time.perf_counter()
    if compiled is not None:
        compiled.compile(sample_batch(model).to(device))
    compiling = time.perf_counter() - began
    optimizer = make_optimizer(model)
    set_rate(optimizer, 1e-4)

    def step(batch: Batch) -> Batch:
        computing = model if half is None else half.refreshed()
        update(
            compiled or computing, [batch], optimizer, loss=partial(batch_loss, label_smoothing=0.1), clip_norm=1.0,
            interruptible=nullcontext(), tokens=batch.target_tokens,
        )  # fmt: skip
        return batch

    with closing(stream.plans(Position())) as plans, closing(shares(plans, 1, ALONE, device)) as updates:
        fed = (batch for share in updates for batch in share.batches(device, seed=1, step=0))
        batches = fed if way == "fed" else cycle(list(islice(fed, DIFFERENT)))
        for _ in range(DIFFERENT if way == "compiled" else WARM_UP):
            last = step(next(batches))
        waits = synchronizations(lambda: step(last), device)
        work: list[Batch] = []
        done, took = _repeat(lambda _: work.append(step(next(batches))), seconds, device)
    operations = sum(training_operations(config, model.output_size, batch) for batch in work)
    return {
        "parameters": count_parameters(model),
        "precision": precision,
        "updates": done,
        "seconds_of_compiling": round(compiling, 1),
        "milliseconds_per_update": round(1e3 * took / done, 2),
        "target_tokens_per_second": round(sum(batch.target_tokens for batch in work) / took, 1),
        "tflops": round(operations / took / 1e12, 3),
        "ceiling_tflops": round(ceiling / 1e12, 3),
        "share_of_ceiling": round(operations / took / ceiling, 4),
        "waits_for_the_device": waits,
        "peak_memory_mib": torch.cuda.max_memory_allocated() // 2**20 if device.type == "cuda" else None,
    }


def training_operations(config: TransformerConfig, vocabulary: int, batch: Batch) -> int:
    """Floating-point operations of an update for its real tokens: 6 for each weight of a product that a token meets."""
    square, wide = config.d_model**2, config.d_model * config.d_ff
    memory = config.decoder_layers * 2 * square  # the decoder's keys and values of the source
    encoder = config.encoder_layers * (4 * square + 2 * wide) + memory
    decoder = config.decoder_layers * (6 * square + 2 * wide) + vocabulary * config.d_model
    return 6 * (encoder * int(batch.source_lengths.sum()) + decoder * batch.target_tokens)


def synchronizations(work: Callable[[], object], device: torch.device) -> int | None:
    """How often the host waits for the device meanwhile, as CUDA's own debug mode counts it; None on a CPU."""
    if device.type != "cuda":
        return None
    torch.set_warn_always(True)
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work()
    finally:
        torch.cuda.set_sync_debug_mode("default")
        torch.set_warn_always(False)
    return sum("synchroniz" in str(warning.message) for warning in caught)


# --- decoding ---


def decoding(size: str, device: torch.device, seconds: float) -> dict[str, Any]:
    """Texts through the one way from text to text; the model knows nothing, so most run to their limit."""
    model, _ = _model(size, device)
    words = Words(model.output_size + 1)
    precision = choose_precision("auto", device)
    precision = precision if precision in ("fp32", "bf16") else "fp32"
    settings = DecodingConfig(max_length_factor=1.0, max_length_extra=1)
    translator = Translator(
        model.eval(), Tokenizers(words, words), settings, precision=precision  # type: ignore[arg-type]
    )  # fmt: skip
    rows = 256 if device.type == "cuda" else 8
    store = made_up_stream(1, model.output_size + 1, rows).views[0].store
    texts = [words.decode(store.sources[row].tolist()) for row in range(rows)]
    figures: dict[str, Any] = {"sentences_at_once": rows, "precision": precision}
    for name, beam in (("greedy", 1), ("beam 4", 4)):
        made = 0

        def work(_: int, beam: int = beam) -> None:
            nonlocal made
            found = translator.translate(texts, beam_size=beam, batch_tokens=65_536, lines=True, guards=False)
            made += sum(len(translation.tokens) for translation in found)

        work(0)
        made = 0
        _, took = _repeat(work, seconds / 2, device)
        figures[f"{name}: tokens_per_second"] = round(made / took, 1)
    return figures


# --- what both need ---


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


def made_up_stream(tokens: int, vocabulary: int, pairs: int) -> BatchStream:
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


def _model(size: str, device: torch.device) -> tuple[Seq2Seq, TransformerConfig]:
    recipe = find_recipe(size)
    assert isinstance(recipe.model, TransformerConfig)
    words = Words(recipe.tokens.vocabulary_size or suggest_vocabulary_size(CAPTIONS))
    model = build_model(recipe.model, Tokenizers(words, words))  # type: ignore[arg-type]  # sizes are all it looks at
    return model.to(device).train(), recipe.model


def device_rate(device: torch.device) -> float:
    """Operations per second of a large bf16 product."""
    if device.type != "cuda":
        return product_rate(torch.bfloat16)
    left, right = torch.randn(2, 8192, 8192, device=device).bfloat16()
    done, took = _repeat(lambda _: left @ right, 0.5, device)
    return 2 * 8192**3 * done / took


def _repeat(work: Callable[[int], object], seconds: float, device: torch.device) -> tuple[int, float]:
    """How often the work was done in the seconds it took, which are at least as many as asked for."""
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    begin, done = time.perf_counter(), 0
    while True:
        for _ in range(4 if device.type == "cuda" else 1):  # the device is not waited for after each
            work(done)
            done += 1
        wait()
        if (took := time.perf_counter() - begin) >= seconds:
            return done, took


def _training_table(found: dict[tuple[str, str], dict[str, Any]]) -> str:
    names = ("target_tokens_per_second", "milliseconds_per_update", "tflops", "share_of_ceiling")
    rows = [
        (size, way, *(figures[name] for name in names), figures["waits_for_the_device"], figures["peak_memory_mib"])
        for (size, way), figures in found.items()
        if "updates" in figures
    ]
    head = ["training", "way", "target tokens/s", "ms per update", "TFLOP/s", "of the bf16 rate", "waits", "peak MiB"]
    return table(head, rows) if rows else ""


def _decoding_table(found: dict[tuple[str, str], dict[str, Any]]) -> str:
    names = ("sentences_at_once", "greedy: tokens_per_second", "beam 4: tokens_per_second")
    rows = [
        (size, way, *(figures[name] for name in names)) for (size, way), figures in found.items() if names[0] in figures
    ]
    return table(["decoding", "way", "sentences at once", "greedy, tokens/s", "beam 4, tokens/s"], rows) if rows else ""


if __name__ == "__main__":
    typer.run(main)
