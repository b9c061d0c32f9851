"""From configuration to model, of any family."""

from collections.abc import Sequence

import torch
from torch import nn

from limelight.config import ModelConfig
from limelight.errors import UserError
from limelight.models.families import family_of
from limelight.models.interface import Model
from limelight.tokens import Tokenizers


def build_model(config: ModelConfig, tokenizers: Tokenizers, labels: Sequence[str] = ()) -> Model:
    """A fresh model with random weights (from torch's global generator); with `labels` one that chooses among them.

    Raises `UserError` for impossible settings.
    """
    _require_vocabulary(config, tokenizers)
    return family_of(config).build(config, tokenizers.source.size, tokenizers.target.size, labels)


def _require_vocabulary(config: ModelConfig, tokenizers: Tokenizers) -> None:
    """Raises `UserError` for two vocabularies where the model needs one."""
    if tokenizers.one_vocabulary:
        return
    if "pairs" not in config.learns_from:
        raise UserError(
            f"model.family={config.family} reads source and target as one text and needs one vocabulary; set "
            "tokens.joint=true"
        )
    if getattr(config, "tie", None) == "three-way":
        raise UserError(
            "model.tie=three-way shares one embedding between both languages and needs one vocabulary; "
            "set tokens.joint=true, or model.tie=two-way"
        )


def count_parameters(model: nn.Module) -> int:
    """Trained numbers, shared ones counted once."""
    return sum(parameter.numel() for parameter in model.parameters())


def choose_device(name: str, *, setting: str = "training.device=") -> torch.device:
    """The device of that name: `cpu`, `cuda` (the current GPU), `cuda:N`, `mps`, or `auto`.

    `auto` takes a CUDA GPU where there is one, and the CPU else. Apple's GPU (`mps`) has to be asked for by name:
    nothing has been measured on one.

    Args:
        setting: how the user gave the name, for messages: `--device ` on the command line.

    Raises `UserError` for another name, and for a device that is not there.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        device = torch.device("meta")
    if device.type == "cuda":
        _require_gpu(name, device.index or 0, setting)
    elif device.type == "mps":
        if device.index or not torch.backends.mps.is_available():
            raise UserError(
                f"{setting}{name}, but torch finds no such Apple GPU here; use {setting}cpu or {setting}auto"
            )
    elif name != "cpu":
        raise UserError(f"{setting}{name}: there is no such device; there are auto, cpu, cuda, cuda:N and mps")
    return device


def _require_gpu(name: str, index: int, setting: str) -> None:
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if not count:
        why = "" if torch.backends.cuda.is_built() else ": this build of torch is for the CPU alone"
        raise UserError(f"{setting}{name}, but torch finds no CUDA device here{why}; use {setting}cpu or {setting}auto")
    if index >= count:
        there = "there is cuda:0 alone" if count == 1 else f"there are cuda:0 to cuda:{count - 1}"
        raise UserError(f"{setting}{name}, but {there}")
