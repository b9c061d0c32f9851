"""Import of Marian models: checkpoints (`.npz`), and students of Bergamot and Firefox in Marian's binary format.

    MODEL.npz | MODEL.bin  [decoder.yml]  *.spm | *.yml with source.spm target.spm  [lex*.bin]

Both contain tensors by name, and the configuration as `special:model.yml`. In the binary format: version and number of
tensors; for each the length of its name, its type, number of axes and bytes; then all names, all shapes, and after
padding all bytes. An int8 matrix is transposed, but for embeddings, and a number follows by which it was multiplied.
"""

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from limelight.config import Direction, TransformerConfig
from limelight.errors import UserError, shown
from limelight.interop.files import DAMAGED, ByteReader, read, read_buffer, read_text, reading, require_bounded
from limelight.interop.folders import Imported
from limelight.interop.names import MARIAN, Rows, configured, refuse, to_ours, unknown_values
from limelight.interop.vocabularies import SOURCE_MODEL, TARGET_MODEL, Side, read_segmentation, read_sides
from limelight.storage.model import read_card
from limelight.storage.tables import MAX_CANDIDATES, Shortlist
from limelight.storage.weights import SCALE
from limelight.tokens import END
from limelight.tokens.sentencepiece_file import pieces_in
from limelight.untrusted import MAX_YAML_BYTES, read_yaml

SETTINGS = "special:model.yml"
_SHORTLIST_MAGIC = 0xF11A48D5013417F5
_MAX_SHORTLIST_BYTES = 200_000_000
_MAX_DECODER_BYTES = 100_000
"""Of a `decoder.yml`: a larger file is a list of tokens."""
_TYPES = {0x404: np.float32, 0x402: np.float16, 0x101: np.int8, 0x4101: np.int8, 0x4102: np.int16}
_INTGEMM = 0x4000
_LANGUAGES = re.compile(r"\.([a-z]{2})([a-z]{2})\.intgemm")
"""In the names of students only: `model.base.npz` is not of two languages."""
_LINE = re.compile(r"^(?:\? )?([^ \n].*?)\r?\n?: *(\d+)\r?$", re.MULTILINE)
"""A token with its id, which may be on the next line: PyYAML writes `? "\\N"` for a token with a line break."""
_ORDERS = {("", "dan", ""): "post", ("n", "da", "n"): "pre"}
"""What is done before and after a sub-layer, and after all layers."""
_KNOWN: dict[str, list[Any]] = {
    "type": ["transformer"],
    "transformer-ffn-activation": ["relu", "swish"],  # Marian's GELU is another function, x sigmoid(1.702 x)
    "transformer-postprocess-emb": ["", "d"],
    "transformer-no-projection": [False],
    "transformer-rnn-projection": [False],
    "transformer-train-position-embeddings": [False],
    "transformer-train-positions": [False],
    "transformer-ffn-depth": [2],
    "transformer-decoder-autoreg": ["self-attention", "rnn"],
    "transformer-tied-layers": [[]],
    "layer-normalization": [False],
    "lemma-dim-emb": [0],
    "input-types": [[]],
    "output-omit-bias": [False],
    "right-left": [False],
    "ulr": [False],
}
"""Settings with the values that our models have."""


class _Array(NamedTuple):
    """A tensor of the file.

    Attributes:
        transposed: whether a matrix is stored as (out, in), against its stated shape.
        multiplier: by which an integer matrix was multiplied.
    """

    values: npt.NDArray[Any]
    transposed: bool = False
    multiplier: float | None = None


def read_marian(path: Path) -> Imported:
    """The model in a file.

    Raises `UserError` with all reasons if files are missing or damaged, or the model is not supported.
    """
    folder, where = path.parent, str(path)
    content = read_buffer(path)
    arrays = _read_npz(path) if bytes(content[:2]) == b"PK" else read_binary(content, where)
    values = _settings(arrays, where)
    config = _config(values, where)
    source, target = _sides(folder)
    tensors = dict(_in_our_forms(arrays))
    if values.get("tied-embeddings-src"):
        for ending in ("", SCALE):
            if "Wemb" + ending in tensors:
                tensors["encoder_Wemb" + ending] = tensors["decoder_Wemb" + ending] = tensors.pop("Wemb" + ending)
    weights = to_ours(tensors, MARIAN, config, source.rows, target.rows, where)
    named = _LANGUAGES.search(path.name)
    directions = (Direction(*named.groups()),) if named else ()
    shortlist = _shortlist(folder, source.rows, target.rows)
    return Imported("a Marian model", config, source, target, weights, where, directions, read_card(folder), shortlist)


def read_binary(content: memoryview, where: str) -> dict[str, _Array]:
    """The tensors of a binary file. Raises `UserError` for a damaged one, and for types that are not supported."""
    reader = ByteReader(content, where)
    if reader.number("Q") != 1:
        raise UserError(f"{where}: not Marian's binary format, or not its version 1")
    count = reader.number("Q")
    heads = np.frombuffer(reader.take(32 * count), np.uint64).reshape(count, 4).tolist()
    names = [reader.text(length) for length, *_ in heads]
    shapes = [np.frombuffer(reader.take(4 * axes), np.int32).tolist() for _, _, axes, _ in heads]
    reader.take(reader.number("Q"))
    arrays: dict[str, _Array] = {}
    for name, shape, (_, number, _, size) in zip(names, shapes, heads, strict=True):
        kind, raw = _TYPES.get(number), reader.take(size)
        if kind is None:
            raise UserError(
                f"{where}: {shown(name)} has the type {number:#x}: packed for one kind of processor, or unknown"
            )
        used = math.prod(shape) * np.dtype(kind).itemsize
        # Some programs call their int8 matrices plain bytes; the multiplier follows them all the same.
        scaled = bool(number & _INTGEMM) or (kind is np.int8 and not name.startswith("special:"))
        if min(shape, default=1) < 0 or used + 4 * scaled > size or name in arrays:
            raise UserError(f"{where}: {shown(name)} is {tuple(shape)} and has {size:,} bytes; {DAMAGED}")
        numbers = np.frombuffer(raw[:used], kind).reshape(shape)
        if not scaled:
            arrays[name] = _Array(numbers)
            continue
        multiplier = float(np.frombuffer(raw[used : used + 4], np.float32)[0])
        if not 0 < multiplier < math.inf:
            raise UserError(f"{where}: {shown(name)} was multiplied by {multiplier:g}; {DAMAGED}")
        turned = not name.endswith("Wemb") and len(shape) == 2
        arrays[name] = _Array(numbers.reshape(shape[::-1]) if turned else numbers, turned, multiplier)
    return arrays


def _read_npz(path: Path) -> dict[str, _Array]:
    """The arrays of an `.npz`, which is an archive of `.npy` files; a pickle in it is not read."""
    require_bounded(path)
    with reading(path), np.load(path, allow_pickle=False) as arrays:
        return {name: _Array(torch.from_numpy(arrays[name]).numpy()) for name in arrays.files}  # numbers only


def _settings(arrays: dict[str, _Array], where: str) -> dict[str, Any]:
    """The configuration in the file, which is taken out of the arrays."""
    array = arrays.pop(SETTINGS, None)
    if array is None:
        raise UserError(f"{where}: holds no {SETTINGS}, the configuration of the model; take a file that Marian wrote")
    try:
        raw = array.values.tobytes()
        if len(raw) > MAX_YAML_BYTES:
            raise ValueError(f"{len(raw):,} bytes")
        values = read_yaml(raw.rstrip(b"\0").decode())
    except ValueError as error:
        raise UserError(f"{where}: {SETTINGS} is not YAML: {shown(str(error))}; {DAMAGED}") from None
    if not isinstance(values, dict):
        raise UserError(f"{where}: {SETTINGS} is not a mapping; {DAMAGED}")
    return values


def _config(values: dict[str, Any], where: str) -> TransformerConfig:
    """The configuration. Raises `UserError` with all settings that are not supported."""
    recurrent = values.get("transformer-decoder-autoreg") == "rnn"
    known = {**_KNOWN, "dec-cell": ["ssru"]} if recurrent else _KNOWN
    reasons = [*unknown_values({"transformer-ffn-activation": None, **values}, known)]
    names = [f"transformer-{name}" for name in ("preprocess", "postprocess", "postprocess-top")]
    order = tuple(str(values.get(name) or "") for name in names)
    if order not in _ORDERS:
        reasons.append(f"{', '.join(names)} are {order}: neither post-norm nor pre-norm")
    refuse(reasons, f"{where}: this model cannot be imported")
    tied = "two-way" if values.get("tied-embeddings") else "none"
    model = {
        "encoder_layers": values.get("enc-depth"),
        "decoder_layers": values.get("dec-depth"),
        "d_model": values.get("dim-emb"),
        "heads": values.get("transformer-heads"),
        "d_ff": values.get("transformer-dim-ffn"),
        "activation": values["transformer-ffn-activation"],
        "norm": _ORDERS[order],  # type: ignore[index]  # of three
        "sinusoid_layout": "inclusive",
        "decoder_autoreg": "ssru" if recurrent else "self-attention",
        "tie": "three-way" if values.get("tied-embeddings-all") else tied,
    }
    return configured(model, where)


def _in_our_forms(arrays: dict[str, _Array]) -> Iterator[tuple[str, Tensor]]:
    """Matrices as (out, in) and vectors, under names without what tells their form. int8 matrices get a scale for each
    row."""
    for name, array in arrays.items():
        if name.endswith("_QuantMultA") or name.startswith(("decoder_c", "special:")):
            continue  # ranges of activations, which are computed here
        is_matrix = re.search(r"_W[a-su-z0-9]?$", name) is not None  # but `_Wt`, which is transposed
        plain = name.replace("_ff_logit_out_Wt", "_ff_logit_out_W").removesuffix("_pre")
        tensor = torch.from_numpy(array.values.copy())
        if is_matrix and not array.transposed:
            tensor = tensor.T.contiguous()
        if tensor.ndim == 2 and tensor.shape[0] == 1 and not is_matrix and not name.endswith("Wemb"):
            tensor = tensor[0]
        if array.multiplier is None:
            yield plain, tensor
        elif tensor.dtype == torch.int8 and tensor.ndim == 2:
            yield plain, tensor
            yield plain + SCALE, torch.full((len(tensor),), 1 / array.multiplier)
        else:
            yield plain, tensor.float() / array.multiplier


def _sides(folder: Path) -> tuple[Side, Side]:
    """The vocabularies: those that a `decoder.yml` names, or the only files that they can be. The decoder starts from
    zeros."""
    models, pieces = list[bytes](), list[list[str]]()
    for name, beside in zip(_vocabularies(folder), (SOURCE_MODEL, TARGET_MODEL), strict=True):
        models.append(read_segmentation(folder / (name if name.endswith(".spm") else beside)))
        pieces.append(list(pieces_in(models[-1])) if name.endswith(".spm") else _listed(folder / name))
    names = dict.fromkeys(str(folder / name) for name in _vocabularies(folder))
    return read_sides(models, pieces, None, " and ".join(names))


def _vocabularies(folder: Path) -> tuple[str, str]:
    for path in sorted(folder.glob("*.yml")):
        with suppress(ValueError):  # another kind of file, or a list of tokens
            values = read_yaml(read_text(path, _MAX_DECODER_BYTES))
            named = values.get("vocabs") if isinstance(values, dict) else None
            if isinstance(named, list) and len(named) == 2:
                return Path(str(named[0])).name, Path(str(named[1])).name
    models = {path.name for path in folder.glob("*.spm")} - {SOURCE_MODEL, TARGET_MODEL}
    names = sorted(models or {path.name for path in folder.glob("*vocab*.yml")})
    if len(names) == 1 or (len(names) == 2 and names[0].startswith("src") and names[1].startswith("trg")):
        return names[0], names[-1]
    raise UserError(f"{folder}: no vocabulary: put vocab.spm there, or srcvocab.spm and trgvocab.spm, or a decoder.yml")


def _listed(path: Path) -> list[str]:
    """The tokens of a `.yml`: a line for each, with its id."""
    ids: dict[int, str] = {}
    try:
        for match in _LINE.finditer(read_text(path)):
            ids[int(match[2])] = str(read_yaml(match[1])) if match[1][0] in "\"'" and match[1][1:] else match[1]
    except ValueError as error:
        raise UserError(f"{path}: damaged: {shown(str(error))}") from None
    if sorted(ids) != list(range(len(ids))) or not ids:
        raise UserError(f"{path}: the ids of its {len(ids):,} tokens are not the numbers from 0")
    return [ids[number] for number in range(len(ids))]


def _shortlist(folder: Path, source: Rows, target: Rows) -> Shortlist | None:
    """The table of a `lex*.bin`, with our ids; None without one. Raises `UserError` for a damaged one."""
    path = min(folder.glob("lex*.bin"), default=None)
    if path is None:
        return None
    reader = ByteReader(memoryview(read(path, _MAX_SHORTLIST_BYTES)), str(path))
    magic, _, first, _, offsets, count = (reader.number("Q") for _ in range(6))
    if magic != _SHORTLIST_MAGIC:
        raise UserError(f"{path}: not a binary shortlist; remove it, or take the one that came with the model")
    begins = np.frombuffer(reader.take(8 * offsets), np.uint64).astype(np.int64)
    listed = np.frombuffer(reader.take(4 * count), np.uint32).astype(np.int64)
    lengths = np.diff(begins)
    fits = 2 <= len(begins) <= source.size + 1 and begins[0] == 0 and begins[-1] == count
    if not fits or lengths.min() < 0 or (count and listed.max() >= target.size):
        raise UserError(f"{path}: this shortlist is not one of the model's vocabularies; {DAMAGED}")
    begins = np.pad(begins, (0, source.size + 1 - len(begins)), mode="edge")  # the last tokens may have none
    ours = np.full(target.size, END)
    kept = np.array(target.theirs[:-1])
    ours[kept] = np.arange(len(kept))
    candidates = np.full((len(source.theirs) - 1, min(MAX_CANDIDATES, max(1, int(lengths.max())))), END)
    for number, theirs in enumerate(source.theirs[:-1]):
        # Rare ones first: frequent ones are always listed.
        chosen = listed[begins[theirs] : begins[theirs + 1]][::-1][:MAX_CANDIDATES]
        candidates[number, : len(chosen)] = ours[chosen]
    return Shortlist(candidates, ours[: min(first, target.size)])
