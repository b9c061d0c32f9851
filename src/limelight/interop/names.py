"""Tables of tensor names in Limelight and in other formats, and refusals of what other formats or ours lack.

A table names every tensor of a model with a given configuration, so that missing and additional tensors are all
reported at once. Each family of formats is one `Format`: the names of a layer's modules, which the table repeats.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from limelight.config import ModelConfig, TransformerConfig, config_from
from limelight.errors import UserError, shown
from limelight.storage.weights import SCALE

OUTPUT_BIAS = "output_bias"
"""Name in Limelight, where it is optional; tables always have it, as zeros where a model has none."""
SOURCE_EMBEDDING, TARGET_EMBEDDING, OUTPUT = "encoder.embedding.weight", "decoder.embedding.weight", "output.weight"

NEVER = -1e4
"""Bias of a class that is never predicted, such as padding: low enough for probability 0, representable in fp16."""
MAX_LISTED = 12
"""Maximum number of tensors in a message."""

Table = dict[str, tuple[str, ...]]
"""The name of each tensor in another format, and which of our tensors are stacked into it. Tied tensors have several
names there."""


_MODULES = """
    ours                       transformers             CTranslate2                Marian
    attention.query_proj       self_attn.q_proj.*       self_attention/linear_0/*  self_*q
    attention.key_proj         self_attn.k_proj.*       self_attention/linear_0/*  self_*k
    attention.value_proj       self_attn.v_proj.*       self_attention/linear_0/*  self_*v
    attention.out_proj         self_attn.out_proj.*     self_attention/linear_1/*  self_*o
    attention_sublayer.norm    self_attn_layer_norm.*   self_attention/layer_norm/* self_Wo_ln_*
    ssru.input_proj            -                        -                          rnn_W
    ssru.forget_proj           -                        -                          rnn_*f
    ssru_sublayer.norm         -                        -                          rnn_ffn_ln_*
    cross_attention.query_proj encoder_attn.q_proj.*    attention/linear_0/*       context_*q
    cross_attention.key_proj   encoder_attn.k_proj.*    attention/linear_1/*       context_*k
    cross_attention.value_proj encoder_attn.v_proj.*    attention/linear_1/*       context_*v
    cross_attention.out_proj   encoder_attn.out_proj.*  attention/linear_2/*       context_*o
    cross_sublayer.norm        encoder_attn_layer_norm.* attention/layer_norm/*    context_Wo_ln_*
    feed_forward.inner         fc1.*                    ffn/linear_0/*             ffn_*1
    feed_forward.outer         fc2.*                    ffn/linear_1/*             ffn_*2
    feed_forward_sublayer.norm final_layer_norm.*       ffn/layer_norm/*           ffn_ffn_ln_*
"""
"""The modules of a layer; `*` stands for weight or bias. Modules of ours with the same name in another format are
stacked there into one matrix."""


class Format(NamedTuple):
    """How a family of formats names its tensors.

    Attributes:
        column: its column of `_MODULES`.
        layer: beginning of the names of a layer, with its side and its number from 0 (`number`) or 1 (`ordinal`).
        linear: names of weight and bias of a linear layer.
        norm: names of weight and bias of a normalization.
        embeddings: names of the embeddings of source and target, and of the output matrix.
        shared: name of the one matrix of a model whose three are tied, before the others.
        norm_at_end: the normalization after all layers, with its side (pre-norm).
        positions: learned positions, with their side.
        bias: name of the bias of the output.
    """

    column: int
    layer: str
    linear: tuple[str, str]
    norm: tuple[str, str]
    embeddings: tuple[str, str, str]
    shared: str
    norm_at_end: str
    positions: str
    bias: str


HUGGINGFACE = Format(
    column=1,
    layer="model.{side}.layers.{number}.",
    linear=("weight", "bias"),
    norm=("weight", "bias"),
    embeddings=("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"),
    shared="model.shared.weight",
    norm_at_end="model.{side}.layer_norm.*",
    positions="model.{side}.embed_positions.weight",
    bias="final_logits_bias",
)
CTRANSLATE2 = Format(
    column=2,
    layer="{side}/layer_{number}/",
    linear=("weight", "bias"),
    norm=("gamma", "beta"),
    embeddings=("encoder/embeddings_0/weight", "decoder/embeddings/weight", "decoder/projection/weight"),
    shared="",
    norm_at_end="{side}/layer_norm/*",
    positions="{side}/position_encodings/encodings",
    bias="decoder/projection/bias",
)
MARIAN = Format(
    column=3,
    layer="{side}_l{ordinal}_",
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
    table[form.bias] = (OUTPUT_BIAS,)

    def add(theirs: str, module: str) -> None:
        """A weight and a bias; only a weight without `*`."""
        names = form.norm if module.endswith("norm") else form.linear
        for name, part in zip(names if "*" in theirs else [""], ("weight", "bias"), strict=False):
            full = theirs.replace("*", name)
            table[full] = (*table.get(full, ()), f"{module}.{part}")

    rows = [row.split() for row in _MODULES.strip().splitlines()[1:]]
    for side, depth in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if config.norm == "pre":
            add(form.norm_at_end.format(side=side), f"{side}.norm")
        if config.positions == "learned":
            table[form.positions.format(side=side)] = (f"{side}.positions.table",)
        for number in range(depth):
            begin = form.layer.format(side=side, number=number, ordinal=number + 1)
            for row in rows:
                if _has(config, side, row[0]) and row[form.column] != "-":
                    add(begin + row[form.column], f"{side}.layers.{number}.{row[0]}")
    return table


def _has(config: TransformerConfig, side: str, module: str) -> bool:
    """Whether layers of this side have such a module."""
    recurrent = side == "decoder" and config.decoder_autoreg == "ssru"
    if module.startswith("cross"):
        return side == "decoder"
    return recurrent if module.startswith("ssru") else not (recurrent and module.startswith("attention"))


class Rows(NamedTuple):
    """Which rows of another model's vocabulary become ours."""

    size: int
    """Number of tokens there."""
    theirs: Sequence[int]
    """For each of our ids, padding included, the id there; `size` if there is none, which means a row of zeros."""


def to_ours(
    theirs: Mapping[str, Tensor], form: Format, config: TransformerConfig, source: Rows, target: Rows, where: str
) -> dict[str, Tensor]:
    """The tensors of another format under our names, with rows in the order of our ids. int8 matrices stay what they
    are, with their scales.

    Raises `UserError` with all tensors that are missing, left over or of another size, and for copies of tied tensors
    that differ.
    """
    table, first = names_in(form, config), dict[tuple[str, ...], str]()
    if form is not MARIAN:  # which always has it
        theirs = {form.bias: torch.zeros(target.size), **theirs}  # left out where it is zero
    for name, ours in table.items():
        if name in theirs and first.setdefault(ours, name) != name:
            require_equal(theirs[name], theirs[first[ours]], f"{where}: {name} should be the same as {first[ours]}")
    given_names = {name for name in theirs if name.removesuffix(SCALE) not in table} | set(first.values())
    missing = {next(name for name in table if table[name] == ours) for ours in table.values() if ours not in first}
    require_complete(given_names, set(first.values()) | missing, where)
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


def with_padding(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Our tensors, with padding as a class of the output, which is never predicted."""
    embedding = weights.get(TARGET_EMBEDDING, weights[SOURCE_EMBEDDING])
    bias = weights.get(OUTPUT_BIAS, torch.zeros(len(embedding) - 1))
    padded = {**weights, OUTPUT_BIAS: functional.pad(bias, (0, 1), value=NEVER)}
    if OUTPUT in weights:
        padded[OUTPUT] = functional.pad(weights[OUTPUT], (0, 0, 0, 1))
    return padded


def to_theirs(weights: Mapping[str, Tensor], table: Table) -> dict[str, Tensor]:
    """Our tensors under the names of another format. Raises `UserError` if the table is another model's."""
    require_complete(weights.keys(), {name for names in table.values() for name in names}, "the model")
    return {theirs: torch.cat([weights[name] for name in ours]) for theirs, ours in table.items()}


def require_equal(tensor: Tensor, other: Tensor, message: str, tolerance: float = 0.0) -> None:
    """Raise `UserError` if two tensors differ; `tolerance` allows for tables stored in half precision."""
    if tensor is not other and (
        tensor.shape != other.shape or not torch.allclose(tensor.float(), other.float(), rtol=0, atol=tolerance)
    ):
        raise UserError(f"{message}, and is not")


def require_complete(names_found: Set[str], wanted: Set[str], where: str) -> None:
    """Raise `UserError` that lists all missing and all additional tensors, up to `MAX_LISTED` of each."""
    faults = []
    for what, names in (("missing", sorted(wanted - names_found)), ("left over", sorted(names_found - wanted))):
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
