"""The stored model: weights, configuration, tokenizer and card in one folder, nothing executable.

    model.safetensors   config.yaml   tokenizer/   README.md

A run folder keeps its best model so, under `best/`; the folder can be copied anywhere on its own.
"""

from dataclasses import dataclass
from pathlib import Path

import torch

from limelight.config import RunConfig, dump_config, load_config
from limelight.errors import RunError, UserError
from limelight.files import write_folder, write_whole
from limelight.models.build import build_model
from limelight.models.interface import Seq2Seq
from limelight.models.weights import named_weights, put_weights, read_weights, save_weights
from limelight.tokens import Tokenizers, load_tokenizers, save_tokenizers

WEIGHTS = "model.safetensors"
CONFIG = "config.yaml"
TOKENIZER = "tokenizer"
BEST = "best"


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model read from a folder, ready to use."""

    folder: Path
    model: Seq2Seq
    tokenizers: Tokenizers
    config: RunConfig
    notes: dict[str, str]
    """What was written into the header of the weights: step, validation figures."""


def find_model(path: str | Path) -> Path:
    """The model folder that a run or model folder stands for. Raises `UserError` when there is none."""
    folder = Path(path)
    for candidate in (folder / BEST, folder):
        if (candidate / WEIGHTS).is_file():
            return candidate
    if not folder.exists():
        raise UserError(f"{path}: there is no such model; --model takes the folder that `limelight train --out` wrote")
    if (folder / CONFIG).is_file():
        raise UserError(f"{path}: this run has no model yet: it was stopped before its first validation; train it on")
    raise UserError(f"{path}: not a run or model folder: it holds neither {BEST}/{WEIGHTS} nor {WEIGHTS}")


def load_model(path: str | Path, device: torch.device | None = None) -> StoredModel:
    """Read the model of a run or model folder. Raises `UserError` when it is missing, damaged or does not fit."""
    folder = find_model(path)
    config = load_config(folder / CONFIG)
    tokenizers = load_tokenizers(folder / TOKENIZER)
    with torch.random.fork_rng(devices=[]):  # the weights are replaced: building must not move the caller's randomness
        model = build_model(config.model, tokenizers)
    weights, notes = read_weights(folder / WEIGHTS)
    put_weights(model, weights, where=str(folder / WEIGHTS))
    return StoredModel(folder, model.to(device or torch.device("cpu")).eval(), tokenizers, config, notes)


def save_model(
    folder: Path, model: Seq2Seq, tokenizers: Tokenizers, config: RunConfig, *, notes: dict[str, str], card: str
) -> None:
    """Write a model folder, or replace the weights in one; the weights change in one move, whatever happens.

    Raises `RunError` naming path and cause when it cannot be written; each file is then the new one or the former one.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / TOKENIZER).exists():
            write_folder(folder / TOKENIZER, lambda partial: save_tokenizers(tokenizers, partial))
        write_whole(folder / CONFIG, dump_config(config))
        write_whole(folder / "README.md", card)
    except OSError as error:
        raise RunError(f"{folder}: cannot write the model: {error}; the weights before it are untouched") from error
    save_weights(folder / WEIGHTS, named_weights(model), notes)
