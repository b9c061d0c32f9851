"""The loss of a linear layer made in parts, against torch's own over all logits, in float64."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from limelight.config import TransformerConfig
from limelight.models.interface import Seq2Seq
from limelight.training.optimization import loss as cross_entropy
from limelight.training.optimization.loss import batch_loss, linear_cross_entropy
from tests.models.helpers import exact_model, random_batch

ROWS, WIDTH, VOCAB = 23, 7, 31
Inputs = tuple[Tensor, Tensor, Tensor | None, Tensor]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cross_entropy, "ROWS", 5)


def inputs(*, rows: int = ROWS, bias: bool = True, spread: float = 1.0, dtype: torch.dtype = torch.float64) -> Inputs:
    features = (spread * torch.randn(rows, WIDTH)).to(dtype).requires_grad_()
    weight = torch.randn(VOCAB, WIDTH).to(dtype).requires_grad_()
    return (
        features,
        weight,
        torch.randn(VOCAB).to(dtype).requires_grad_() if bias else None,
        torch.randint(VOCAB, (rows,)),
    )


def reference(features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float) -> Tensor:
    logits = functional.linear(features, weight, bias)
    return functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)


def in_parts(features: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float) -> Tensor:
    return linear_cross_entropy(features, weight, bias, targets, label_smoothing=smoothing)


def with_gradients(
    loss: Callable[..., Tensor], given: Inputs, smoothing: float, *, factor: float = 1.0
) -> list[Tensor]:
    leaves = [each for each in given[:3] if each is not None]
    total = loss(*given, smoothing)
    return [total.detach(), *torch.autograd.grad(total * factor, leaves)]


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 5, ROWS])
def test_loss_and_gradients_are_those_over_all_logits(rows: int, bias: bool, smoothing: float, seed: int) -> None:
    given = inputs(rows=rows, bias=bias)
    expected = with_gradients(reference, given, smoothing, factor=0.3)
    for one, other in zip(with_gradients(in_parts, given, smoothing, factor=0.3), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_without_a_gradient_it_is_the_same_loss(smoothing: float, seed: int) -> None:
    given = inputs()
    with torch.no_grad():
        alone = in_parts(*given, smoothing)
    torch.testing.assert_close(alone, in_parts(*given, smoothing).detach())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_probability_too_small_for_a_number_still_has_its_logarithm(
    smoothing: float, dtype: torch.dtype, seed: int
) -> None:
    given = inputs(spread=200.0, dtype=dtype)
    features, weight, bias, targets = (each.double() if each.is_floating_point() else each for each in given)
    logits = functional.linear(features, weight, bias)
    assert (logits.softmax(-1).gather(1, targets[:, None]) < 1e-60).any()
    found, expected = with_gradients(in_parts, given, smoothing), reference(features, weight, bias, targets, smoothing)
    assert found[0].item() == pytest.approx(expected.item(), rel=2e-6 if dtype == torch.float32 else 1e-2)
    assert all(each.isfinite().all() for each in found)


def test_half_precision_has_the_gradient_but_for_rounding(seed: int) -> None:
    half = inputs(rows=211, dtype=torch.bfloat16)
    exact = tuple(each.detach().double().requires_grad_() if each.is_floating_point() else each for each in half)
    found, expected = with_gradients(in_parts, half, 0.1), with_gradients(reference, exact, 0.1)
    assert found[0].dtype == torch.float32
    assert found[0].item() == pytest.approx(expected[0].item(), rel=1e-3)
    for one, other in zip(found[1:], expected[1:], strict=True):
        assert one.dtype == torch.bfloat16
        assert (one.double() - other).norm() < 0.01 * other.norm()


CONFIG = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=11, heads=3, head_size=2, d_ff=13)


@pytest.fixture
def model(seed: int) -> Seq2Seq:
    return exact_model(CONFIG)


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.7])
def test_the_loss_of_a_batch_leaves_padding_out(smoothing: float, model: Seq2Seq) -> None:
    batch = random_batch(model)
    logits, real = model.project(model(batch)), batch.target_valid
    assert not real.all()
    expected = functional.cross_entropy(
        logits[real], batch.target_out[real], reduction="sum", label_smoothing=smoothing
    )
    assert batch_loss(model, batch, label_smoothing=smoothing).item() == pytest.approx(expected.item(), rel=1e-5)
