"""The configuration of a Marian model of transformers, in both directions.

Marian's is the Transformer as it was published: normalization after each sub-layer, embeddings times the root of the
width, sinusoids (all sines before all cosines).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from limelight.config import ModelConfig, RunConfig, TransformerConfig, config_from
from limelight.errors import UserError
from limelight.interop.names import odd_heads, refuse
from limelight.tokens import END
from limelight.tokens.stored import KINDS
from limelight.untrusted import shown

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
"""Theirs to ours."""
MAX_POSITIONS = 512
"""Positions of an exported model, as in the published ones: transformers computes the table when it loads."""

_SIZES = ("d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "encoder_ffn_dim", "vocab_size")
_SPECIAL = ("eos_token_id", "decoder_start_token_id")
# What a Marian model cannot be otherwise, and old files say in so many words.
_FIXED = {
    "normalize_before": (False, "normalizes before each sub-layer"),
    "normalize_embedding": (False, "normalizes its embeddings"),
    "add_final_layer_norm": (False, "normalizes once more at the end"),
    "static_position_embeddings": (True, "learned its positions"),
}


class MarianConfig(NamedTuple):
    """What of it the import goes by."""

    model: TransformerConfig
    source_size: int
    target_size: int
    start: int
    """The id the decoder reads first."""
    end: int


def refused_by_marian(config: ModelConfig) -> Iterator[str]:
    """Why a model of this configuration cannot be a Marian model."""
    if not isinstance(config, TransformerConfig):
        yield f"model.family={config.family}: a Marian model is a Transformer, and no other format takes this one"
        return
    if config.norm == "pre":
        yield (
            "model.norm=pre: a Marian model normalizes after each sub-layer, which is another function; "
            "`--to ctranslate2` takes this model, or train one with model.norm=post"
        )
    if config.positions != "sinusoidal":
        yield f"model.positions={config.positions}: a Marian model has sinusoids"
    if config.score != "scaled_dot":
        yield f"model.score={config.score}: the attention of a Marian model is the scaled dot product"
    for setting in odd_heads(config):
        yield f"{setting}: the heads of a Marian model share its width among them"


def to_marian(config: TransformerConfig, *, source_size: int, target_size: int) -> dict[str, Any]:
    """The content of `config.json`; sizes count padding, which is the last id of both sides."""
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": source_size,
        "decoder_vocab_size": target_size,
        "d_model": config.d_model,
        "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "activation_function": config.activation,
        "dropout": config.dropout,
        "activation_dropout": config.dropout,
        "attention_dropout": 0.0,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "max_position_embeddings": MAX_POSITIONS,
        "share_encoder_decoder_embeddings": config.tie == "three-way",
        "tie_word_embeddings": config.tie != "none",
        "eos_token_id": END,
        "forced_eos_token_id": END,
        "bos_token_id": None,
        "pad_token_id": target_size - 1,
        "decoder_start_token_id": target_size - 1,
    }


def from_marian(values: dict[str, Any], path: Path) -> MarianConfig:
    """The model that a `config.json` describes. Raises `UserError` with every reason why it cannot be one of ours."""
    kind = values.get("model_type")
    if kind != "marian":
        raise UserError(f"{path}: a model of type {shown(repr(kind))}; Marian models (MarianMTModel) can be imported")
    missing = [name for name in (*_SIZES, *_SPECIAL) if not isinstance(values.get(name), int)]
    if missing:
        raise UserError(f"{path}: no whole number is given for {', '.join(missing)}")
    refuse(_refused(values), f"{path}: this model cannot be taken over")
    tied = values.get("tie_word_embeddings", True)
    shared = values.get("share_encoder_decoder_embeddings", True)
    model = {
        "family": "transformer",
        "encoder_layers": values["encoder_layers"],
        "decoder_layers": values["decoder_layers"],
        "d_model": values["d_model"],
        "heads": values["encoder_attention_heads"],
        "d_ff": values["encoder_ffn_dim"],
        "activation": ACTIVATIONS[values["activation_function"]],
        "dropout": values.get("dropout", 0.1),
        "norm": "post",
        "sinusoid_layout": "halves",
        "tie": "three-way" if shared else "two-way" if tied else "none",
    }
    checked = config_from({"model": model}, where=str(path)).model
    assert isinstance(checked, TransformerConfig)
    target_size = values["vocab_size"] if shared else values.get("decoder_vocab_size") or values["vocab_size"]
    start, end = values["decoder_start_token_id"], values["eos_token_id"]
    return MarianConfig(checked, values["vocab_size"], target_size, start, end)


def _refused(values: dict[str, Any]) -> Iterator[str]:
    activation = values.get("activation_function", "gelu")
    if activation not in list(ACTIVATIONS):
        yield f"activation_function={shown(repr(activation))}: there are {', '.join(ACTIVATIONS)}"
    for name in ("attention_heads", "ffn_dim"):
        encoder, decoder = values[f"encoder_{name}"], values.get(f"decoder_{name}")
        if encoder != decoder:
            yield f"encoder_{name}={encoder} and decoder_{name}={shown(repr(decoder))}: both sides must have the same"
    if values.get("scale_embedding") is not True:
        yield "scale_embedding is not true: here embeddings are always multiplied by the root of the width"
    if values.get("share_encoder_decoder_embeddings", True) and not values.get("tie_word_embeddings", True):
        yield "share_encoder_decoder_embeddings=true and tie_word_embeddings=false contradict each other"
    for name, (expected, meaning) in _FIXED.items():
        if values.get(name, expected) is not expected:
            yield f"{name}={shown(repr(values[name]))}: the model {meaning}, which Marian's architecture does not"


def imported_run(model: TransformerConfig, *, kind: str, joint: bool) -> RunConfig:
    """The configuration that is stored with an imported model: what is known of it, and our settings of search."""
    tokens = {"joint": joint, **({"kind": kind} if kind in KINDS else {})}
    return config_from({"recipe": "imported", "model": model.model_dump(), "tokens": tokens})
