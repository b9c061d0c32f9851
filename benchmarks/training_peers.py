"""Training speed beside transformers' Marian model: same sizes, same batches of real sentences, in turn, in one run.

    python -m benchmarks.training_peers train.en.gz train.de.gz --size small

Each way runs in a process of its own, round after round, so that a machine that gets slower gets slower for all. Each
round first measures the machine itself: a large product of matrices in bf16 and in fp32. Figures are medians over the
rounds; ratios are medians of the ratios within a round.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import typer

from benchmarks.machine import describe_machine, product_rate
from benchmarks.multi30k import RESULTS
from limelight.batching.batch import Batch, cut_batches, make_batch
from limelight.config import TransformerConfig
from limelight.formats import read_pairs
from limelight.memory import hold_memory_for_work
from limelight.models.families import build_model
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.training.optimization.optimizer import make_optimizer, set_rate
from limelight.training.optimization.precision import HalfCopy, autocast, choose_precision
from limelight.training.optimization.update import update

CPU = torch.device("cpu")


class Size(NamedTuple):
    """What both toolkits build: post-norm, ReLU, three-way tying, dropout 0.1, label smoothing 0.1."""

    layers: int
    d_model: int
    heads: int
    d_ff: int
    vocabulary: int
    updates: int
    """Measured in each process, after two to warm up."""


SIZES = {
    "small": Size(layers=3, d_model=256, heads=4, d_ff=1024, vocabulary=8_000, updates=20),
    "base": Size(layers=6, d_model=512, heads=8, d_ff=2048, vocabulary=32_000, updates=4),
}
TOKENS = 4096


class Vocabulary(NamedTuple):
    """As much of a tokenizer as building a model takes."""

    size: int

    @property
    def padding(self) -> int:
        return self.size - 1


def main(
    source: Annotated[Path, typer.Argument(help="One side of the training text.")],
    target: Annotated[Path, typer.Argument(help="The other side.")],
    size: Annotated[str, typer.Option(help=f"One of {', '.join(SIZES)}.")] = "small",
    rounds: Annotated[int, typer.Option(help="Processes of each kind, in turn.")] = 5,
    alone: Annotated[str, typer.Option(hidden=True)] = "",
    batches: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Measure in processes of their own; `--alone` is one of them."""
    if alone and batches:
        print(json.dumps(WAYS[alone](SIZES[size], _read(batches, SIZES[size]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "batches.json"
        place.write_text(json.dumps(real_batches(source, target)), encoding="utf-8")
        found = [_round(source, target, size, place) for _ in range(rounds)]
    result = {
        "benchmark": f"training beside transformers, {size}",
        "command": f"python -m benchmarks.training_peers SOURCE TARGET --size {size} --rounds {rounds}",
        "machine": describe_machine(),
        "size": SIZES[size]._asdict(),
        **{way: {name: _median(found, way, name) for name in found[0][way]} for way in found[0]},
        "limelight is faster than": {
            way: round(statistics.median(each["limelight"]["tokens_per_second"] / each[way]["tokens_per_second"]
                                         for each in found), 2)
            for way in WAYS if way.startswith("transformers")
        },
    }  # fmt: skip
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"training-peers-{size}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


def _round(source: Path, target: Path, size: str, batches: Path) -> dict[str, dict[str, float]]:
    found = {}
    for way in WAYS:
        command = [sys.executable, "-m", "benchmarks.training_peers", str(source), str(target), "--size", size]
        command += ["--alone", way, "--batches", str(batches)]
        found[way] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        print(f"{way:18} {found[way]['tokens_per_second']:8,.0f} target tokens/s", file=sys.stderr)
    return found


def _median(found: list[dict[str, dict[str, float]]], way: str, name: str) -> float:
    return statistics.median(each[way][name] for each in found)


def real_batches(source: Path, target: Path) -> list[tuple[list[list[int]], list[list[int]]]]:
    """Ids of real sentences, in batches as Limelight makes them, as many as the longest measurement takes; the smaller
    model has all of these ids."""
    pairs = list(read_pairs([source, target]))
    vocabulary = train_tokenizer(
        (text for pair in pairs for text in (pair.source, pair.target)),
        kind="bpe", vocabulary_size=7_900, languages=(), byte_fallback=True, seed=1, sentences=len(pairs),
    )  # fmt: skip
    sides = [vocabulary.encode_batch([getattr(pair, side) for pair in pairs]) for side in ("source", "target")]
    lengths = [np.array([len(row) + 1 for row in side]) for side in sides]
    cut = cut_batches(*lengths, tokens=TOKENS, generator=np.random.default_rng(1))
    some = max(size.updates for size in SIZES.values()) + WARM_UP
    return [([sides[0][row] for row in rows], [sides[1][row] for row in rows]) for rows in cut[:some]]


WARM_UP = 2


def _read(path: Path, size: Size) -> list[Batch]:
    padding = size.vocabulary - 1
    return [
        make_batch(sources, targets, start=padding, end=0, source_padding=padding, target_padding=padding)
        for sources, targets in json.loads(path.read_text(encoding="utf-8"))[: size.updates + WARM_UP]
    ]


def _timed(size: Size, batches: Sequence[Batch], step: Callable[[Batch], float]) -> dict[str, float]:
    """Target tokens per second, and the share of the machine's rate that the products of the model make of it."""
    ceiling = product_rate(torch.bfloat16)
    losses = [step(batch) for batch in batches[:WARM_UP]]
    begin = time.perf_counter()
    losses += [step(batch) for batch in batches[WARM_UP:]]
    seconds = time.perf_counter() - begin
    pieces = sum(batch.target_tokens for batch in batches[WARM_UP:])
    products = sum(_operations(size, batch) for batch in batches[WARM_UP:])
    return {
        "tokens_per_second": round(pieces / seconds, 1),
        "share_of_bf16_rate": round(products / seconds / ceiling, 3),
        "bf16_gflops": round(ceiling / 1e9),
        "last_loss": round(losses[-1], 3),
    }


def _operations(size: Size, batch: Batch) -> float:
    """Floating-point operations of an update's linear layers for real tokens: 6 for each weight and token."""
    square, wide = size.d_model**2, size.d_model * size.d_ff
    encoder, decoder = size.layers * (4 * square + 2 * wide), size.layers * (6 * square + 2 * wide)
    memory = size.layers * 2 * square  # the decoder's keys and values of the source
    sources, targets = int(batch.source_valid.sum()), batch.target_tokens
    return 6 * (sources * (encoder + memory) + targets * (decoder + size.d_model * size.vocabulary))


def limelight(size: Size, batches: Sequence[Batch]) -> dict[str, float]:
    """The update of `limelight train`."""
    hold_memory_for_work()
    config = TransformerConfig(
        encoder_layers=size.layers, decoder_layers=size.layers, d_model=size.d_model, heads=size.heads,
        d_ff=size.d_ff, dropout=0.1, norm="post",
    )  # fmt: skip
    vocabulary: Any = Vocabulary(size.vocabulary)
    torch.manual_seed(1)
    model = build_model(config, Tokenizers(vocabulary, vocabulary))
    optimizer = make_optimizer(model, beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0.0)
    set_rate(optimizer, 1e-4)
    half = HalfCopy(model) if choose_precision("auto", CPU) == "bf16" else None

    def step(batch: Batch) -> float:
        done = update(
            model if half is None else half.refreshed(), [batch], optimizer, label_smoothing=0.1, clip_norm=1.0,
            interruptible=nullcontext(),
        )  # fmt: skip
        return done.loss_sum / done.tokens

    return _timed(size, batches, step)


def transformers(size: Size, batches: Sequence[Batch], precision: str) -> dict[str, float]:
    """MarianMTModel with the loss of transformers' Seq2SeqTrainer, torch's fused AdamW, gradients clipped."""
    from transformers import MarianConfig, MarianMTModel
    from transformers.trainer_pt_utils import LabelSmoother

    torch.manual_seed(1)
    model = MarianMTModel(
        MarianConfig(
            vocab_size=size.vocabulary, d_model=size.d_model, encoder_layers=size.layers, decoder_layers=size.layers,
            encoder_attention_heads=size.heads, decoder_attention_heads=size.heads, encoder_ffn_dim=size.d_ff,
            decoder_ffn_dim=size.d_ff, activation_function="relu", dropout=0.1, scale_embedding=True,
            pad_token_id=size.vocabulary - 1, decoder_start_token_id=size.vocabulary - 1, eos_token_id=0,
            forced_eos_token_id=None, max_position_embeddings=512,
        )
    )  # fmt: skip
    model.train()
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, fused=True
    )
    smoother = LabelSmoother(epsilon=0.1)

    def step(batch: Batch) -> float:
        labels = batch.target_out.masked_fill(~batch.target_valid, -100)
        optimizer.zero_grad(set_to_none=True)
        with autocast(precision, CPU):
            output = model(
                input_ids=batch.source, attention_mask=batch.source_valid.long(), decoder_input_ids=batch.target_in
            )
            loss = smoother(output, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    return _timed(size, batches, step)


WAYS: dict[str, Callable[[Size, Sequence[Batch]], dict[str, float]]] = {
    "limelight": limelight,
    "transformers bf16": lambda size, batches: transformers(size, batches, "bf16"),
    "transformers fp32": lambda size, batches: transformers(size, batches, "fp32"),
}


if __name__ == "__main__":
    typer.run(main)
