"""Modules that share their tensors with another model, and no mode: that model may be training meanwhile."""

import copy
from typing import TypeVar, cast

from torch import nn

Part = TypeVar("Part", bound=nn.Module | None)


def shared(part: Part) -> Part:
    """The module in evaluation mode, with the very tensors that it has; None for None.

    It is for modules without parts, such as embeddings, normalizations and torch's fused cells: of others the parts
    would be shared with their mode.
    """
    if part is None:
        return part
    assert not list(part.children())
    return cast(Part, copy.copy(part).eval())
