"""Save and load model folders, and extend the vocabulary of a model."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from limelight.config import RunConfig, dump_config, load_config
from limelight.errors import UserError
from limelight.files import whole_folder, write_whole, writing
from limelight.models.families import build_model, use_of
from limelight.models.interface import Model
from limelight.models.transformer.halves import Classifier
from limelight.storage.layout import CARD, CONFIG, LABELS, TOKENIZER, WEIGHTS, find_model
from limelight.storage.weights import (
    assign_weights,
    fitting,
    named_weights,
    numbers_of,
    put_weights,
    read_weights,
    save_weights,
)
from limelight.text.labels import dump_labels, read_labels
from limelight.tokens import Tokenizers, load_tokenizers, save_tokenizers
from limelight.tokens.extend import Extension
from limelight.untrusted import read_plain


@dataclass(frozen=True)
class StoredModel:
    """A model loaded from a folder."""

    folder: Path
    rows: Model
    """The model with the numbers of the file: matrices in 8 bits are `Int8Matrix`, and buffers are empty. It tells how
    the model is built, and search is prepared from it."""
    tokenizers: Tokenizers
    config: RunConfig
    notes: dict[str, str]
    """The header of the weights: step, validation figures."""
    device: torch.device

    @cached_property
    def model(self) -> Model:
        """The readable model in fp32, which is built when it is first asked for."""
        labels = self.rows.labels if isinstance(self.rows, Classifier) else ()
        with torch.random.fork_rng(devices=[]):
            model = build_model(self.config.model, self.tokenizers, labels)
        assign_weights(model, {name: numbers_of(weight) for name, weight in self.rows.named_parameters()})
        return model.float().to(self.device).eval()  # float: whatever torch's default type is


def load_model(path: str | Path, device: torch.device | None = None) -> StoredModel:
    """Load the model of a run or model folder. Raises `UserError` if it is missing, damaged or does not fit."""
    folder = find_model(path)
    config, tokenizers = load_config(folder / CONFIG), load_tokenizers(folder / TOKENIZER)
    mapped, notes = read_weights(folder / WEIGHTS)
    is_classifier = "labels" in config.model.learns_from and "output_bias" not in mapped  # a masked model has this bias
    labels = read_labels(folder / LABELS) if is_classifier else ()
    try:
        with torch.device("meta"):  # shapes only: wrong sizes must not allocate memory
            rows = build_model(config.model, tokenizers, labels)
    except UserError as error:
        raise UserError(f"{folder / CONFIG}: {error}") from None
    copies = {name: tensor.clone() for name, tensor in mapped.items()}  # the file may be replaced while they are in use
    assign_weights(rows, fitting(rows, copies, str(folder / WEIGHTS)))
    return StoredModel(folder, rows.eval(), tokenizers, config, notes, device or torch.device("cpu"))


def require_command(stored: StoredModel, command: str) -> None:
    """Raises `UserError` for a model that `limelight COMMAND` does not support, naming the commands that do."""
    config = stored.config.model
    if (own := use_of(config, stored.rows).name) != command:
        raise UserError(
            f"{stored.folder}: this is a model of the family {config.family}, which does not {command}; "
            f"use it with `limelight {own}`"
        )


def save_model(
    folder: Path,
    model: Model,
    tokenizers: Tokenizers,
    config: RunConfig,
    *,
    notes: dict[str, str],
    card: str,
    weights: Mapping[str, Tensor] | None = None,
) -> None:
    """Write a model folder, or replace the weights in one; the weights are replaced atomically.

    `weights` are written instead of the model's own.

    Raises `RunError` with path and cause if it cannot be written; each file is then either the new or the former one.
    """
    with writing(folder, "the weights before it are untouched"):
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / TOKENIZER).exists():
            with whole_folder(folder / TOKENIZER) as partial:
                save_tokenizers(tokenizers, partial)
        if isinstance(model, Classifier):
            write_whole(folder / LABELS, dump_labels(model.labels))
        write_whole(folder / CONFIG, dump_config(config))
        write_whole(folder / CARD, card)
    save_weights(folder / WEIGHTS, named_weights(model) if weights is None else weights, notes)


MAX_CARD = 4_000_000
"""Maximum bytes of a card, which includes the cards of its parents."""


def read_card(folder: Path, name: str = CARD) -> str:
    """The card of a model; empty if there is none."""
    try:
        return read_plain(folder / name, MAX_CARD).decode("utf-8", errors="replace")
    except OSError:
        return ""


def extend_model(stored: StoredModel, extension: Extension) -> Model:
    """The model with the extended vocabulary. Existing rows keep their values, so outputs differ
    only by the new tokens.

    Args:
        stored: a model with a joint vocabulary.
        extension: the extension of its tokenizers.
    """
    with torch.random.fork_rng(devices=[]):
        model = build_model(stored.config.model, extension.tokenizers).eval()
    own, padding = named_weights(model), stored.tokenizers.target.padding
    weights = named_weights(stored.model)
    for name, tensor in weights.items():
        if tensor.shape != own[name].shape:  # its first axis is the vocabulary; the row of padding stays the last
            new = torch.stack([tensor[list(ids)].float().mean(0) for ids in extension.parts]).to(tensor.dtype)
            weights[name] = torch.cat([tensor[:padding], new, tensor[padding:]])
    put_weights(model, weights, where=str(stored.folder))
    return model
