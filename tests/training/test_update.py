"""One update: the gradient of all its batches together, clipped, through Adam as the paper has it."""

import math
from contextlib import contextmanager, nullcontext
from functools import partial

import pytest
import torch
from torch import Tensor

from limelight.config import TransformerConfig
from limelight.models.interface import Seq2Seq
from limelight.training.optimization.loss import batch_loss
from limelight.training.optimization.optimizer import make_optimizer, set_rate
from limelight.training.optimization.update import UpdateResult, update
from tests.models.helpers import batch_of, exact_model, random_batch, random_rows

CONFIG = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=11, heads=3, head_size=2, d_ff=13)


@pytest.fixture
def model(seed: int) -> Seq2Seq:
    return exact_model(CONFIG)


def batches(model: Seq2Seq, *sizes: int) -> list:
    """One batch of each size; every source has five tokens, every target three and its end."""
    return [random_batch(model, [5] * size, [3] * size) for size in sizes]


def run(model: Seq2Seq, micro: list, optimizer: torch.optim.Optimizer, **changed: object) -> UpdateResult:
    settings = {"loss": partial(batch_loss, label_smoothing=0.1), "clip_norm": 0.0, "interruptible": nullcontext()}
    tokens = sum(batch.target_tokens for batch in micro)
    return update(model, micro, optimizer, **{**settings, "tokens": tokens, **changed}).read()


def gradients(model: Seq2Seq) -> list[Tensor]:
    return [parameter.grad.clone() for parameter in model.parameters()]


def test_accumulated_batches_make_the_gradient_of_one_big_batch(model: Seq2Seq) -> None:
    sources = random_rows((5, 2, 7, 1, 3), model.source_padding + 1)
    targets = random_rows((1, 6, 2, 4, 0), model.target_padding + 1)
    still = torch.optim.SGD(model.parameters(), lr=0.0, fused=True)
    whole = run(model, [batch_of(model, sources, targets)], still)
    expected = gradients(model)
    parts = [batch_of(model, sources[first:last], targets[first:last]) for first, last in ((0, 2), (2, 3), (3, 5))]
    found = run(model, parts, still)
    assert (found.tokens, found.loss_sum) == (whole.tokens, pytest.approx(whole.loss_sum, rel=1e-5))
    assert found.tokens == sum(len(target) + 1 for target in targets)
    for one, other in zip(gradients(model), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("share", [0.25, 1.0, 4.0])
def test_a_gradient_is_clipped_to_its_limit_and_reported_as_it_was(share: float, model: Seq2Seq) -> None:
    micro = batches(model, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0, fused=True)
    norm = run(model, micro, optimizer).gradient_norm
    assert norm == pytest.approx(math.sqrt(sum(each.square().sum().item() for each in gradients(model))))
    result = run(model, micro, optimizer, clip_norm=norm * share)
    assert result.gradient_norm == pytest.approx(norm)
    clipped = math.sqrt(sum(each.square().sum().item() for each in gradients(model)))
    assert clipped == pytest.approx(min(norm, norm * share), rel=1e-4)


@pytest.mark.parametrize("clip_norm", [0.0, 1.0])
@pytest.mark.parametrize(
    ("where", "bad"),
    [("loss", math.nan), ("loss", math.inf), ("gradient", math.nan), ("gradient", -math.inf), ("norm", 1e38)],
)
def test_numbers_that_are_not_finite_change_nothing(bad: float, where: str, clip_norm: float, model: Seq2Seq) -> None:
    """Nor a norm whose square overflows in fp32, which this model does not compute in: where it is not clipped."""
    optimizer = make_optimizer(model)
    set_rate(optimizer, 0.01)
    assert run(model, batches(model, 2), optimizer, clip_norm=1.0).applied
    weights = [parameter.clone() for parameter in model.parameters()]
    moments = {key: {name: value.clone() for name, value in state.items()} for key, state in optimizer.state.items()}

    if where == "loss":
        changed = {"loss": lambda *given: batch_loss(*given, label_smoothing=0.1) * 0 + bad}
    else:
        changed = {}
        next(model.parameters()).register_hook(lambda gradient: gradient + bad)
    result = run(model, batches(model, 2), optimizer, clip_norm=clip_norm, **changed)
    if where == "norm" and clip_norm:
        assert result.applied
        return
    assert not result.applied
    assert all(torch.equal(one, other) for one, other in zip(weights, model.parameters(), strict=True))
    for key, state in optimizer.state.items():
        assert all(torch.equal(value, moments[key][name]) for name, value in state.items())


def test_what_interrupts_comes_before_the_weights_change(model: Seq2Seq) -> None:
    @contextmanager
    def interrupted():
        yield
        raise KeyboardInterrupt

    optimizer = make_optimizer(model)
    set_rate(optimizer, 0.01)
    before = [parameter.clone() for parameter in model.parameters()]
    with pytest.raises(KeyboardInterrupt):
        run(model, batches(model, 2), optimizer, interruptible=interrupted())
    assert all(torch.equal(one, other) for one, other in zip(before, model.parameters(), strict=True))
    assert not optimizer.state


@pytest.mark.parametrize("scale", [2.0**16, 0.25])
def test_a_scaled_loss_has_the_same_gradient(model: Seq2Seq, scale: float) -> None:
    """A power of two rounds nothing; norm, clipping and the figures that are told know nothing of it."""
    micro, still = batches(model, 2, 3), torch.optim.SGD(model.parameters(), lr=0.0, fused=True)
    expected = run(model, micro, still, clip_norm=0.01)
    gradient = gradients(model)
    assert run(model, micro, still, clip_norm=0.01, loss_scale=scale) == expected
    for one, other in zip(gradients(model), gradient, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=0)
