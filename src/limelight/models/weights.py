"""A model's weights as a safetensors file: names and numbers, nothing that could run."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from limelight.errors import RunError, UserError
from limelight.files import write_whole


def named_weights(model: nn.Module) -> dict[str, Tensor]:
    """Every trained tensor by name, on the CPU; one that is shared stands under its first name alone."""
    return {name: parameter.detach().cpu() for name, parameter in model.named_parameters()}


def save_weights(path: Path, weights: Mapping[str, Tensor], notes: Mapping[str, str] | None = None) -> None:
    """Write the tensors; `notes` are kept in the file's header.

    Raises `RunError` naming path and cause when that fails; what had the name before still has it.
    """
    contiguous = {name: tensor.contiguous() for name, tensor in weights.items()}
    try:
        write_whole(path, save(contiguous, metadata={"format": "pt", **(notes or {})}))
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path}: cannot write the weights: {error}; the file before it is untouched") from error


def read_weights(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and notes of a file. Raises `UserError` naming the file when it is missing or damaged."""
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path}: cannot read the weights: {error}") from None


def put_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Copy the tensors into a model. Raises `UserError` that lists all that is missing, left over or different."""
    parameters = dict(model.named_parameters())
    faults = [f"missing {name}" for name in parameters if name not in weights]
    faults += [f"unknown {name}" for name in weights if name not in parameters]
    faults += [
        f"{name} is {tuple(weights[name].shape)}, expected {tuple(parameter.shape)}"
        for name, parameter in parameters.items()
        if name in weights and weights[name].shape != parameter.shape
    ]
    faults += [
        f"{name} holds {tensor.dtype}, no weights" for name, tensor in weights.items() if not tensor.is_floating_point()
    ]
    if faults:
        shown = "; ".join(faults[:8]) + (f"; and {len(faults) - 8} more" if len(faults) > 8 else "")
        raise UserError(f"{where}: these weights do not fit the model that its configuration describes: {shown}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
