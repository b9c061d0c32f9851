"""Tables of tensor names in Limelight and in other formats, and refusals of what other formats or ours lack.

A table names every tensor of a model with a given configuration, so that missing and additional tensors are all
reported at once. Each family of formats is one `Format`: the names of a layer's modules, which the table repeats.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from limelight.config import ModelConfig, TransformerConfig, config_from
from limelight.errors import UserError, shown
from limelight.storage.weights import SCALE, is_scale

OUTPUT_BIAS = "output_bias"
"""Name in Limelight, where it is optional."""
SOURCE_EMBEDDING, TARGET_EMBEDDING, OUTPUT = "encoder.embedding.weight", "decoder.embedding.weight", "output.weight"

MAX_LISTED = 12
"""Maximum number of tensors in a message."""

Table = dict[str, tuple[str, ...]]
"""The name of each tensor in another format, and which of our tensors are stacked into it. Tied tensors have several
names there."""


class Format(NamedTuple):
    """How a family of formats names its tensors.

    Attributes:
        layer: beginning of the names of a layer, with its side and its number from 0 (`number`) or 1 (`ordinal`).
        modules: the modules of a layer; `*` stands for weight or bias. Several of ours are one matrix there.
        linear: names of weight and bias of a linear layer.
        norm: names of weight and bias of a normalization.
        embeddings: names of the embeddings of source and target, and of the output matrix.
        shared: name of the one matrix of a model whose three are tied, before the others.
        norm_at_end: the normalization after all layers, with its side (pre-norm).
        positions: learned positions, with their side.
        bias: name of the bias of the output.
    """

    layer: str
    modules: Mapping[str, tuple[str, ...]]
    linear: tuple[str, str]
    norm: tuple[str, str]
    embeddings: tuple[str, str, str]
    shared: str
    norm_at_end: str
    positions: str
    bias: str


_QUERY, _KEY, _VALUE, _OUT = (f"attention.{part}_proj" for part in ("query", "key", "value", "out"))
_CROSS_QUERY, _CROSS_KEY, _CROSS_VALUE, _CROSS_OUT = (f"cross_{part}" for part in (_QUERY, _KEY, _VALUE, _OUT))
_NORM, _CROSS_NORM, _LAST_NORM = (f"{part}_sublayer.norm" for part in ("attention", "cross", "feed_forward"))
_INNER, _OUTER = "feed_forward.inner", "feed_forward.outer"

HUGGINGFACE = Format(
    layer="model.{side}.layers.{number}.",
    modules={
        "self_attn.q_proj.*": (_QUERY,),
        "self_attn.k_proj.*": (_KEY,),
        "self_attn.v_proj.*": (_VALUE,),
        "self_attn.out_proj.*": (_OUT,),
        "self_attn_layer_norm.*": (_NORM,),
        "encoder_attn.q_proj.*": (_CROSS_QUERY,),
        "encoder_attn.k_proj.*": (_CROSS_KEY,),
        "encoder_attn.v_proj.*": (_CROSS_VALUE,),
        "encoder_attn.out_proj.*": (_CROSS_OUT,),
        "encoder_attn_layer_norm.*": (_CROSS_NORM,),
        "fc1.*": (_INNER,),
        "fc2.*": (_OUTER,),
        "final_layer_norm.*": (_LAST_NORM,),
    },
    linear=("weight", "bias"),
    norm=("weight", "bias"),
    embeddings=("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"),
    shared="model.shared.weight",
    norm_at_end="model.{side}.layer_norm.*",
    positions="model.{side}.embed_positions.weight",
    bias="final_logits_bias",
)
CTRANSLATE2 = Format(
    layer="{side}/layer_{number}/",
    modules={
        "self_attention/linear_0/*": (_QUERY, _KEY, _VALUE),
        "self_attention/linear_1/*": (_OUT,),
        "self_attention/layer_norm/*": (_NORM,),
        "attention/linear_0/*": (_CROSS_QUERY,),
        "attention/linear_1/*": (_CROSS_KEY, _CROSS_VALUE),
        "attention/linear_2/*": (_CROSS_OUT,),
        "attention/layer_norm/*": (_CROSS_NORM,),
        "ffn/linear_0/*": (_INNER,),
        "ffn/linear_1/*": (_OUTER,),
        "ffn/layer_norm/*": (_LAST_NORM,),
    },
    linear=("weight", "bias"),
    norm=("gamma", "beta"),
    embeddings=("encoder/embeddings_0/weight", "decoder/embeddings/weight", "decoder/projection/weight"),
    shared="",
    norm_at_end="{side}/layer_norm/*",
    positions="{side}/position_encodings/encodings",
    bias="decoder/projection/bias",
)
MARIAN = Format(
    layer="{side}_l{ordinal}_",
    modules={
        "self_*q": (_QUERY,),
        "self_*k": (_KEY,),
        "self_*v": (_VALUE,),
        "self_*o": (_OUT,),
        "self_Wo_ln_*": (_NORM,),
        "rnn_W": ("ssru.input_proj",),
        "rnn_*f": ("ssru.forget_proj",),
        "rnn_ffn_ln_*": ("ssru_sublayer.norm",),
        "context_*q": (_CROSS_QUERY,),
        "context_*k": (_CROSS_KEY,),
        "context_*v": (_CROSS_VALUE,),
        "context_*o": (_CROSS_OUT,),
        "context_Wo_ln_*": (_CROSS_NORM,),
        "ffn_*1": (_INNER,),
        "ffn_*2": (_OUTER,),
        "ffn_ffn_ln_*": (_LAST_NORM,),
    },
    linear=("W", "b"),
    norm=("scale", "bias"),
    embeddings=("encoder_Wemb", "decoder_Wemb", "decoder_ff_logit_out_W"),
    shared="Wemb",
    norm_at_end="{side}_top_ln_*",
    positions="{side}_Wpos",
    bias="decoder_ff_logit_out_b",
)


def names_in(form: Format, config: TransformerConfig) -> Table:
    """The complete table for a model of this configuration."""
    target = SOURCE_EMBEDDING if config.tie == "three-way" else TARGET_EMBEDDING
    ours = SOURCE_EMBEDDING, target, OUTPUT if config.tie == "none" else target
    shared = form.shared and config.tie == "three-way"
    table: Table = {form.shared: (SOURCE_EMBEDDING,)} if shared else {}
    table |= {theirs: (name,) for theirs, name in zip(form.embeddings, ours, strict=True)}
    if config.output_bias:
        table[form.bias] = (OUTPUT_BIAS,)
    for side, depth in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if config.norm == "pre":
            table |= _parts(form.norm_at_end.format(side=side), (f"{side}.norm",), form)
        if config.positions == "learned":
            table[form.positions.format(side=side)] = (f"{side}.positions.table",)
        for number in range(depth):
            begin = form.layer.format(side=side, number=number, ordinal=number + 1)
            for theirs, modules in form.modules.items():
                if _has(config, side, modules[0]):
                    table |= _parts(begin + theirs, tuple(f"{side}.layers.{number}.{name}" for name in modules), form)
    return table


def _has(config: TransformerConfig, side: str, module: str) -> bool:
    """Whether layers of this side have such a module."""
    recurrent = side == "decoder" and config.decoder_autoreg == "ssru"
    if module.startswith("cross"):
        return side == "decoder"
    return recurrent if module.startswith("ssru") else not (recurrent and module.startswith("attention"))


def _parts(theirs: str, ours: tuple[str, ...], form: Format) -> Table:
    """A weight and a bias, each stacked from those of `ours`; only a weight without `*`."""
    if "*" not in theirs:
        return {theirs: tuple(f"{name}.weight" for name in ours)}
    names = form.norm if ours[0].endswith("norm") else form.linear
    return {
        theirs.replace("*", name): tuple(f"{each}.{part}" for each in ours)
        for name, part in zip(names, ("weight", "bias"), strict=True)
    }


class Rows(NamedTuple):
    """Which rows of another model's vocabulary become ours."""

    size: int
    """Number of tokens there."""
    theirs: Sequence[int]
    """For each of our ids, padding included, the id there; `size` if there is none, which means a row of zeros."""


def to_ours(
    theirs: Mapping[str, Tensor], table: Table, config: TransformerConfig, source: Rows, target: Rows, where: str
) -> dict[str, Tensor]:
    """The tensors of another format under our names, with rows in the order of our ids. int8 matrices stay what they
    are, with their scales.

    Raises `UserError` with all tensors that are missing, left over or of another size, and for copies of tied tensors
    that differ.
    """
    first: dict[tuple[str, ...], str] = {}
    for name, ours in table.items():
        if name in theirs and first.setdefault(ours, name) != name:
            require_equal(theirs[name], theirs[first[ours]], f"{where}: {name} should be the same as {first[ours]}")
    there = {name for name in theirs if name not in table and not is_scale(name, theirs)} | set(first.values())
    missing = {next(name for name in table if table[name] == ours) for ours in table.values() if ours not in first}
    require_complete(there, set(first.values()) | missing, where)
    weights: dict[str, Tensor] = {}
    faults = []
    for ours, name in first.items():
        for ending in ("", SCALE) if name + SCALE in theirs else ("",):
            tensor = theirs[name + ending]
            if tensor.ndim == 0 or len(tensor) % len(ours):
                faults.append(f"{shown(name)} is {tuple(tensor.shape)}, not the rows of {len(ours)} of our tensors")
                continue
            for part, chunk in zip(ours, tensor.chunk(len(ours)), strict=True):
                rows = _rows_of(part, config, source, target)
                if rows is None:
                    weights[part + ending] = chunk.clone()
                elif len(chunk) != rows.size:
                    faults.append(f"{shown(name)} is {tuple(tensor.shape)}, and there are {rows.size:,} tokens")
                else:
                    weights[part + ending] = _selected(chunk, rows, 1.0 if ending else 0.0)
    refuse(faults, where)
    return weights


def _rows_of(name: str, config: TransformerConfig, source: Rows, target: Rows) -> Rows | None:
    """The rows of one of our tensors, if its first axis is a vocabulary. Padding is never predicted."""
    if name in (OUTPUT, OUTPUT_BIAS):
        return target._replace(theirs=target.theirs[:-1])
    if name == TARGET_EMBEDDING or (name == SOURCE_EMBEDDING and config.tie == "three-way"):
        return target
    return source if name == SOURCE_EMBEDDING else None


def _selected(tensor: Tensor, rows: Rows, new: float) -> Tensor:
    if rows.size in rows.theirs:
        tensor = functional.pad(tensor, (0, 0) * (tensor.ndim - 1) + (0, 1), value=new)
    return tensor[torch.as_tensor(rows.theirs)]


def to_theirs(weights: Mapping[str, Tensor], table: Table, where: str) -> dict[str, Tensor]:
    """Our tensors under the names of another format. Raises `UserError` if the table is not that of the model."""
    require_complete(weights, {name for names in table.values() for name in names}, where)
    return {theirs: torch.cat([weights[name] for name in ours]) for theirs, ours in table.items()}


def require_equal(some: Tensor, other: Tensor, message: str, tolerance: float = 0.0) -> None:
    """Raise `UserError` if two tensors differ; `tolerance` allows for tables stored in half precision."""
    if some is not other and (
        some.shape != other.shape or not torch.allclose(some.float(), other.float(), rtol=0, atol=tolerance)
    ):
        raise UserError(f"{message}, and is not")


def require_complete(found: Iterable[str], wanted: Iterable[str], where: str) -> None:
    """Raise `UserError` that lists all missing and all additional tensors, up to `MAX_LISTED` of each."""
    found, wanted = set(found), set(wanted)
    faults = []
    for what, names in (("missing", sorted(wanted - found)), ("left over", sorted(found - wanted))):
        if names:
            more = [f"and {len(names) - MAX_LISTED} more"] if len(names) > MAX_LISTED else []
            faults.append(f"{what}: {', '.join([*map(shown, names[:MAX_LISTED]), *more])}")
    refuse(faults, f"{where}: these are not the tensors of the model that is described")


_SHARED = {
    "score": ("scaled_dot",),
    "decoder_autoreg": ("self-attention",),
    "norm_type": ("layer_norm",),
    "feed_forward": ("mlp",),
    "kv_heads": (None,),
}
"""Settings of ours, with the values that every other format has."""


def lacking(config: ModelConfig, others: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Reasons why a model cannot go to a format that has only `others` of our settings."""
    if not isinstance(config, TransformerConfig):
        yield f"model.family={config.family}: no other format has this family of models"
        return
    width = (None, config.d_model // config.heads)
    known = {**_SHARED, **others, "head_size": width, "value_size": width}
    yield from (f"model.{reason}" for reason in unknown_values(config.model_dump(), known))


def unknown_values(values: Mapping[str, Any], known: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """The settings with another value than the `known` ones."""
    for name, supported in known.items():
        if name in values and values[name] not in supported:
            choices = ", ".join(str(value) for value in supported if value not in (None, ""))
            yield f"{name}={shown(str(values[name]))}" + (f" (supported: {choices})" if choices else "")


def refuse(reasons: Iterable[str], what: str) -> None:
    """Raise `UserError` with all reasons, if there are any."""
    listed = list(reasons)
    if listed:
        raise UserError(f"{what}: " + "; ".join(listed))


def configured(settings: Mapping[str, Any], where: str) -> TransformerConfig:
    """The Transformer with these settings. Raises `UserError` with those that are out of bounds."""
    config = config_from({"model": {"family": "transformer", **settings}}, where=where).model
    assert isinstance(config, TransformerConfig)
    return config
