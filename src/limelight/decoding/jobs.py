"""What a translator has to do."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import nn

from limelight.decoding.sampling import Sampling
from limelight.errors import UserError
from limelight.layers.positions import LearnedPositions


class Plan(NamedTuple):
    """How a call searches, with every default filled in."""

    beam_size: int
    n_best: int
    length_penalty: float
    patience: float
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


def longest_sequence(model: nn.Module) -> int | None:
    """How many places the model has learned a vector for: more pieces than that, end included, it cannot take.

    None where positions have no bound. The smallest bound of all counts, also among the members of an ensemble.
    """
    tables = [module.table for module in model.modules() if isinstance(module, LearnedPositions)]
    return min((len(table) for table in tables), default=None)


def require_room(ids: Sequence[int], longest: int, what: str) -> None:
    """Raises `UserError` where ids and their end are more than `longest`."""
    if len(ids) + 1 > longest:
        raise UserError(
            f"{what} has {len(ids) + 1} pieces with its end, and this model takes at most {longest} "
            "(its learned positions): split it into sentences"
        )
