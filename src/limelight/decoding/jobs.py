"""What a translator has to do."""

from typing import NamedTuple

import torch

from limelight.decoding.settings import SearchSettings
from limelight.tokens import Tokenizers


class Plan(NamedTuple):
    """How a call searches."""

    settings: SearchSettings
    generator: torch.Generator | None
    """What sampling draws with; None without sampling."""
    batch_tokens: int
    tokenizers: Tokenizers
    """Of the direction that was asked for."""


class Job(NamedTuple):
    """A text that is not blank."""

    place: int
    source: list[int]
    """Source ids, with the end."""
    prefix: list[int]
    max_length: int
