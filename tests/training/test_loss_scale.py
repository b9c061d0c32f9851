"""The scale of the loss against torch's own scaler, and that it changes no gradient but its rounding."""

import random

import pytest
import torch

from limelight.training.optimization import precision
from limelight.training.optimization.precision import FIRST, next_scale


def torchs(finite: list[bool], interval: int) -> list[float]:
    """The scale before each update, by `torch.amp.GradScaler`, which works on a CPU as well."""
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=FIRST, growth_interval=interval)
    found = []
    for good in finite:
        found.append(scaler.get_scale())
        scaler.scale(weight.sum()).backward()
        if not good:
            weight.grad.fill_(torch.inf)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return found


def test_it_is_torchs(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the bounds, which torch's has not."""
    monkeypatch.setattr(precision, "GROWTH_INTERVAL", 3)
    monkeypatch.setattr(precision, "MAX_SCALE", float("inf"))
    finite = random.Random(seed).choices([True, False], [5, 1], k=40)
    found, scale, since = [], FIRST, 0
    for good in finite:
        found.append(scale)
        scale, since = next_scale(scale, since, applied=good)
    expected = torchs(finite, 3)
    assert len(set(expected)) > 1
    assert found == expected
