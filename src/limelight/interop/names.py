"""Tables of tensor names in Limelight and in other formats.

A table is made for a configuration and has a row for every tensor of such a model, so that missing and additional
tensors are all reported at once.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from limelight.config import TransformerConfig
from limelight.errors import UserError, shown

SHARED = "model.shared.weight"
SOURCE_EMBEDDING = "model.encoder.embed_tokens.weight"
TARGET_EMBEDDING = "model.decoder.embed_tokens.weight"
OUTPUT = "lm_head.weight"
OUTPUT_BIAS = "output_bias"
"""Name in Limelight, where it is optional; other formats always have one, and it is converted separately."""


class Row(NamedTuple):
    """A tensor in Limelight and in a Marian model of transformers, with the same shape except for padding."""

    ours: str
    theirs: str
    width_axis: int | None
    """The axis of the model's width, which another layout of sinusoids permutes; None if there is none."""
    vocabulary: str = ""
    """The vocabulary of the rows: `source`, `target`, or `output` for the predicted classes."""


def marian_rows(config: TransformerConfig) -> list[Row]:
    """The complete table for a Marian model of transformers."""
    rows = [*_embeddings(config.tie)]
    for side, depth in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        for number in range(depth):
            layer = f"{side}.layers.{number}"
            rows += [
                Row(f"{layer}.{row.ours}", f"model.{layer}.{row.theirs}", row.width_axis) for row in _layer_rows(side)
            ]
    return rows


def marian_copies(tie: str) -> dict[str, str]:
    """Names of tied weights that a file may contain twice, with the name of the original."""
    if tie == "three-way":
        return dict.fromkeys((SOURCE_EMBEDDING, TARGET_EMBEDDING, OUTPUT), SHARED)
    return {OUTPUT: TARGET_EMBEDDING} if tie == "two-way" else {}


def _embeddings(tie: str) -> Iterator[Row]:
    if tie == "three-way":
        yield Row("encoder.embedding.weight", SHARED, 1, "target")
        return
    yield Row("encoder.embedding.weight", SOURCE_EMBEDDING, 1, "source")
    yield Row("decoder.embedding.weight", TARGET_EMBEDDING, 1, "target")
    if tie == "none":
        yield Row("output.weight", OUTPUT, 1, "output")


def _layer_rows(side: str) -> Iterator[Row]:
    yield from _attention("attention", "self_attn")
    yield from _norm("attention_sublayer.norm", "self_attn_layer_norm")
    if side == "decoder":
        yield from _attention("cross_attention", "encoder_attn")
        yield from _norm("cross_sublayer.norm", "encoder_attn_layer_norm")
    yield from _reading("feed_forward.inner", "fc1")
    yield from _writing("feed_forward.outer", "fc2")
    yield from _norm("feed_forward_sublayer.norm", "final_layer_norm")


def _attention(ours: str, theirs: str) -> Iterator[Row]:
    for part in ("query", "key", "value"):
        yield from _reading(f"{ours}.{part}_proj", f"{theirs}.{part[0]}_proj")
    yield from _writing(f"{ours}.out_proj", f"{theirs}.out_proj")


def _reading(ours: str, theirs: str) -> Iterator[Row]:
    """A linear layer whose input has the model's width."""
    yield Row(f"{ours}.weight", f"{theirs}.weight", 1)
    yield Row(f"{ours}.bias", f"{theirs}.bias", None)


def _writing(ours: str, theirs: str) -> Iterator[Row]:
    """A linear layer whose output has the model's width."""
    yield Row(f"{ours}.weight", f"{theirs}.weight", 0)
    yield Row(f"{ours}.bias", f"{theirs}.bias", 0)


def _norm(ours: str, theirs: str) -> Iterator[Row]:
    yield Row(f"{ours}.weight", f"{theirs}.weight", 0)
    yield Row(f"{ours}.bias", f"{theirs}.bias", 0)


def ctranslate2_rows(config: TransformerConfig) -> dict[str, tuple[str, ...]]:
    """The path of each variable in a CTranslate2 specification, and which of our tensors are stacked into it.

    Queries, keys and values are one product there, and so are the keys and values of cross-attention.
    """
    embedding = "encoder.embedding.weight"
    target = embedding if config.tie == "three-way" else "decoder.embedding.weight"
    places: dict[str, tuple[str, ...]] = {
        "encoder/embeddings_0/weight": (embedding,),
        "decoder/embeddings/weight": (target,),
        "decoder/projection/weight": ("output.weight" if config.tie == "none" else target,),
    }
    for side, depth in (("encoder", config.encoder_layers), ("decoder", config.decoder_layers)):
        if config.norm == "pre":
            places |= _places(f"{side}/layer_norm", ("gamma", "beta"), f"{side}.norm")
        if config.positions == "learned":
            places[f"{side}/position_encodings/encodings"] = (f"{side}.positions.table",)
        for number in range(depth):
            places |= _layer_places(f"{side}/layer_{number}", f"{side}.layers.{number}", cross=side == "decoder")
    return places


def _layer_places(theirs: str, ours: str, *, cross: bool) -> dict[str, tuple[str, ...]]:
    linear, norm = ("weight", "bias"), ("gamma", "beta")
    query, key, value, out = (f"attention.{part}_proj" for part in ("query", "key", "value", "out"))
    places = {
        **_places(f"{theirs}/self_attention/linear_0", linear, *(f"{ours}.{part}" for part in (query, key, value))),
        **_places(f"{theirs}/self_attention/linear_1", linear, f"{ours}.{out}"),
        **_places(f"{theirs}/self_attention/layer_norm", norm, f"{ours}.attention_sublayer.norm"),
        **_places(f"{theirs}/ffn/linear_0", linear, f"{ours}.feed_forward.inner"),
        **_places(f"{theirs}/ffn/linear_1", linear, f"{ours}.feed_forward.outer"),
        **_places(f"{theirs}/ffn/layer_norm", norm, f"{ours}.feed_forward_sublayer.norm"),
    }
    if cross:
        places |= {
            **_places(f"{theirs}/attention/linear_0", linear, f"{ours}.cross_{query}"),
            **_places(f"{theirs}/attention/linear_1", linear, f"{ours}.cross_{key}", f"{ours}.cross_{value}"),
            **_places(f"{theirs}/attention/linear_2", linear, f"{ours}.cross_{out}"),
            **_places(f"{theirs}/attention/layer_norm", norm, f"{ours}.cross_sublayer.norm"),
        }
    return places


def _places(theirs: str, parts: tuple[str, str], *ours: str) -> dict[str, tuple[str, ...]]:
    """A weight and a bias, each stacked from those of `ours`."""
    return {
        f"{theirs}/{part}": tuple(f"{each}.{name}" for each in ours)
        for part, name in zip(parts, ("weight", "bias"), strict=True)
    }


def require_complete(found: Iterable[str], wanted: Iterable[str], where: str) -> None:
    """Raise `UserError` that lists all missing and all additional tensors."""
    found, wanted = set(found), set(wanted)
    faults = [
        f"{what}: {_listed(names)}"
        for what, names in (("missing", wanted - found), ("left over", found - wanted))
        if names
    ]
    if faults:
        raise UserError(f"{where}: these are not the tensors of the model that is described; {'; '.join(faults)}")


def _listed(names: set[str], most: int = 12) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(shown(name) for name in listed[:most]) + more


def odd_heads(config: TransformerConfig) -> Iterator[str]:
    """Settings with which the heads do not split the model's width evenly, as other formats require."""
    for name in ("head_size", "value_size"):
        size = getattr(config, name)
        if size is not None and size * config.heads != config.d_model:
            yield f"model.{name}={size}"


def odd_parts(config: TransformerConfig) -> Iterator[str]:
    """Settings whose parts other formats have under no name that is known here."""
    for name in ("norm_type", "feed_forward", "kv_heads"):
        value = getattr(config, name)
        if value != TransformerConfig.model_fields[name].default:
            yield f"model.{name}={value}"


def refuse(reasons: Iterable[str], what: str) -> None:
    """Raise `UserError` with all reasons, if there are any."""
    listed = list(reasons)
    if listed:
        raise UserError(f"{what}: " + "; ".join(listed))
