"""Smaller forms of a model's weights under the same names: halves, or a byte for each number and a scale for each row.

| form   | a matrix                                                       | a vector | size |
|--------|----------------------------------------------------------------|----------|------|
| `fp32` | as it is                                                       | as it is | 1    |
| `bf16` | rounded to bf16                                                | as it is | 1/2  |
| `int8` | `NAME`: int8, `NAME.scale`: fp32, the largest of a row at 127  | as it is | 1/4  |

They are turned back into fp32 when a model is read. What int8 products take of it are then the very numbers that were
stored: rounding them a second time changes none.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from limelight.errors import UserError
from limelight.layers.integer_rows import integer_rows
from limelight.untrusted import shown

FORMS = ("fp32", "bf16", "int8")
SCALE = ".scale"


def compact(weights: Mapping[str, Tensor], form: str) -> dict[str, Tensor]:
    """The weights in one of the `FORMS`."""
    if form == "fp32":
        return dict(weights)
    smaller: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if tensor.ndim != 2:
            smaller[name] = tensor
        elif form == "bf16":
            smaller[name] = tensor.bfloat16()
        else:
            smaller[name], smaller[name + SCALE] = integer_rows(tensor)
    return smaller


def expand(weights: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """The weights of any form in fp32, as far as they are matrices of bytes with scales; others are left as they are.

    Raises `UserError` naming file and tensor where a scale is missing or does not fit.
    """
    full = {name: tensor for name, tensor in weights.items() if not _is_scale(name, weights)}
    for name, rows in full.items():
        if rows.dtype != torch.int8:
            continue
        scales = weights.get(name + SCALE)
        if scales is None or rows.ndim != 2 or scales.shape != rows.shape[:1] or scales.dtype != torch.float32:
            raise UserError(
                f"{where}: {shown(name)} holds bytes, and {shown(name + SCALE)} is not a number in fp32 for each of "
                "its rows: damaged, or made by something else; export the model anew"
            )
        full[name] = rows.float() * scales[:, None]
    return full


def _is_scale(name: str, weights: Mapping[str, Tensor]) -> bool:
    of = weights.get(name.removesuffix(SCALE))
    return name.endswith(SCALE) and of is not None and of.dtype == torch.int8
