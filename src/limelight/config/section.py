"""The base class of all groups of settings."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Width = Annotated[int, Field(ge=1, le=1_000_000)]
Depth = Annotated[int, Field(ge=1, le=100)]
"""Bounds far above practical sizes: a number with too many zeros is refused before memory runs out."""


class Section(BaseModel):
    """A frozen group of settings that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)
