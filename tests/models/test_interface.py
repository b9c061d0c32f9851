"""What callers of any model need: evaluation mode, and what bounds a text before a model reads it."""

import pytest
import torch
from torch import nn

from limelight.errors import UserError
from limelight.layers.embedding import LearnedPositions
from limelight.models.interface import eval_mode, longest_sequence, require_room
from tests.decoding.fakes import random_model


def test_evaluation_mode_without_gradients_inside_and_every_mode_back_after() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(), nn.Sequential(nn.Dropout()))
    model[2].eval()
    before = [module.training for module in model.modules()]
    with eval_mode(model) as device:
        assert device == torch.device("cpu")
        assert not any(module.training for module in model.modules())
        assert not model(torch.ones(1, 2)).requires_grad
    assert [module.training for module in model.modules()] == before
    assert model(torch.ones(1, 2)).requires_grad


def test_the_smallest_table_of_positions_bounds_a_model_and_the_end_counts() -> None:
    free, bound = random_model(1, 5), random_model(1, 5)
    bound.positions = nn.ModuleList([LearnedPositions(4, longest=31), LearnedPositions(4, longest=17)])
    assert (longest_sequence(free), longest_sequence(bound)) == (None, 17)
    require_room([3] * 16, 17, "text 1")
    with pytest.raises(UserError, match=r"text 3 has 18 tokens with its end, .* takes at most 17 .*: split"):
        require_room([3] * 17, 17, "text 3")
