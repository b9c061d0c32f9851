"""The mean of snapshots, to the last digit single precision has."""

from pathlib import Path

import pytest
import torch

from limelight.errors import UserError
from limelight.storage.weights import save_weights
from limelight.training.checkpoints.keep import average_weights


def test_the_mean_of_each_tensor(seed: int, tmp_path: Path) -> None:
    snapshots = [{"a": torch.randn(3, 5), "b": torch.randn(7)} for _ in range(3)]
    for number, weights in enumerate(snapshots):
        save_weights(tmp_path / str(number), weights)
    mean = average_weights([tmp_path / str(number) for number in range(3)])
    assert set(mean) == {"a", "b"}
    for name, tensor in mean.items():
        expected = sum(weights[name].double() for weights in snapshots) / 3
        assert torch.equal(tensor, expected.float())


def test_small_numbers_are_not_lost_beside_large_ones(tmp_path: Path) -> None:
    """In single precision 1e8 + 1 - 1e8 is 0."""
    for number, value in enumerate((1e8, 1.0, -1e8)):
        save_weights(tmp_path / str(number), {"a": torch.tensor([value])})
    assert average_weights([tmp_path / str(number) for number in range(3)])["a"].item() == pytest.approx(1 / 3)


def test_a_missing_snapshot_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="gone: cannot read the weights"):
        average_weights([tmp_path / "gone"])
