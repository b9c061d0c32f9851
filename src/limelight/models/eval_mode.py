"""A model is used without being changed: evaluation mode, and the mode it had afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def eval_mode(model: nn.Module) -> Iterator[torch.device]:
    """Within it the model is in evaluation mode (no dropout) and keeps no gradients; yields the model's device.

    Afterwards every module has the mode it had, also where only a part of the model was training.
    """
    training = [module for module in model.modules() if module.training]
    for module in training:  # one by one: of a model that is not training nothing is written, at each sentence
        module.training = False
    try:
        with torch.inference_mode():
            yield device_of(model)
    finally:
        for module in training:
            module.training = True


def device_of(model: nn.Module) -> torch.device:
    """Where a model is; one without parameters is on the CPU."""
    weight = next(model.parameters(), None)
    return torch.device("cpu") if weight is None else weight.device
