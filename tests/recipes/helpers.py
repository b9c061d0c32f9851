"""Models that are counted, not computed: their tensors have shapes and no content."""

import torch

from limelight.config import RunConfig
from limelight.models.families import build_model
from limelight.models.interface import Model
from limelight.tokens import Tokenizers
from tests.models.helpers import Vocabulary


def outline(config: RunConfig, pieces: int) -> Model:
    """The model of a recipe with a vocabulary of so many tokens, on the device that holds nothing."""
    both = Vocabulary(pieces + 1)
    tokenizers = Tokenizers(both, both if config.tokens.joint else Vocabulary(pieces + 1))
    with torch.device("meta"):
        return build_model(config.model, tokenizers)
