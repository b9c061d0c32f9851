"""Memory grows with the length of a text, not with its square: counted from what every operation returns.

Processes and their peaks are for `benchmarks/memory.py`; here the bytes of each tensor that comes to be, forward and
backward, are written down while a text gets twice as long.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from limelight.attention import attend
from limelight.config import TransformerConfig
from limelight.training.optimization.loss import batch_loss
from limelight.training.optimization.precision import HalfCopy
from tests.models.helpers import batch_of, make_model, random_rows

LENGTHS = (512, 1024)  # above what bf16 takes as two products
SMALL = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 14, "heads": 2, "head_size": 6, "d_ff": 19}
VARIANTS = {"post": {}, "pre": {"norm": "pre"}, "rotary": {"positions": "rotary"}, "learned": {"positions": "learned"}}


class Bytes(TorchDispatchMode):
    """Notes the bytes behind every tensor that an operation makes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        tensors = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        self.seen += [tensor.untyped_storage().nbytes() for tensor in tensors]
        return result


def growth(work: Callable[[int], object]) -> tuple[float, float]:
    """How many times larger the largest tensor gets, and all of them together, when the length doubles."""
    largest, total = [], []
    for length in LENGTHS:
        with Bytes() as made:
            work(length)
        largest.append(max(made.seen))
        total.append(sum(made.seen))
    return largest[1] / largest[0], total[1] / total[0]


def training(precision: str, **settings: object) -> Callable[[int], object]:
    model = make_model(TransformerConfig(**{**SMALL, "dropout": 0.1, "max_positions": LENGTHS[-1], **settings})).train()
    half = HalfCopy(model) if precision == "bf16" else None

    def work(length: int) -> None:
        sources, targets = ([length - 1, short * length // 8 - 1] for short in (7, 5))
        batch = batch_of(model, random_rows(sources, 29), random_rows(targets, 29))
        batch_loss(half.refreshed() if half else model, batch, label_smoothing=0.1).backward()

    return work


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_training_with_masks_and_dropout_makes_nothing_quadratic(variant: str, precision: str, seed: int) -> None:
    largest, total = growth(training(precision, **VARIANTS[variant]))
    assert largest <= 2.01
    assert total <= 2.02  # logits are made in parts, of which there is a whole number


def test_the_measure_sees_what_is_quadratic(seed: int) -> None:
    """Whoever asks for the weights gets them whole."""

    def work(length: int) -> None:
        queries, keys, values = (torch.randn(1, 2, length, 6, requires_grad=True) for _ in range(3))
        may_attend = torch.arange(length) < length - 37
        context, _ = attend(queries, keys, values, may_attend=may_attend, want_weights=True)
        context.sum().backward()

    largest, total = growth(work)
    assert largest == 4.0
    assert total > 3.5
