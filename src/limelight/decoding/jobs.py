"""What a translator has to do."""

from typing import NamedTuple

import torch

from limelight.decoding.sampling import Sampling


class Plan(NamedTuple):
    """How a call searches, with every default filled in."""

    beam_size: int
    n_best: int
    length_penalty: float
    patience: float
    prune: float
    sampling: Sampling | None
    generator: torch.Generator | None
    batch_tokens: int


class Job(NamedTuple):
    """A text that is not blank."""

    place: int
    source: list[int]
    """Source ids, with the end."""
    prefix: list[int]
    max_length: int
