"""Looking at a model without changing it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn


@contextmanager
def reading(model: nn.Module) -> Iterator[torch.device]:
    """Within it the model is in evaluation mode (no dropout) and keeps no gradients; yields the model's device.

    Afterwards every module has the mode it had, also where only a part of the model was training.
    """
    modes = [(module, module.training) for module in model.modules()]
    weight = next(model.parameters(), None)
    model.eval()
    try:
        with torch.inference_mode():
            yield torch.device("cpu") if weight is None else weight.device
    finally:
        for module, training in modes:
            module.training = training
