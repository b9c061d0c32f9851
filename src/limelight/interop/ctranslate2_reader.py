"""Import of CTranslate2 folders, without its package, and of Argos packages, which contain one.

model.bin: version, specification and its revision; then for each variable its name, shape, type and bytes; then
pairs of names for variables that several layers share.

config.json  shared_vocabulary.* | source_vocabulary.* target_vocabulary.*  with sentencepiece models beside them
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from limelight.config import Direction, TransformerConfig, config_from
from limelight.errors import UserError, shown
from limelight.interop.files import DAMAGED, MAX_JSON_BYTES, ByteReader, Files
from limelight.interop.folders import read_card
from limelight.interop.imported import Imported
from limelight.interop.names import CTRANSLATE2, names_in, refuse, to_ours
from limelight.interop.vocabularies import (
    SOURCE_MODEL,
    TARGET_MODEL,
    Side,
    read_segmentation,
    read_side,
    starting_with,
)
from limelight.layers.embedding import sinusoids
from limelight.storage.weights import SCALE
from limelight.tokens.tokenizer import UNKNOWN_PIECE

MODEL, CONFIG, METADATA, ARGOS_MODEL = "model.bin", "config.json", "metadata.json", "sentencepiece.model"
VERSIONS = range(2, 7)
REVISIONS = range(3, 8)
_TYPES = (np.float32, np.int8, np.int16, np.int32, np.float16, np.uint16)
"""Data types by their number; the last is bfloat16, which NumPy lacks."""
_OLD_TYPES = {4: np.float32, 2: np.int16, 1: np.int8}
"""Data types by the size of an item, before version 4."""
_BFLOAT16 = 5
_OLD_INT16_SCALE = 1000.0
"""The scale of int16 matrices that have none."""
_ACTIVATIONS = {0: "relu", 2: "swish", 3: "gelu"}
_OTHER_ACTIVATIONS = {1: "GELU by tanh", 4: "GELU by a sigmoid", 5: "tanh", 6: "sigmoid"}
_SOURCE, _TARGET, _OUTPUT = CTRANSLATE2.embeddings
_EPSILON = torch.nn.LayerNorm(1).eps
_REFUSED = {
    "layernorm_embedding/gamma": "it normalizes its embeddings",
    "embeddings_1/weight": "it reads several tokens at each position",
    "self_attention/relative_position_keys": "its positions are relative (Shaw et al. 2018)",
    "self_attention/relative_attention_bias": "its positions are a bias of attention (T5)",
    "self_attention/num_heads_kv": "several of its heads share keys and values",
    "self_attention/head_dim": "its heads do not split the width evenly",
    "self_attention/q_norm/gamma": "it normalizes queries and keys",
    "self_attention/queries_scale": "its queries have a scale of their own",
    "self_attention/rotary_scaling_type": "its rotary positions are scaled",
    "ffn/linear_0_noact/weight": "its feed-forward networks are gated",
    "project_in/weight": "it projects its embeddings",
    "scale_outputs": "its outputs are scaled",
    "final_logit_softcapping": "its logits are capped",
    "input_layer_norm/gamma": "its layers have other normalizations",
    "linear_0/weight_zero": "its matrices have zero points (AWQ)",
}
"""Ends of the names of variables that our models do not have."""
_SIDES = ("encoder", "decoder")
_DEFAULTS = {"num_heads": 8.0, "pre_norm": 1.0, "activation": 0.0}


def read_variables(content: memoryview, where: str) -> dict[str, Tensor]:
    """The variables of a `model.bin`; one that several layers share under each of its names.

    Raises `UserError` for a damaged file, and for versions that are not supported.
    """
    reader = ByteReader(content, where)
    version = reader.number("I")
    if version not in VERSIONS:
        raise UserError(f"{where}: not a CTranslate2 model, or version {version:,} of the format; known are 2 to 6")
    specification, revision = _text(reader), reader.number("I")
    if specification != "TransformerSpec":
        raise UserError(
            f"{where}: a model of kind {shown(specification)}; encoder-decoder Transformers can be imported"
        )
    if revision not in REVISIONS:
        raise UserError(f"{where}: revision {revision:,} of the specification; known are 3 to 7")
    arrays: dict[str, Tensor] = {}
    for _ in range(reader.number("I")):
        name = _numbered(_text(reader))
        if name in arrays:
            raise UserError(f"{where}: {shown(name)} is there twice; {DAMAGED}")
        arrays[name] = _read_array(reader, name, version)
    for _ in range(reader.number("I") if version > 2 else 0):
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


def _read_array(reader: ByteReader, name: str, version: int) -> Tensor:
    shape = [reader.number("I") for _ in range(reader.number("B"))]
    number, count = reader.number("B"), reader.number("I")
    types = dict(enumerate(_TYPES)) if version > 3 else _OLD_TYPES
    if number not in types or len(shape) > 3:
        raise UserError(f"{reader.where}: {shown(name)} has {len(shape)} axes and type {number}; {DAMAGED}")
    size = np.dtype(types[number]).itemsize
    bytes_ = count if version > 3 else count * size
    elements = 1
    for length in shape:
        elements *= length
    if elements * size != bytes_:
        raise UserError(f"{reader.where}: {shown(name)} is {tuple(shape)} and has {bytes_:,} bytes; {DAMAGED}")
    array = np.frombuffer(reader.take(bytes_), types[number]).reshape(shape).copy()
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if version > 3 and number == _BFLOAT16 else tensor


def read_ctranslate2(files: Files, beside: Files | None = None) -> Imported:
    """The model in a CTranslate2 folder; `beside` is the folder of an Argos package around it.

    Raises `UserError` with all reasons if a file is missing or damaged, or the model is not supported.
    """
    where = files.where(MODEL)
    found = read_variables(files.buffer(MODEL), where)
    settings = {name: float(each) for name, each in found.items() if each.ndim == 0 and not name.endswith("_scale")}
    values = _configuration(files, settings)
    refuse(_refused(found, settings, values), f"{where}: this model cannot be imported")
    tensors = _in_our_forms({name: each for name, each in found.items() if name not in settings}, where)
    config = _config(tensors, settings, where)
    source, target = _sides(files, beside, values, settings)
    weights = to_ours(tensors, names_in(CTRANSLATE2, config), config, source.rows, target.rows, where)
    return Imported("a CTranslate2 model", config, source, target, weights, where, card=read_card(beside or files))


def read_argos(files: Files) -> Imported:
    """The model in an Argos package, with its languages. Raises `UserError` as `read_ctranslate2` does."""
    values = files.json(METADATA)
    kind, prefix = values.get("type", "translate"), values.get("target_prefix", "")
    reasons = []
    if kind != "translate":
        reasons.append(f"it is a package of type {shown(repr(kind))}, not a model that translates")
    if prefix:
        reasons.append(f"its translations begin with {shown(repr(prefix))}, a token for the target language")
    if not files.has(ARGOS_MODEL):
        reasons.append(
            "it has no sentencepiece.model" + (", but a BPE for Moses' tokens" if files.has("bpe.model") else "")
        )
    refuse(reasons, f"{files.where(METADATA)}: this package cannot be imported")
    imported = read_ctranslate2(files.under("model"), files)
    languages = values.get("from_code"), values.get("to_code")
    named = tuple(code for code in languages if isinstance(code, str) and code)
    directions = (Direction(*named),) if len(named) == 2 else ()
    return replace(imported, what="an Argos package", directions=directions)


def _configuration(files: Files, settings: Mapping[str, float]) -> dict[str, Any]:
    """The content of `config.json`; before version 6 of the format it was part of the variables."""
    if files.has(CONFIG):
        found: dict[str, Any] = files.json(CONFIG)
        if "eos_token" in found:
            return found
    start = "<s>" if settings.get("with_target_bos", 1) else "</s>"
    return {"bos_token": "<s>", "eos_token": "</s>", "unk_token": UNKNOWN_PIECE, "decoder_start_token": start} | {
        f"add_source_{side}": bool(settings.get(f"with_source_{side}")) for side in ("bos", "eos")
    }


def _in_our_forms(arrays: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """The variables with scales that multiply: an int8 matrix keeps its rows, int16 becomes fp32."""
    tensors: dict[str, Tensor] = {}
    for name, tensor in arrays.items():
        if name.endswith("_scale"):
            continue
        scale = arrays.get(f"{name}_scale")
        if tensor.dtype == torch.int8 and tensor.ndim == 2:
            if scale is None or scale.shape != tensor.shape[:1] or not (scale.float() > 0).all():
                raise UserError(f"{where}: {shown(name)} has no positive scale for each of its rows; {DAMAGED}")
            tensors[name], tensors[name + SCALE] = tensor, scale.float().reciprocal()
        elif tensor.dtype == torch.int16:
            one = torch.tensor(_OLD_INT16_SCALE) if scale is None else scale.float()
            if one.numel() != 1 or not one > 0:
                raise UserError(f"{where}: {shown(name)} has no positive scale; {DAMAGED}")
            tensors[name] = tensor.float() / one
        else:
            tensors[name] = tensor
    return tensors


def _refused(found: Mapping[str, Tensor], settings: Mapping[str, float], values: Mapping[str, Any]) -> Iterator[str]:
    for ending, reason in _REFUSED.items():
        if any(name.endswith("/" + ending) for name in found):
            yield reason
    if settings.get("decoder/alibi"):
        yield "its positions are a bias of attention (ALiBi)"
    for layer in ("encoder/layer_0", "decoder/layer_0"):
        rotary = [settings.get(f"{layer}/self_attention/rotary_{name}") for name in ("dim", "interleave", "base")]
        if rotary[0] is not None and tuple(rotary) not in ((0, 1, 10_000), (0, None, None)):
            yield f"its rotary positions have dimensions, order and base {rotary}; here they are [0, 1, 10000]"
    for name in ("num_heads", "pre_norm", "activation"):
        sides = [_setting(settings, side, name) for side in ("encoder", "decoder")]
        if sides[0] != sides[1]:
            yield f"{name} is {sides[0]:g} in the encoder and {sides[1]:g} in the decoder"
    activation = _setting(settings, "encoder", "activation")
    if activation not in _ACTIVATIONS:
        yield f"its activation is {_OTHER_ACTIVATIONS.get(int(activation), f'{activation:g}')}"
    epsilon = values.get("layer_norm_epsilon")
    if epsilon is not None and not 0 <= epsilon <= _EPSILON:
        yield f"layer_norm_epsilon={epsilon:g}: here it is {_EPSILON:g}"
    if values.get("add_source_bos") or not values.get("add_source_eos"):
        yield "its sources are not a text's tokens and the end token (add_source_eos)"
    width = found[_TARGET].shape[-1] if _TARGET in found and found[_TARGET].ndim == 2 else 0
    for side, name in (("encoder", "embeddings_0"), ("decoder", "embeddings")):
        scale = settings.get(f"{side}/scale_embeddings", settings.get(f"{side}/{name}/multiply_by_sqrt_depth", 1))
        if width and scale != 1 and abs(scale - width**0.5) > 1e-3:
            yield f"{side}/scale_embeddings={scale:g}: here embeddings are multiplied by the root of the width"


def _setting(settings: Mapping[str, float], side: str, name: str) -> float:
    return settings.get(f"{side}/{name}", settings.get(name, _DEFAULTS[name]))


def _config(tensors: dict[str, Tensor], settings: Mapping[str, float], where: str) -> TransformerConfig:
    """The configuration that describes the variables. Tables of sinusoids are taken out of them."""
    source, target, output = (tensors.get(name) for name in (_SOURCE, _TARGET, _OUTPUT))
    inner = tensors.get("encoder/layer_0/ffn/linear_0/weight")
    if source is None or target is None or output is None or inner is None or target.ndim != 2:
        raise UserError(f"{where}: the embeddings, or the first feed-forward network, are missing; {DAMAGED}")
    tie = "three-way" if source is target is output else "two-way" if target is output else "none"
    positions = {"positions": "rotary"}
    if "encoder/layer_0/self_attention/rotary_dim" not in settings:
        positions = _positions(tensors, where)
    depths = [
        len({found[1] for name in tensors if (found := re.match(side + r"/layer_(\d+)/", name))}) for side in _SIDES
    ]
    model = {
        "family": "transformer",
        "encoder_layers": depths[0],
        "decoder_layers": depths[1],
        "d_model": target.shape[1],
        "heads": int(_setting(settings, "encoder", "num_heads")),
        "d_ff": len(inner),
        "activation": _ACTIVATIONS[int(_setting(settings, "encoder", "activation"))],
        "norm": "pre" if _setting(settings, "encoder", "pre_norm") else "post",
        "tie": tie,
        "output_bias": True,
        **positions,
    }
    config = config_from({"model": model}, where=where).model
    assert isinstance(config, TransformerConfig)
    return config


def _positions(tensors: dict[str, Tensor], where: str) -> dict[str, Any]:
    """The settings of positions. A table of other values than ours is that of learned positions."""
    names = [CTRANSLATE2.positions.format(side=side) for side in _SIDES]
    tables = [tensors.get(name) for name in names]
    if any(table is None or table.ndim != 2 for table in tables):
        raise UserError(f"{where}: this model cannot be imported: it has no tables of positions")
    for layout in ("halves", "interleaved", "inclusive"):
        if all(_are_sinusoids(table, layout) for table in tables if table is not None):
            for name in names:
                tensors.pop(name, None)
            return {"positions": "sinusoidal", "sinusoid_layout": layout}
    return {"positions": "learned", "max_positions": max(len(table) for table in tables if table is not None)}


def _are_sinusoids(table: Tensor, layout: str) -> bool:
    """Whether these are our sinusoids; the tolerance is that of half precision."""
    expected = sinusoids(len(table), table.shape[1], layout=layout)
    return torch.allclose(table.float(), expected, rtol=0, atol=2e-3)


def _sides(
    files: Files, beside: Files | None, values: Mapping[str, Any], settings: Mapping[str, float]
) -> tuple[Side, Side]:
    """The vocabularies; the same object twice if they are equal. The decoder starts from zeros, or from a token."""
    end, unknown = (str(values.get(name)) for name in ("eos_token", "unk_token"))
    names = [_tokens(files, side, unknown) for side in ("source", "target")]
    models = _segmentations(files, beside)
    start = None
    if not settings.get("decoder/start_from_zero_embedding"):
        token = values.get("decoder_start_token")
        if token not in names[1]:
            raise UserError(
                f"{files.where(CONFIG)}: decoder_start_token={shown(repr(token))} is no token of the target"
            )
        start = names[1].index(token)
    try:
        target = starting_with(read_side(models[1], names[1], end=end, unknown=unknown), start)
        if names[0] == names[1] and models[0] == models[1]:
            return target, target
        source = read_side(models[0], names[0], end=end, unknown=unknown)
        return (starting_with(source, start) if names[0] == names[1] else source), target
    except UserError as error:
        raise UserError(f"{files.where(MODEL)}: {error}") from None


def _tokens(files: Files, side: str, unknown: str) -> list[str]:
    """The tokens of a side in the order of their ids."""
    for name in ("shared_vocabulary.{}", f"{side}_vocabulary.{{}}"):
        if files.has(name.format("json")):
            path = name.format("json")
            found = files.json(path, list)
            if not all(isinstance(token, str) for token in found):
                raise UserError(f"{files.where(path)}: not a list of tokens; {DAMAGED}")
            break
        if files.has(name.format("txt")):
            found = _lines(files, name.format("txt"))
            break
    else:
        raise UserError(f"{files.where(f'{side}_vocabulary.json')}: is missing, and so is shared_vocabulary.json")
    return found if unknown in found else [*found, unknown]


def _lines(files: Files, name: str) -> list[str]:
    try:
        lines = files.read(name, MAX_JSON_BYTES).decode().split("\n")
    except UnicodeDecodeError as error:
        raise UserError(f"{files.where(name)}: damaged: not UTF-8: {error}") from None
    return lines[:-1] if lines[-1] == "" else lines


def _segmentations(files: Files, beside: Files | None) -> tuple[bytes, bytes]:
    """The sentencepiece models of source and target."""
    one = (ARGOS_MODEL, "spm.model", "sentencepiece.bpe.model", "spiece.model")
    for place in (files, *([beside] if beside else [])):
        for pair in ((SOURCE_MODEL, TARGET_MODEL), *((name, name) for name in one)):
            if place.has(pair[0]) and place.has(pair[1]):
                first, second = (read_segmentation(place, name) for name in pair)
                return first, second
    raise UserError(
        f"{files.where(SOURCE_MODEL)}: is missing: a CTranslate2 model does not contain its sentencepiece model; put "
        f"the files that came with it there as {SOURCE_MODEL} and {TARGET_MODEL}, or {ARGOS_MODEL} for both sides"
    )
