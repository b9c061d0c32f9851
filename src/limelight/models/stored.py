"""The stored model: weights, configuration, tokenizer and card in one folder, nothing executable.

    model.safetensors   config.yaml   tokenizer/   README.md   and, once it is learned, shortlist.safetensors;
    of a classifier, labels.json; of a model of several source languages, languages.safetensors

A run folder keeps its best model so, under `best/`; the folder can be copied anywhere on its own.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from limelight.box import bundled_models
from limelight.config import EncoderOnlyConfig, RunConfig, dump_config, load_config
from limelight.errors import RunError, UserError
from limelight.files import cause, write_folder, write_whole
from limelight.models.build import build_model
from limelight.models.compact import expand
from limelight.models.detector import DETECTOR
from limelight.models.encoder_only import Classifier
from limelight.models.interface import Model
from limelight.models.labels import dump_labels, read_labels
from limelight.models.weights import named_weights, put_weights, read_weights, require_fit, save_weights
from limelight.tokens import Tokenizers, load_tokenizers, save_tokenizers, tokenizer_files
from limelight.untrusted import shown

WEIGHTS = "model.safetensors"
CONFIG = "config.yaml"
TOKENIZER = "tokenizer"
CARD = "README.md"
SHORTLIST = "shortlist.safetensors"
LABELS = "labels.json"
BEST = "best"
MOST_NAMED = 10
"""Runs that a message lists."""
VERBS = {
    "transformer": "`limelight translate`",
    "recurrent": "`limelight translate`",
    "decoder_only": "`limelight generate`",
    "recurrent_language_model": "`limelight generate`",
    "encoder_only": "`limelight fill` or `limelight classify`",
}
"""What is done with the models of each family."""


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model read from a folder, ready to use."""

    folder: Path
    model: Model
    tokenizers: Tokenizers
    config: RunConfig
    notes: dict[str, str]
    """What was written into the header of the weights: step, validation figures."""


def find_model(path: str | Path) -> Path:
    """The model folder that a run or model folder stands for, or the name of a bundled model where no such path exists.

    Raises `UserError` when there is none, and when one of its files is a link that leads out of the folder.
    """
    folder = Path(path)
    try:
        if str(path) in bundled_models() and not folder.exists():
            folder = bundled_models()[str(path)]
        for candidate in (folder / BEST, folder):
            if (candidate / WEIGHTS).is_file():
                _require_own_files(candidate, folder)
                return candidate
        there, begun = folder.exists(), (folder / CONFIG).is_file()
    except OSError as error:
        raise UserError(f"{path}: cannot look for a model there: {error.strerror}") from None
    if not there:
        bundled = "".join(f", or {name}, which comes with limelight" for name in bundled_models())
        raise UserError(
            f"{path}: there is no such model; --model takes the folder that `limelight train --out` wrote{bundled}"
        )
    if begun:
        raise UserError(f"{path}: this run has no model yet: it was stopped before its first validation; train it on")
    raise UserError(
        f"{path}: not a run or model folder: it holds neither {BEST}/{WEIGHTS} nor {WEIGHTS}{_models_inside(folder)}"
    )


def _models_inside(folder: Path) -> str:
    """The end of a message about the folder that holds runs, where a run was asked for: their names."""
    with suppress(OSError):
        inside = sorted(
            path.name for path in folder.iterdir() if (path / BEST / WEIGHTS).is_file() or (path / WEIGHTS).is_file()
        )
        if inside:
            names = ", ".join(shown(str(folder / name)) for name in inside[:MOST_NAMED])
            return f". Name one of those inside it: {names}{' ...' if len(inside) > MOST_NAMED else ''}"
    return ""


def _require_own_files(model: Path, folder: Path) -> None:
    root = os.path.realpath(folder)
    files = [model / name for name in (WEIGHTS, CONFIG, SHORTLIST, LABELS, DETECTOR)]
    for path in (*files, *tokenizer_files(model / TOKENIZER)):
        place = os.path.realpath(path)
        if os.path.commonpath([root, place]) != root:
            raise UserError(f"{path}: a link out of {folder}, to {shown(place)}; put the file itself there")


def load_model(path: str | Path, device: torch.device | None = None) -> StoredModel:
    """Read the model of a run or model folder. Raises `UserError` when it is missing, damaged or does not fit."""
    folder = find_model(path)
    config = load_config(folder / CONFIG)
    weights, notes = read_weights(folder / WEIGHTS)
    weights = expand(weights, where=str(folder / WEIGHTS))
    tokenizers = load_tokenizers(folder / TOKENIZER)
    labels = _read_labels(folder / LABELS, weights) if _chooses(config, weights) else ()
    try:
        with torch.device("meta"):  # shapes alone: sizes that are not those of the weights must cost no memory
            shapes = build_model(config.model, tokenizers, labels)
    except UserError as error:
        raise UserError(f"{folder / CONFIG}: {error}") from None
    require_fit(shapes, weights, where=str(folder / WEIGHTS))
    with torch.random.fork_rng(devices=[]):  # the weights are replaced: building must not move the caller's randomness
        model = build_model(config.model, tokenizers, labels)
    put_weights(model, weights, where=str(folder / WEIGHTS))
    return StoredModel(folder, model.to(device or torch.device("cpu")).eval(), tokenizers, config, notes)


def _chooses(config: RunConfig, weights: Mapping[str, Tensor]) -> bool:
    """Whether these are weights of a classifier: an encoder alone without what a masked model guesses pieces with."""
    return isinstance(config.model, EncoderOnlyConfig) and "output_bias" not in weights


def _read_labels(path: Path, weights: Mapping[str, Tensor]) -> tuple[str, ...]:
    """The labels of a classifier with these weights. Raises `UserError` where there are more or fewer than it knows."""
    labels = read_labels(path)
    known = weights["output.bias"].numel() if "output.bias" in weights else len(labels)
    if known != len(labels):
        raise UserError(f"{path}: {len(labels):,} labels, and the weights beside it are those of {known:,}")
    return labels


def require_verb(stored: StoredModel, verb: str) -> None:
    """Raises `UserError` for a model that is for something else than `limelight VERB`, naming what it is for."""
    family = stored.config.model.family
    if VERBS[family] != f"`limelight {verb}`":
        raise UserError(
            f"{stored.folder}: this is a model of the family {family}, which does not {verb}; "
            f"use it with {VERBS[family]}"
        )


def save_model(
    folder: Path, model: Model, tokenizers: Tokenizers, config: RunConfig, *, notes: dict[str, str], card: str
) -> None:
    """Write a model folder, or replace the weights in one; the weights change in one move, whatever happens.

    Raises `RunError` naming path and cause when it cannot be written; each file is then the new one or the former one.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / TOKENIZER).exists():
            write_folder(folder / TOKENIZER, lambda partial: save_tokenizers(tokenizers, partial))
        save_labels(folder, model)
        write_whole(folder / CONFIG, dump_config(config))
        write_whole(folder / CARD, card)
    except OSError as error:
        raise RunError(
            f"{folder}: cannot write the model: {cause(error)}; the weights before it are untouched"
        ) from error
    save_weights(folder / WEIGHTS, named_weights(model), notes)


def save_labels(folder: Path, model: Model) -> None:
    """Write the labels among which a model chooses, if it does."""
    if isinstance(model, Classifier):
        write_whole(folder / LABELS, dump_labels(model.labels))
