"""What bounds a text before a model reads it."""

import pytest
from torch import nn

from limelight.errors import UserError
from limelight.layers.embedding import LearnedPositions
from limelight.models.interface import longest_sequence, require_room
from tests.decoding.fakes import random_model


def test_the_smallest_table_of_positions_bounds_a_model() -> None:
    free = random_model(1, 5)
    assert longest_sequence(free) is None
    bound = random_model(1, 5)
    bound.positions = nn.ModuleList([LearnedPositions(4, longest=31), LearnedPositions(4, longest=17)])
    assert longest_sequence(bound) == 17


def test_room_counts_the_end() -> None:
    require_room([3] * 16, 17, "text 1")
    with pytest.raises(UserError, match=r"text 3 has 18 tokens with its end, .* takes at most 17 .*: split"):
        require_room([3] * 17, 17, "text 3")
