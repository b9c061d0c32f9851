"""What every group of settings is: frozen, typed, and knowing all its keys."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Width = Annotated[int, Field(ge=1, le=1_000_000)]
Depth = Annotated[int, Field(ge=1, le=100)]
"""Bounds far above what is trained here: a number with too many zeros is found before memory runs out."""


class Section(BaseModel):
    """A frozen group of settings that knows all its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False)
