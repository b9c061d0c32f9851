"""Share modules between models without sharing their mode: the original may be training."""

import copy
from typing import TypeVar, cast

from torch import nn

Part = TypeVar("Part", bound=nn.Module | None)


def shared(part: Part) -> Part:
    """A copy of the module in evaluation mode with the same tensors; None for None.

    Only for modules without submodules, such as embeddings, normalizations and torch's fused cells: submodules would be
    shared including their mode.
    """
    if part is None:
        return part
    assert not list(part.children())
    return cast(Part, copy.copy(part).eval())
