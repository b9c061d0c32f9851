"""Training speed: beside transformers' Marian model, and the step of a recipe as the command runs it.

    python -m benchmarks.training train.en.gz train.de.gz --size small
    python -m benchmarks.training recipe train.en.gz train.de.gz --recipe small

The first builds the same sizes from the same batches of real sentences; each process also measures a large product in
bf16, the rate of the machine. The second reports the share of positions with a real token and the page faults of an
update, with freed memory kept (`limelight.memory`) and handed back.
"""

import json
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import torch
import typer
from torch import nn

from benchmarks.common import Figures, apart, in_turn, medians, product_rate, report, run, table
from limelight.batching.batch import Batch, cut_batches, make_batch
from limelight.batching.drawing import Drawing, View
from limelight.batching.stream import BatchStream, Position
from limelight.config import Corpus, TransformerConfig
from limelight.formats import read_pairs
from limelight.memory import hold_memory_for_work
from limelight.models.families import build_model
from limelight.preparation.pairs import prepare
from limelight.recipes import find_recipe
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.training.optimization.loss import batch_loss
from limelight.training.optimization.optimizer import make_optimizer, set_rate
from limelight.training.optimization.precision import HalfCopy, autocast, choose_precision
from limelight.training.optimization.update import update

CPU = torch.device("cpu")
TOKENS, WARM_UP = 4096, 2
Source = Annotated[Path, typer.Argument(help="One side of the training text.")]
Target = Annotated[Path, typer.Argument(help="The other side.")]
Rounds = Annotated[int, typer.Option(help="Processes of each kind, in turn.", min=1)]
Step = Callable[[Batch], float]


class Size(NamedTuple):
    """What both toolkits build: post-norm, ReLU, three-way tying, dropout 0.1, label smoothing 0.1."""

    layers: int
    d_model: int
    heads: int
    d_ff: int
    vocabulary: int
    updates: int
    """Measured in each process."""


SIZES = {
    "small": Size(layers=3, d_model=256, heads=4, d_ff=1024, vocabulary=8_000, updates=20),
    "base": Size(layers=6, d_model=512, heads=8, d_ff=2048, vocabulary=32_000, updates=4),
}


class Vocabulary(NamedTuple):
    """As much of a tokenizer as building a model takes."""

    size: int

    @property
    def padding(self) -> int:
        return self.size - 1


def peers(
    source: Source,
    target: Target,
    size: Annotated[str, typer.Option(help=f"One of {', '.join(SIZES)}.")] = "small",
    rounds: Rounds = 5,
    alone: Annotated[str, typer.Option(hidden=True)] = "",
    batches: Annotated[Path | None, typer.Option(hidden=True)] = None,
) -> None:
    """Limelight beside transformers."""
    if alone and batches:
        print(json.dumps(timed(SIZES[size], read_batches(batches, SIZES[size]), WAYS[alone](SIZES[size]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batches.json"
        path.write_text(json.dumps(real_batches(source, target)), encoding="utf-8")
        words = ["benchmarks.training", source, target, "--size", size, "--batches", path, "--alone"]
        found = in_turn(WAYS, lambda way: apart(*words, way), rounds)
    speeds = {way: [each["limelight"]["tokens/s"] / each[way]["tokens/s"] for each in found] for way in WAYS}
    ways = medians(found)
    shown = table(
        ["training", "target tokens/s", "of the bf16 rate", "limelight is faster by"],
        [(way, figures["tokens/s"], figures["share"], float(np.median(speeds[way]))) for way, figures in ways.items()],
    )
    command = f"training SOURCE TARGET --size {size} --rounds {rounds}"
    report(f"training-peers-{size}", command, shown, size=SIZES[size]._asdict(), ways=ways)


def recipe(
    source: Source,
    target: Target,
    recipe: Annotated[str, typer.Option(help="Any recipe.")] = "small",
    updates: Annotated[int, typer.Option(help="Updates measured, after five to warm up.")] = 25,
    rounds: Rounds = 5,
    alone: Annotated[str, typer.Option(hidden=True)] = "",
) -> None:
    """The step of a recipe."""
    if alone:
        print(json.dumps(step_of_recipe(source, target, recipe, updates, keep=alone == "keep")))
        return
    words = ["benchmarks.training", "recipe", source, target, "--recipe", recipe, "--updates", updates, "--alone"]
    ways = medians(in_turn(["keep", "hand back"], lambda way: apart(*words, way), rounds))
    shown = table(["freed memory", *ways["keep"]], [(way, *figures.values()) for way, figures in ways.items()])
    command = f"training recipe SOURCE TARGET --recipe {recipe} --rounds {rounds}"
    report(f"training-speed-{recipe}", command, shown, ways=ways)


# --- beside transformers ---


def real_batches(source: Path, target: Path) -> list[tuple[list[list[int]], list[list[int]]]]:
    """Ids of real sentences, in batches as Limelight makes them; the smaller model has all of these ids."""
    pairs = list(read_pairs([source, target]))
    vocabulary = train_tokenizer(
        (text for pair in pairs for text in (pair.source, pair.target)),
        kind="bpe", vocabulary_size=7_900, languages=(), byte_fallback=True, seed=1, sentences=len(pairs),
    )  # fmt: skip
    sides = [[vocabulary.encode(getattr(pair, side)) for pair in pairs] for side in ("source", "target")]
    lengths = [np.array([len(row) + 1 for row in side]) for side in sides]
    cut = cut_batches(*lengths, tokens=TOKENS, generator=np.random.default_rng(1))
    some = max(size.updates for size in SIZES.values()) + WARM_UP
    return [([sides[0][row] for row in rows], [sides[1][row] for row in rows]) for rows in cut[:some]]


def read_batches(path: Path, size: Size) -> list[Batch]:
    """As many as the size measures."""
    padding = size.vocabulary - 1
    return [
        make_batch(sources, targets, source_padding=padding, target_padding=padding)
        for sources, targets in json.loads(path.read_text(encoding="utf-8"))[: size.updates + WARM_UP]
    ]


def timed(size: Size, batches: Sequence[Batch], step: Step) -> Figures:
    """Target tokens per second, and the share of the machine's rate that the model's products make of it."""
    ceiling = product_rate(torch.bfloat16)
    losses = [step(batch) for batch in batches[:WARM_UP]]
    begin = time.perf_counter()
    losses += [step(batch) for batch in batches[WARM_UP:]]
    seconds = time.perf_counter() - begin
    square, wide = size.d_model**2, size.d_model * size.d_ff
    encoder, decoder = size.layers * (6 * square + 2 * wide), size.layers * (6 * square + 2 * wide)
    products = sum(  # of linear layers, for real tokens: 6 for each weight and token
        6 * (int(batch.source_valid.sum()) * encoder + batch.target_tokens * (decoder + size.d_model * size.vocabulary))
        for batch in batches[WARM_UP:]
    )
    tokens = sum(batch.target_tokens for batch in batches[WARM_UP:])
    return {"tokens/s": tokens / seconds, "share": products / seconds / ceiling, "last loss": losses[-1]}


def limelight_step(size: Size) -> Step:
    """The update of `limelight train`."""
    hold_memory_for_work()
    config = TransformerConfig(
        encoder_layers=size.layers, decoder_layers=size.layers, d_model=size.d_model, heads=size.heads,
        d_ff=size.d_ff, dropout=0.1, norm="post",
    )  # fmt: skip
    vocabulary: Any = Vocabulary(size.vocabulary)
    torch.manual_seed(1)
    one_update = updates_of(build_model(config, Tokenizers(vocabulary, vocabulary)), "auto")

    def step(batch: Batch) -> float:
        done = one_update(batch)
        return float(done.loss_sum / done.tokens)

    return step


def updates_of(model: Any, precision: Any) -> Callable[[Batch], Any]:
    """An update of a model by its next batch."""
    optimizer = make_optimizer(model)
    set_rate(optimizer, 1e-4)
    half = HalfCopy(model) if choose_precision(precision, CPU) == "bf16" else None
    options: dict[str, Any] = {
        "loss": partial(batch_loss, label_smoothing=0.1),
        "clip_norm": 1.0,
        "interruptible": nullcontext(),
    }

    def one_update(batch: Batch) -> Any:
        computing = model if half is None else half.refreshed()
        return update(computing, [batch], optimizer, tokens=batch.target_tokens, **options).read()

    return one_update


def transformers_step(size: Size, precision: Any) -> Step:
    """MarianMTModel with the loss of transformers' Seq2SeqTrainer, torch's fused AdamW, gradients clipped."""
    from transformers import MarianConfig, MarianMTModel
    from transformers.trainer_pt_utils import LabelSmoother

    torch.manual_seed(1)
    model: nn.Module = MarianMTModel(
        MarianConfig(
            vocab_size=size.vocabulary, d_model=size.d_model, encoder_layers=size.layers, decoder_layers=size.layers,
            encoder_attention_heads=size.heads, decoder_attention_heads=size.heads, encoder_ffn_dim=size.d_ff,
            decoder_ffn_dim=size.d_ff, activation_function="relu", dropout=0.1, scale_embedding=True,
            pad_token_id=size.vocabulary - 1, decoder_start_token_id=size.vocabulary - 1, eos_token_id=0,
            forced_eos_token_id=None, max_position_embeddings=512,
        )
    ).train()  # fmt: skip
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, weight_decay=0, fused=True)
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
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return float(loss)

    return step


WAYS: dict[str, Callable[[Size], Step]] = {
    "limelight": limelight_step,
    "transformers bf16": lambda size: transformers_step(size, "bf16"),
    "transformers fp32": lambda size: transformers_step(size, "fp32"),
}


# --- a recipe ---


def step_of_recipe(source: Path, target: Path, recipe: str, updates: int, *, keep: bool) -> Figures:
    """Speed, padding and page faults of some updates."""
    if keep:
        hold_memory_for_work()
    config = find_recipe(recipe)
    corpus = Corpus(files=(str(source), str(target)))
    config = config.model_copy(update={"data": config.data.model_copy(update={"train": (corpus,)})})
    with tempfile.TemporaryDirectory() as folder:
        prepared = prepare(config, Path(folder), lambda _: None)
        torch.manual_seed(config.training.seed)
        one_update = updates_of(build_model(config.model, prepared.tokenizers), config.training.precision)
        stream = BatchStream(
            [View(prepared.stores[0])], prepared.tokenizers,
            tokens=config.batching.tokens, seed=1, drawing=Drawing(config.tokens.sampling),
        )  # fmt: skip
        batches = (plan.make() for plan in stream.plans(Position()))
        for batch in islice(batches, 5):
            one_update(batch)
        begin, faults = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        tokens = real = positions = 0
        for batch in islice(batches, updates):
            one_update(batch)
            tokens += batch.target_tokens
            real += int(batch.source_valid.sum()) + batch.target_tokens
            positions += batch.source.numel() + batch.target_in.numel()
    seconds, usage = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
    return {
        "target tokens/s": tokens / seconds,
        "ms per update": 1e3 * seconds / updates,
        "share of real tokens": real / positions,
        "page faults per update": (usage.ru_minflt - faults) / updates,
        "peak memory, MiB": usage.ru_maxrss / 1024,
    }


if __name__ == "__main__":
    run(peers, recipe=recipe)
