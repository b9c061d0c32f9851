"""The reader that a folder holds."""

from pathlib import Path

import torch

from limelight.errors import UserError
from limelight.models.build import choose_device
from limelight.models.encoder_only import Classifier, MaskedModel
from limelight.models.stored import VERBS, load_model
from limelight.pipelines.classifier import Labeller
from limelight.pipelines.mask_filler import Filler


def load_reader(path: str | Path, device: torch.device | None = None) -> Filler | Labeller:
    """A masked model as `Filler`, a classifier as `Labeller`; both know the vectors of sentences.

    It goes to `device`; to a GPU where there is one and nothing else is asked. Raises `UserError` for a folder that
    holds no model, or one of another family.
    """
    stored = load_model(path, device if device is not None else choose_device("auto"))
    if isinstance(stored.model, Classifier):
        return Labeller(stored.model, stored.tokenizers.source)
    if isinstance(stored.model, MaskedModel):
        return Filler(stored.model, stored.tokenizers.source)
    family = stored.config.model.family
    raise UserError(
        f"{path}: this is a model of the family {family}, which neither fills in nor classifies; "
        f"use it with {VERBS[family]}"
    )


def load_filler(path: str | Path, device: torch.device | None = None) -> Filler:
    """The same for a masked model. Raises `UserError` for a classifier, too."""
    reader = load_reader(path, device)
    if isinstance(reader, Labeller):
        raise UserError(f"{path}: this is a classifier, which fills nothing in; use it with `limelight classify`")
    return reader


def load_labeller(path: str | Path, device: torch.device | None = None) -> Labeller:
    """The same for a classifier. Raises `UserError` for a masked model, too."""
    reader = load_reader(path, device)
    if isinstance(reader, Filler):
        raise UserError(
            f"{path}: this is a masked model, which knows no labels; use it with `limelight fill`, or begin a "
            "classifier with it: `limelight train --from`"
        )
    return reader
