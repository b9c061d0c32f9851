"""It must learn: random sequences copied and reversed, by a small Transformer, by a decoder alone that is given the
source as its prompt, and by each recurrent wiring.

Nothing can be learned by heart: every batch is drawn anew, and the sequences that decide are drawn after training.
Accuracy counts whole sequences, decoded greedily, end included. A model may stop as soon as it is perfect on one draw.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import pytest
import torch

from limelight.config import DecoderOnlyConfig, ModelConfig, RecurrentConfig, TransformerConfig
from limelight.models.interface import Seq2Seq
from limelight.training.optimization.loss import batch_loss
from limelight.training.optimization.optimizer import make_optimizer, set_rate
from limelight.training.optimization.update import update
from tests.decoding.decode import greedy_search
from tests.models.helpers import batch_of, make_model

Task = Callable[[list[int]], list[int]]

VOCABULARY = 13  # ten symbols, end, unknown and padding
ROWS = 64
TASKS: dict[str, Task] = {"copy": lambda row: row, "reverse": lambda row: row[::-1]}

SMALL = {"embedding": 32, "hidden": 48, "dropout": 0.0}
MODELS: dict[str, tuple[ModelConfig, int]] = {
    # Configuration and longest sequence; one fixed vector of 96 numbers holds only a short one.
    "transformer": (
        TransformerConfig(encoder_layers=2, decoder_layers=2, d_model=48, heads=4, d_ff=96, dropout=0.0),
        7,
    ),
    "decoder-only": (
        DecoderOnlyConfig(layers=2, d_model=48, heads=4, d_ff=96, dropout=0.0, norm="pre", positions="rotary"),
        5,
    ),
    "bahdanau": (RecurrentConfig(**SMALL, cell="gru", wiring="bahdanau", score="additive"), 7),
    "luong": (RecurrentConfig(**SMALL, cell="lstm", wiring="luong", score="general"), 7),
    "fixed": (RecurrentConfig(**SMALL, cell="gru", wiring="fixed"), 4),
}

ALWAYS_COPY = ("transformer", "bahdanau")
"""A copy by each other model is part of `make torture`."""


def draw(rows: int, longest: int) -> list[list[int]]:
    """Random sequences of random length."""
    lengths = torch.randint(1, longest + 1, (rows,)).tolist()
    return [torch.randint(2, VOCABULARY - 1, (length,)).tolist() for length in lengths]


def accuracy(model: Seq2Seq, task: Task, longest: int, rows: int = 500) -> float:
    """The share of fresh sequences that come out without any mistake."""
    sources = draw(rows, longest)
    batch = batch_of(model, sources, sources)
    model.eval()
    found = greedy_search(model, batch.source, batch.source_valid, max_lengths=batch.source_valid.sum(1) + 2)
    model.train()
    right = [
        hypothesis.finished and list(hypothesis.ids) == task(source)
        for hypothesis, source in zip(found, sources, strict=True)
    ]
    return sum(right) / rows


def teach(model: Seq2Seq, task: Task, longest: int, *, updates: int, rate: float) -> int:
    """Train on fresh batches until a fresh draw is perfect, at most so many updates; how many there were."""
    optimizer = make_optimizer(model)
    for step in range(1, updates + 1):
        set_rate(optimizer, rate * min(1.0, step / 100) * min(1.0, 2 * (1 - step / (updates + 1))))
        sources = draw(ROWS, longest)
        batch = batch_of(model, sources, [task(source) for source in sources])
        update(
            model,
            [batch],
            optimizer,
            loss=partial(batch_loss, label_smoothing=0.0),
            clip_norm=1.0,
            interruptible=nullcontext(),
            tokens=batch.target_tokens,
        )
        if step % 100 == 0 and accuracy(model, task, longest) == 1.0:
            return step
    return updates


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", MODELS)
def test_it_learns(name: str, task: str, seed: int, request: pytest.FixtureRequest) -> None:
    if task == "copy" and name not in ALWAYS_COPY and not request.config.getoption("--torture"):
        pytest.skip("only with --torture: reversing is learned, too")
    config, longest = MODELS[name]
    model = make_model(config, VOCABULARY, VOCABULARY)
    updates = teach(model, TASKS[task], longest, updates=2500, rate=3e-3)
    reached = accuracy(model, TASKS[task], longest)
    print(f"{name} {task}: {reached:.1%} of 500 sequences after {updates} updates")
    assert reached >= 0.98
