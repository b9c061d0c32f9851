"""The reader that a folder holds."""

from pathlib import Path

import torch

from limelight.errors import UserError
from limelight.models.build import choose_device
from limelight.models.transformer import encoder_only
from limelight.pipelines.classifier import Classifier
from limelight.pipelines.mask_filler import MaskFiller
from limelight.storage.model import COMMANDS, load_model


def load_reader(path: str | Path, device: torch.device | None = None) -> MaskFiller | Classifier:
    """A masked model as `MaskFiller`, a classifier as `Classifier`; both know the vectors of sentences.

    It goes to `device`; to a GPU where there is one and nothing else is asked. Raises `UserError` for a folder that
    holds no model, or one of another family.
    """
    stored = load_model(path, device if device is not None else choose_device("auto"))
    if isinstance(stored.model, encoder_only.Classifier):
        return Classifier(stored.model, stored.tokenizers.source)
    if isinstance(stored.model, encoder_only.MaskedModel):
        return MaskFiller(stored.model, stored.tokenizers.source)
    family = stored.config.model.family
    raise UserError(
        f"{path}: this is a model of the family {family}, which neither fills in nor classifies; "
        f"use it with {COMMANDS[family]}"
    )


def load_mask_filler(path: str | Path, device: torch.device | None = None) -> MaskFiller:
    """The same for a masked model. Raises `UserError` for a classifier, too."""
    reader = load_reader(path, device)
    if isinstance(reader, Classifier):
        raise UserError(f"{path}: this is a classifier, which fills nothing in; use it with `limelight classify`")
    return reader


def load_classifier(path: str | Path, device: torch.device | None = None) -> Classifier:
    """The same for a classifier. Raises `UserError` for a masked model, too."""
    reader = load_reader(path, device)
    if isinstance(reader, MaskFiller):
        raise UserError(
            f"{path}: this is a masked model, which knows no labels; use it with `limelight fill`, or begin a "
            "classifier with it: `limelight train --from`"
        )
    return reader
