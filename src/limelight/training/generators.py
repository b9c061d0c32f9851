"""What a run draws at random, as tensors: with them back in place the same numbers are drawn again."""

import torch
from torch import Tensor, nn


def generator_states(device: torch.device) -> dict[str, Tensor]:
    """The states of the generators a run on that device draws from: torch's of the CPU, and that of the device.

    No other GPU is asked: torch would start CUDA on it, at each update.
    """
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states[_generator_name(device)] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def restore_generators(states: dict[str, Tensor], device: torch.device) -> None:
    """The way back from `generator_states`. On another kind of device than then its generator stays as it is."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda":
        others = (name for name in states if name.startswith("cuda"))  # the run may have been on another GPU
        name = _generator_name(device) if _generator_name(device) in states else next(others, None)
        if name is not None:
            torch.cuda.set_rng_state(states[name], device)
    elif device.type == "mps" and "mps" in states:
        torch.mps.set_rng_state(states["mps"])


def device_of(model: nn.Module) -> torch.device:
    """Where a model is; one without parameters is on the CPU."""
    weight = next(model.parameters(), None)
    return torch.device("cpu") if weight is None else weight.device


def _generator_name(device: torch.device) -> str:
    return f"cuda:{torch.cuda.current_device() if device.index is None else device.index}"
