import pytest
import torch
from torch import nn

from limelight.models.interface import eval_mode


def test_evaluation_mode_without_gradients_inside_and_every_mode_back_after():
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(), nn.Sequential(nn.Dropout()))
    model[2].eval()
    before = [module.training for module in model.modules()]
    with eval_mode(model) as device:
        assert device == torch.device("cpu")
        assert not any(module.training for module in model.modules())
        assert not model(torch.ones(1, 2)).requires_grad
    assert [module.training for module in model.modules()] == before
    assert model(torch.ones(1, 2)).requires_grad


def test_modes_come_back_after_an_error():
    model = nn.Dropout()
    with pytest.raises(RuntimeError), eval_mode(model):
        raise RuntimeError
    assert model.training
