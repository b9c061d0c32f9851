"""Adam as the textbook has it, and Muon: orthogonal steps for the matrices between layers."""

import math

import pytest
import torch
from torch import nn

from limelight.config import DecoderOnlyConfig, ModelConfig, RecurrentConfig, TrainingConfig, TransformerConfig
from limelight.training.optimization import optimizer as module
from limelight.training.optimization.optimizer import LENGTH, Muon, make_optimizer, orthogonal, set_rate
from tests.models.helpers import make_model

CONFIGS: dict[str, ModelConfig] = {
    "tied": TransformerConfig(encoder_layers=1, decoder_layers=2, d_model=12, heads=2, d_ff=20),
    "untied": TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=12, heads=2, d_ff=20, tie="none"),
    "recurrent": RecurrentConfig(embedding=7, hidden=8, score_size=5),
    "decoder only": DecoderOnlyConfig(layers=1, d_model=12, heads=2, d_ff=20, positions="learned", max_positions=9),
}


@pytest.fixture
def in_fp32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Products without rounding, whatever this machine multiplies."""
    monkeypatch.setattr(module, "multiplies_bf16", lambda _: False)


@pytest.mark.parametrize("shape", [(5, 5), (3, 17), (23, 4), (1, 6)])
def test_singular_values_come_near_one_and_directions_stay(shape: tuple[int, int], seed: int, in_fp32: None) -> None:
    """Against the decomposition itself. Five rounds bring what is above a hundredth of the largest near one."""
    left, _ = torch.linalg.qr(torch.randn(2, shape[0], min(shape), dtype=torch.float64))
    right, _ = torch.linalg.qr(torch.randn(2, shape[1], min(shape), dtype=torch.float64))
    values = torch.rand(2, 1, min(shape), dtype=torch.float64) * 0.9 + 0.1
    found = orthogonal((left * values) @ right.mT)
    inside = left.mT @ found @ right
    assert ((inside.diagonal(dim1=1, dim2=2) > 0.6) & (inside.diagonal(dim1=1, dim2=2) < 1.3)).all()
    torch.testing.assert_close(inside, torch.diag_embed(inside.diagonal(dim1=1, dim2=2)), atol=1e-9, rtol=0)
    torch.testing.assert_close(left @ inside @ right.mT, found, atol=1e-9, rtol=0)


@pytest.mark.parametrize("name", CONFIGS)
def test_rows_of_pieces_and_vectors_are_left_to_adam(name: str, seed: int) -> None:
    """Everything but the matrices between layers goes exactly as with Adam alone."""
    model = make_model(CONFIGS[name])
    start = {key: weight.detach().clone() for key, weight in model.named_parameters()}
    gradients = {key: torch.randn_like(weight) for key, weight in start.items()}
    after = {}
    for kind in ("adam", "muon"):
        for key, weight in model.named_parameters():
            weight.data.copy_(start[key])
            weight.grad = gradients[key].clone()
        optimizer = make_optimizer(model, TrainingConfig(optimizer=kind))
        set_rate(optimizer, 0.01)
        optimizer.step()
        after[kind] = {key: weight.detach().clone() for key, weight in model.named_parameters()}
    other = {key for key in start if not torch.equal(after["adam"][key], after["muon"][key])}
    apart = ("embedding", "positions", "output.")
    matrices = {key for key, weight in start.items() if weight.ndim == 2}
    assert other == {key for key in matrices if not any(word in key for word in apart)}


def test_the_step_of_a_matrix_is_that_of_the_paper(seed: int, in_fp32: None) -> None:
    """Momentum, Nesterov's look ahead, the decay apart from it, and the length that makes one rate do for both."""
    layer = nn.Linear(7, 5, bias=False).double()
    group = [{"params": [layer.weight], "weight_decay": 0.1}]
    optimizer = Muon([layer.weight], group, lr=0.0)
    expected, momentum = layer.weight.detach().clone(), torch.zeros(5, 7, dtype=torch.float64)
    for step in range(1, 5):
        set_rate(optimizer, 0.1 / step)
        gradient = torch.randn(5, 7, dtype=torch.float64)
        layer.weight.grad = gradient.clone()
        optimizer.step()
        momentum = 0.95 * momentum + 0.05 * gradient
        direction = orthogonal((0.05 * gradient + 0.95 * momentum)[None])[0]
        expected = expected * (1 - 0.1 / step * 0.1) - 0.1 / step * LENGTH * math.sqrt(7) * direction
        torch.testing.assert_close(layer.weight.detach(), expected, rtol=1e-9, atol=1e-12)
