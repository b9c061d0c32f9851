"""Weights as named tensors, in fp32, bf16 or int8."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from limelight.errors import RunError, UserError, shown
from limelight.files import cause, fill_file
from limelight.shapes import Float, Int
from limelight.untrusted import open_plain

FORMS = ("fp32", "bf16", "int8")
SCALE = ".scale"


def compact(weights: Mapping[str, Tensor], form: str) -> dict[str, Tensor]:
    """The weights in one of `FORMS`. Matrices that are stored in int8 are not rounded again."""
    smaller: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if form == "int8" and tensor.ndim == 2:
            smaller[name], smaller[name + SCALE] = rows_of(tensor)
        else:
            numbers = numbers_of(tensor)
            smaller[name] = numbers.bfloat16() if form == "bf16" and tensor.ndim == 2 else numbers
    return smaller


class Int8Matrix(nn.Parameter):
    """An int8 matrix with a scale for each row: a parameter of models that are stored so."""

    scales: Tensor

    def __new__(cls, values: Tensor, scales: Tensor) -> "Int8Matrix":
        matrix = super().__new__(cls, values, requires_grad=False)
        matrix.scales = scales
        return matrix


def with_scales(weights: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """The weights, with each int8 matrix and its scales as `Int8Matrix`.

    Raises `UserError` with file and tensor if a scale is missing or does not fit.
    """
    whole = dict(weights)
    for name, values in weights.items():
        if values.dtype != torch.int8:
            continue
        scales = whole.pop(name + SCALE, None)
        if scales is None or values.ndim != 2 or scales.shape != values.shape[:1] or scales.dtype != torch.float32:
            raise UserError(
                f"{where}: {shown(name)} holds bytes, and {shown(name + SCALE)} is not a number in fp32 for each of "
                "its rows: damaged, or written by another program; export the model again"
            )
        whole[name] = Int8Matrix(values, scales)
    return whole


def read_numbers(path: Path) -> dict[str, Tensor]:
    """The weights of a file in fp32. Raises `UserError` as `read_weights` and `with_scales` do."""
    return {name: numbers_of(tensor) for name, tensor in with_scales(read_weights(path)[0], str(path)).items()}


def numbers_of(tensor: Tensor) -> Tensor:
    """A stored tensor in fp32."""
    numbers = tensor.detach().float()
    return numbers * tensor.scales[:, None] if isinstance(tensor, Int8Matrix) else numbers


def rows_of(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """A matrix as int8 rows and their scales: the stored ones, or rounded."""
    return (matrix.data, matrix.scales) if isinstance(matrix, Int8Matrix) else quantize_rows(matrix.detach())


ROWS = 4096
"""Rows that are rounded at a time, for the sake of memory."""
EXACT = 1e-5
"""Maximum error of numbers that were stored in int8, and have not changed since."""


def quantize_rows(weight: Float[Tensor, "out in"]) -> tuple[Int[Tensor, "out in"], Float[Tensor, " out"]]:
    """Symmetric int8 quantization per row: values and scales with `values * scale` within half a scale of the weight.

    The largest weight of a row is 127 steps. In a model that was fine-tuned from int8 weights, most weights are within
    half a step of their old values, to which they would be rounded. Such a row gets 120 steps, so that the error is
    nearly independent of the old values, and the changes are preserved on average.
    """
    parts = list(map(_quantized, torch.split(weight, ROWS)))
    return torch.cat([values for values, _ in parts]), torch.cat([scales for _, scales in parts])


def _quantized(rows: Tensor) -> tuple[Tensor, Tensor]:
    rows = rows.float()
    largest = rows.abs().amax(dim=1, keepdim=True)
    many, fewer = largest / 127, largest / 120
    error, other_error = (_mean_error(rows, scales) for scales in (many, fewer))
    is_near = error < other_error.clamp(max=0.07)
    scales = torch.where((error > EXACT) & (is_near | (other_error < EXACT)), fewer, many)
    scales = torch.where(scales > 0, scales, 1)
    return (rows / scales).round_().to(torch.int8), scales[:, 0]


def _mean_error(rows: Tensor, scales: Tensor) -> Tensor:
    """The mean square error of rounding each row, in steps; 1/12 for numbers at random, NaN for zeros."""
    steps = rows / scales
    return (steps - steps.round()).square_().mean(dim=1, keepdim=True)


MAX_HEADER_BYTES = 4_000_000
"""Maximum bytes of a file's header; the optimizer state of a model with a hundred layers per side needs under two
million."""

STORED_TYPES = (torch.float32, torch.float16, torch.bfloat16)
"""Data types of stored weights."""


def named_weights(model: nn.Module) -> dict[str, Tensor]:
    """Every parameter by name, on the CPU; a shared one only under its first name."""
    return {name: parameter.detach().cpu() for name, parameter in model.named_parameters()}


def save_weights(path: Path, weights: Mapping[str, Tensor], notes: Mapping[str, str] = {}) -> None:
    """Write the tensors; `notes` are stored in the file's header.

    Raises `RunError` with path and cause if that fails; an existing file is then unchanged.
    """
    try:
        fill_file(path, lambda partial: write_tensors(partial, weights, notes))
    except (OSError, SafetensorError) as error:
        raise RunError(f"{path}: cannot write the weights: {cause(error)}; the file before it is untouched") from error


def write_tensors(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str] = {}) -> None:
    """Write a file, not atomically, with sorted notes. The library keeps them in a hash table, so that the same model
    would have other bytes each time."""
    # Write directly to the file: the library hangs when memory runs out while it concatenates all tensors.
    all_notes = {"format": "pt", **notes}
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path, metadata=all_notes)
    with open(path, "r+b") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        header["__metadata__"] = dict(sorted(all_notes.items()))
        ordered = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
        file.seek(8)
        file.write(ordered.ljust(size))  # the same characters, and spaces as before


def read_weights(path: Path, what: str = "weights") -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and notes of a file. Raises `UserError` with the path if it is missing or damaged.

    The tensors are memory-mapped: they take no memory until they are read.
    """
    try:
        _require_size(path)
        with safe_open(path, framework="pt", device="cpu") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except OSError as error:
        raise UserError(f"{path}: cannot read the {what}: {error.strerror or error}") from None
    except (SafetensorError, ValueError, TypeError) as error:  # TypeError: a size that torch cannot represent
        fault = shown(str(error).splitlines()[0])
        raise UserError(f"{path}: cannot read the {what}: {fault}; damaged or incomplete: copy it again") from None


def _require_size(path: Path) -> None:
    """Bounds that the library does not have. Raises `ValueError`, or `OSError` for a file larger than memory."""
    with open_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        memory = _physical_memory()
        if size > memory:
            raise OSError(f"they take {size / 1e9:,.0f} GB, and this machine has {memory / 1e9:,.0f} GB of memory")
        length = int.from_bytes(file.read(8), "little")
        if length > MAX_HEADER_BYTES:
            raise ValueError(f"a header of {length:,} bytes in a file of {size:,}; the limit is {MAX_HEADER_BYTES:,}")


def _physical_memory() -> float:
    """Bytes of memory of this machine; infinite if the system does not report it (Windows)."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def fitting(model: nn.Module, stored: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """The weights of a model, `with_scales`. The model may be on the `meta` device.

    Raises `UserError` that lists all tensors that are missing, unknown, of another shape or no weights, and if a number
    is NaN or infinite.
    """
    parameters, weights = dict(model.named_parameters()), with_scales(stored, where)
    faults = [f"missing {name}" for name in parameters if name not in weights]
    for name, tensor in weights.items():
        if name not in parameters:
            faults.append(f"unknown {shown(name)}")
        elif tensor.shape != parameters[name].shape:
            faults.append(f"{name} is {tuple(tensor.shape)}, expected {tuple(parameters[name].shape)}")
        elif tensor.dtype not in STORED_TYPES and not isinstance(tensor, Int8Matrix):
            faults.append(f"{name} holds {tensor.dtype}, no weights")
    if faults:
        listed = "; ".join(faults[:8]) + (f"; and {len(faults) - 8} more" if len(faults) > 8 else "")
        raise UserError(f"{where}: these weights do not fit the model that its configuration describes: {listed}")
    ranges = {
        name: tensor.scales * 127 if isinstance(tensor, Int8Matrix) else tensor for name, tensor in weights.items()
    }
    broken = [name for name, tensor in ranges.items() if not torch.stack(tensor.aminmax()).isfinite().all()]
    if broken:
        raise UserError(
            f"{where}: NaN or infinity in {len(broken)} of {len(weights)} tensors, first in {broken[0]}: damaged, or "
            "from a training that diverged; use another model or an earlier checkpoint"
        )
    return weights


def put_weights(model: nn.Module, weights: Mapping[str, Tensor], where: str) -> None:
    """Copy the tensors into a model. Raises `UserError` as `fitting` does, and then changes nothing."""
    numbers = fitting(model, weights, where)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(numbers[name])


def assign_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Make the tensors, in fp32 or `Int8Matrix`, the parameters of a model, whose own may be on the `meta` device."""
    parameters = dict[int, nn.Parameter]()
    for name, parameter in model.named_parameters():
        tensor = weights[name]
        parameters[id(parameter)] = tensor if isinstance(tensor, Int8Matrix) else nn.Parameter(tensor.float())
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False, remove_duplicate=False)):
            setattr(module, name, parameters[id(parameter)])
