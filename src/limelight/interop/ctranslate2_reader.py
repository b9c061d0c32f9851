"""Import of CTranslate2 folders, without its package, and of Argos packages, which contain one.

model.bin: version, specification and its revision; then for each variable its name, shape, type and bytes; then
pairs of names for variables that several layers share.

config.json  shared_vocabulary.* | source_vocabulary.* target_vocabulary.*  with sentencepiece models beside them
"""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from limelight.config import TransformerConfig
from limelight.errors import UserError, shown
from limelight.interop.files import DAMAGED, ByteReader, read_buffer, read_json, read_text
from limelight.interop.folders import Imported, named_direction
from limelight.interop.names import CTRANSLATE2, configured, refuse, to_ours, unknown_values
from limelight.interop.vocabularies import SOURCE_MODEL, TARGET_MODEL, Side, read_segmentation, read_sides
from limelight.layers.embedding import sinusoids
from limelight.storage.model import read_card
from limelight.storage.weights import SCALE
from limelight.tokens.tokenizer import UNKNOWN_PIECE

MODEL, CONFIG, METADATA, ARGOS_MODEL = "model.bin", "config.json", "metadata.json", "sentencepiece.model"
VERSIONS = range(4, 7)
REVISIONS = range(3, 8)
_TYPES = (np.float32, np.int8, np.int16, np.int32, np.float16, np.uint16)
"""Data types by their number; the last is bfloat16, which NumPy lacks."""
_BFLOAT16 = 5
_ACTIVATIONS = {0.0: "relu", 2.0: "swish", 3.0: "gelu"}
_SOURCE, _TARGET, _OUTPUT = CTRANSLATE2.embeddings
_EPSILON = torch.nn.LayerNorm(1).eps
_SIDES = ("encoder", "decoder")
_DEFAULTS = {"num_heads": 8.0, "pre_norm": 1.0, "activation": 0.0}
_ROTARY = {"dim": 0, "interleave": 1, "base": 10_000}
"""Our rotary positions: of the whole head, in interleaved pairs."""
_REFUSED = (
    "num_heads_kv",
    "head_dim",
    "queries_scale",
    "sliding_window",
    "rotary_scaling_type",
    "scale_outputs",
    "final_logit_softcapping",
)
"""Settings of parts that our models do not have. Tensors of such parts are left over in the table of names."""


def read_variables(content: memoryview, where: str) -> dict[str, Tensor]:
    """The variables of a `model.bin`; one that several layers share under each of its names.

    Raises `UserError` for a damaged file, and for versions that are not supported.
    """
    reader = ByteReader(content, where)
    version = reader.number("I")
    if version not in VERSIONS:
        raise UserError(f"{where}: not a CTranslate2 model, or version {version:,} of the format; known are 4 to 6")
    specification, revision = _text(reader), reader.number("I")
    if specification != "TransformerSpec" or revision not in REVISIONS:
        raise UserError(
            f"{where}: a model of kind {shown(specification)}, revision {revision:,}; encoder-decoder Transformers "
            "(TransformerSpec, revisions 3 to 7) can be imported"
        )
    arrays: dict[str, Tensor] = {}
    for _ in range(reader.number("I")):
        name = _numbered(_text(reader))
        if name in arrays:
            raise UserError(f"{where}: {shown(name)} is there twice; {DAMAGED}")
        arrays[name] = _read_array(reader, name)
    for _ in range(reader.number("I")):
        alias, name = _numbered(_text(reader)), _numbered(_text(reader))
        if name not in arrays or alias in arrays:
            raise UserError(f"{where}: {shown(alias)} stands for {shown(name)}, which is not there; {DAMAGED}")
        arrays[alias] = arrays[name]
        if (scale := arrays.get(f"{name}_scale")) is not None:
            arrays[f"{alias}_scale"] = scale
    return arrays


def _text(reader: ByteReader) -> str:
    return reader.text(reader.number("H"))


def _numbered(name: str) -> str:
    """The name with the number of the source embedding, which older files leave out."""
    return name.replace("encoder/embeddings/", "encoder/embeddings_0/")


def _read_array(reader: ByteReader, name: str) -> Tensor:
    shape = [reader.number("I") for _ in range(reader.number("B"))]
    number, length = reader.number("B"), reader.number("I")
    if number >= len(_TYPES) or len(shape) > 3:
        raise UserError(f"{reader.where}: {shown(name)} has {len(shape)} axes and type {number}; {DAMAGED}")
    if math.prod(shape) * np.dtype(_TYPES[number]).itemsize != length:
        raise UserError(f"{reader.where}: {shown(name)} is {tuple(shape)} and has {length:,} bytes; {DAMAGED}")
    tensor = torch.from_numpy(np.frombuffer(reader.take(length), _TYPES[number]).reshape(shape).copy())
    return tensor.view(torch.bfloat16) if number == _BFLOAT16 else tensor


def read_ctranslate2(folder: Path, beside: Path | None = None) -> Imported:
    """The model in a CTranslate2 folder; `beside` is the folder of an Argos package around it.

    Raises `UserError` with all reasons if a file is missing or damaged, or the model is not supported.
    """
    where = str(folder / MODEL)
    variables = read_variables(read_buffer(folder / MODEL), where)
    settings = {
        name: variable.item()  # flags are integers
        for name, variable in variables.items()
        if variable.ndim == 0 and not name.endswith("weight_scale")
    }
    for side in _SIDES:  # older files have one setting for both sides
        settings |= {
            f"{side}/{name}": settings.get(f"{side}/{name}", settings.get(name, _DEFAULTS[name])) for name in _DEFAULTS
        }
    values = _configuration(folder, settings)
    width = variables[_TARGET].shape[-1] if _TARGET in variables and variables[_TARGET].ndim == 2 else 0
    refuse(_refused(settings, values, width), f"{where}: this model cannot be imported")
    tensors = _in_our_forms({name: variable for name, variable in variables.items() if name not in settings}, where)
    config = _config(tensors, settings, where)
    source, target = _sides(folder, beside, values, settings)
    weights = to_ours(tensors, CTRANSLATE2, config, source.rows, target.rows, where)
    return Imported("a CTranslate2 model", config, source, target, weights, where, card=read_card(beside or folder))


def read_argos(folder: Path) -> Imported:
    """The model in an Argos package, with its languages. Raises `UserError` as `read_ctranslate2` does."""
    values = {"type": "translate", "target_prefix": "", **read_json(folder / METADATA)}
    reasons = [*unknown_values(values, {"type": ["translate"], "target_prefix": [""]})]
    if not (folder / ARGOS_MODEL).is_file():
        reasons.append(f"it has no {ARGOS_MODEL}; packages with a bpe.model are split by Moses' tokenizer")
    refuse(reasons, f"{folder / METADATA}: this package cannot be imported")
    imported = read_ctranslate2(folder / "model", folder)
    directions = named_direction(values.get("from_code"), values.get("to_code"))
    return imported._replace(what="an Argos package", directions=directions)


def _configuration(folder: Path, settings: Mapping[str, float]) -> dict[str, Any]:
    """The content of `config.json`; before version 6 of the format it was part of the variables."""
    if (folder / CONFIG).is_file():
        values: dict[str, Any] = read_json(folder / CONFIG)
        if "eos_token" in values:
            return values
    start = "<s>" if settings.get("with_target_bos", 1) else "</s>"
    return {"eos_token": "</s>", "unk_token": UNKNOWN_PIECE, "decoder_start_token": start} | {
        f"add_source_{side}": bool(settings.get(f"with_source_{side}")) for side in ("bos", "eos")
    }


def _in_our_forms(arrays: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """The variables with scales that multiply: an int8 matrix keeps its rows, int16 becomes fp32."""
    tensors: dict[str, Tensor] = {}
    for name, tensor in arrays.items():
        if name.endswith("weight_scale"):
            continue
        scale = arrays.get(f"{name}_scale", torch.zeros(())).float()
        has_rows = tensor.dtype == torch.int8 and tensor.ndim == 2
        fits = scale.shape == tensor.shape[:1] if has_rows else scale.numel() == 1
        if (has_rows or tensor.dtype == torch.int16) and not (fits and (scale > 0).all()):
            raise UserError(f"{where}: {shown(name)} has no positive scale for each of its rows; {DAMAGED}")
        if has_rows:
            tensors[name], tensors[name + SCALE] = tensor, scale.reciprocal()
        else:
            tensors[name] = tensor.float() / scale if tensor.dtype == torch.int16 else tensor
    return tensors


def _refused(settings: Mapping[str, float], values: Mapping[str, Any], width: int) -> Iterator[str]:
    yield from (f"{name}={value:g}" for name, value in settings.items() if name.split("/")[-1] in _REFUSED)
    known: dict[str, list[Any]] = {f"decoder/{name}": [settings[f"encoder/{name}"]] for name in _DEFAULTS}
    known |= {"decoder/alibi": [0], "encoder/activation": [*_ACTIVATIONS]}
    known |= {
        f"{side}/layer_0/self_attention/rotary_{name}": [ours] for side in _SIDES for name, ours in _ROTARY.items()
    }
    yield from unknown_values(settings, known)
    # The tokenizer of transformers adds the end to the sources of a converted Marian model.
    ends = [True, False] if settings.get("decoder/start_from_zero_embedding") else [True]
    yield from unknown_values({"add_source_eos": False, **values}, {"add_source_bos": [False], "add_source_eos": ends})
    epsilon = values.get("layer_norm_epsilon") or 0
    if not isinstance(epsilon, int | float) or not 0 <= epsilon <= _EPSILON:
        yield f"layer_norm_epsilon={shown(str(epsilon))} (supported: {_EPSILON:g})"
    for side, name in (("encoder", "embeddings_0"), ("decoder", "embeddings")):
        scale = settings.get(f"{side}/scale_embeddings", settings.get(f"{side}/{name}/multiply_by_sqrt_depth", 1))
        if width and (scale != 1 or isinstance(scale, float)) and abs(scale - width**0.5) > 1e-3:
            yield f"{side}/scale_embeddings={scale:g} (supported: {width**0.5:g}, the root of the width)"


def _config(tensors: dict[str, Tensor], settings: Mapping[str, float], where: str) -> TransformerConfig:
    """The configuration that describes the variables. Tables of sinusoids are taken out of them."""
    source, target, output = (tensors.get(name) for name in (_SOURCE, _TARGET, _OUTPUT))
    inner = tensors.get("encoder/layer_0/ffn/linear_0/weight")
    if source is None or target is None or output is None or inner is None or target.ndim != 2:
        raise UserError(f"{where}: the embeddings, or the first feed-forward network, are missing; {DAMAGED}")
    rotary = "encoder/layer_0/self_attention/rotary_dim" in settings
    layers = {match[0] for name in tensors if (match := re.match(r"(en|de)coder/layer_\d+/", name))}
    model = {
        **{f"{side}_layers": sum(name.startswith(side) for name in layers) for side in _SIDES},
        "d_model": target.shape[1],
        "heads": int(settings["encoder/num_heads"]),
        "d_ff": len(inner),
        "activation": _ACTIVATIONS[settings["encoder/activation"]],
        "norm": "pre" if settings["encoder/pre_norm"] else "post",
        "tie": "three-way" if source is target is output else "two-way" if target is output else "none",
        **({"positions": "rotary"} if rotary else _positions(tensors, where)),
    }
    return configured(model, where)


def _positions(tensors: dict[str, Tensor], where: str) -> dict[str, Any]:
    """The settings of positions. A table of other values than ours holds learned positions."""
    names = [CTRANSLATE2.positions.format(side=side) for side in _SIDES]
    tables = [tensors[name].float() for name in names if name in tensors and tensors[name].ndim == 2]
    if len(tables) < len(names):
        raise UserError(f"{where}: this model cannot be imported: it has no tables of positions")
    for layout in ("halves", "interleaved", "inclusive"):
        expected = [sinusoids(torch.arange(len(table)), table.shape[1], layout=layout) for table in tables]
        # The tolerance allows for half precision.
        if all(torch.allclose(*pair, rtol=0, atol=2e-3) for pair in zip(tables, expected, strict=True)):
            for name in names:
                del tensors[name]
            return {"positions": "sinusoidal", "sinusoid_layout": layout}
    return {"positions": "learned", "max_positions": max(map(len, tables))}


def _sides(
    folder: Path, beside: Path | None, values: Mapping[str, Any], settings: Mapping[str, float]
) -> tuple[Side, Side]:
    """The vocabularies. The decoder starts from zeros, or from a token."""
    end, unknown = (str(values.get(name)) for name in ("eos_token", "unk_token"))
    names = [_tokens(folder, side, unknown) for side in ("source", "target")]
    models = _segmentations(folder, beside)
    start = None
    if not settings.get("decoder/start_from_zero_embedding"):
        token = values.get("decoder_start_token")
        if token not in names[1]:
            raise UserError(f"{folder / CONFIG}: decoder_start_token={shown(repr(token))} is no token of the target")
        start = names[1].index(token)
    return read_sides(models, names, start, str(folder / MODEL), end=end, unknown=unknown)


def _tokens(folder: Path, side: str, unknown: str) -> list[str]:
    """The tokens of a side in the order of their ids."""
    files = [
        folder / f"{name}{kind}" for name in ("shared_vocabulary", f"{side}_vocabulary") for kind in (".json", ".txt")
    ]
    path = next((file for file in files if file.is_file()), None)
    if path is None:
        raise UserError(f"{folder / f'{side}_vocabulary.json'}: is missing, and so is shared_vocabulary.json")
    tokens = read_json(path, list) if path.suffix == ".json" else read_text(path).removesuffix("\n").split("\n")
    if not all(isinstance(token, str) for token in tokens):
        raise UserError(f"{path}: not a list of tokens; {DAMAGED}")
    return tokens if unknown in tokens else [*tokens, unknown]


def _segmentations(folder: Path, beside: Path | None) -> tuple[bytes, bytes]:
    """The sentencepiece models of source and target."""
    shared = (ARGOS_MODEL, "spm.model", "sentencepiece.bpe.model", "spiece.model")
    for parent in filter(None, (folder, beside)):
        for first, second in ((SOURCE_MODEL, TARGET_MODEL), *zip(shared, shared, strict=True)):
            if (parent / first).is_file() and (parent / second).is_file():
                return read_segmentation(parent / first), read_segmentation(parent / second)
    raise UserError(
        f"{folder / SOURCE_MODEL}: is missing: a CTranslate2 model does not contain its sentencepiece model; put the "
        f"files that came with it there as {SOURCE_MODEL} and {TARGET_MODEL}, or {ARGOS_MODEL} for both sides"
    )
