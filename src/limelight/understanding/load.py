"""The reader that a run or model folder holds."""

from pathlib import Path

import torch

from limelight.errors import UserError
from limelight.models.build import choose_device
from limelight.models.encoder_only import Classifier, MaskedModel
from limelight.models.stored import load_model
from limelight.understanding.classify import Labeller
from limelight.understanding.fill import Filler


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
    raise UserError(f"{path}: this is a {family} model, and only a model of the family encoder_only reads like this")
