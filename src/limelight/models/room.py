"""How long a sequence a model can take."""

from collections.abc import Sequence

from torch import nn

from limelight.errors import UserError
from limelight.layers.positions import LearnedPositions


def longest_sequence(model: nn.Module) -> int | None:
    """How many places the model has learned a vector for: more tokens than that, end included, it cannot take.

    None where positions have no bound. The smallest bound of all counts, also among the members of an ensemble.
    """
    tables = [module.table for module in model.modules() if isinstance(module, LearnedPositions)]
    return min((len(table) for table in tables), default=None)


def require_room(ids: Sequence[int], longest: int, what: str) -> None:
    """Raises `UserError` where ids and their end are more than `longest`."""
    if len(ids) + 1 > longest:
        raise UserError(
            f"{what} has {len(ids) + 1} tokens with its end, and this model takes at most {longest} "
            "(its learned positions): split it into sentences"
        )
