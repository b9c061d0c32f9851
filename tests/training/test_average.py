"""The mean of snapshots, to the last digit single precision has."""

from pathlib import Path

import torch

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
