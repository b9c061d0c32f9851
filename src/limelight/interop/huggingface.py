"""Import and export of Marian models in the format of transformers (`MarianMTModel`), without transformers.

config.json  generation_config.json  model.safetensors  source.spm  target.spm  vocab.json  tokenizer_config.json
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from limelight.config import Direction, ModelConfig, TransformerConfig, config_from, has_tags
from limelight.errors import UserError, shown
from limelight.files import write_folder, writing
from limelight.interop.files import Files, read_json
from limelight.interop.folders import NOTHING_LEFT, exported_card, read_card, require_new, write_json
from limelight.interop.imported import Imported
from limelight.interop.m2m100 import read_m2m100
from limelight.interop.names import (
    HUGGINGFACE,
    OUTPUT,
    SOURCE_EMBEDDING,
    TARGET_EMBEDDING,
    names_in,
    odd_heads,
    odd_parts,
    refuse,
    require_equal,
    to_ours,
    to_theirs,
    width_axis,
)
from limelight.interop.vocabularies import (
    SOURCE_MODEL,
    TARGET_MODEL,
    Side,
    pieces_of,
    read_segmentation,
    read_side,
    refused_tokenizers,
    starting_with,
    write_sentencepiece,
)
from limelight.layers.embedding import sinusoids
from limelight.storage.layout import CARD
from limelight.storage.model import StoredModel
from limelight.storage.weights import named_weights, read_weights, save_weights
from limelight.tokens import END, Tokenizers
from limelight.tokens.tokenizer import END_PIECE, PADDING_PIECE, UNKNOWN_PIECE

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
SETTINGS = "tokenizer_config.json"
NEVER = -1e4
"""Added to the logits of classes that are never predicted: low enough for probability 0, representable in fp16."""

_USE = """\
```python
from transformers import MarianMTModel, MarianTokenizer

model, tokenizer = MarianMTModel.from_pretrained("FOLDER"), MarianTokenizer.from_pretrained("FOLDER")
ids = model.generate(**tokenizer(["A sentence."], return_tensors="pt", padding=True))
print(tokenizer.batch_decode(ids, skip_special_tokens=True))
```
"""

ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "swish", "silu": "swish"}
"""Marian's names to ours."""
MAX_POSITIONS = 512
"""Number of positions of an exported model, as in published ones; transformers computes the table on loading."""

_SIZES = ("d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "encoder_ffn_dim", "vocab_size")
_SPECIAL = ("eos_token_id", "decoder_start_token_id")
# Settings that are fixed in Marian's architecture, but explicit in old files.
_FIXED = {
    "normalize_before": (False, "normalizes before each sub-layer"),
    "normalize_embedding": (False, "normalizes its embeddings"),
    "add_final_layer_norm": (False, "normalizes once more at the end"),
    "static_position_embeddings": (True, "learned its positions"),
}


class MarianConfig(NamedTuple):
    """The parts of a `config.json` that the import uses."""

    model: TransformerConfig
    source_size: int
    target_size: int
    start: int
    """The first input id of the decoder."""
    end: int


def refused_by_marian(config: ModelConfig) -> Iterator[str]:
    """Reasons why a model of this configuration cannot be exported as a Marian model."""
    if not isinstance(config, TransformerConfig):
        yield f"model.family={config.family}: a Marian model is a Transformer, and no other format takes this one"
        return
    if config.norm == "pre":
        yield (
            "model.norm=pre: a Marian model normalizes after each sub-layer, which is another function; "
            "`--to ctranslate2` takes this model, or train one with model.norm=post"
        )
    if config.decoder_autoreg != "self-attention":
        yield f"model.decoder_autoreg={config.decoder_autoreg}: the decoder of transformers' Marian has self-attention"
    if config.positions != "sinusoidal":
        yield f"model.positions={config.positions}: a Marian model has sinusoids"
    if config.sinusoid_layout == "inclusive":
        yield "model.sinusoid_layout=inclusive: the sinusoids of transformers' Marian have other rates"
    if config.score != "scaled_dot":
        yield f"model.score={config.score}: the attention of a Marian model is the scaled dot product"
    for setting in odd_parts(config):
        yield f"{setting}: only Limelight has models with this part"
    for setting in odd_heads(config):
        yield f"{setting}: the heads of a Marian model share its width among them"


def to_marian(config: TransformerConfig, *, source_size: int, target_size: int) -> dict[str, Any]:
    """The content of `config.json`; sizes include padding, which is the last id of both sides."""
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
    """The model described by a `config.json`. Raises `UserError` with all reasons if it is not supported."""
    kind = values.get("model_type")
    if kind != "marian":
        raise UserError(f"{path}: a model of type {shown(repr(kind))}; Marian, M2M100 and NLLB models can be imported")
    missing = [name for name in (*_SIZES, *_SPECIAL) if not isinstance(values.get(name), int)]
    if missing:
        raise UserError(f"{path}: an integer is required for {', '.join(missing)}")
    refuse(_refused(values), f"{path}: this model cannot be imported")
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
        yield f"activation_function={shown(repr(activation))}: supported are {', '.join(ACTIVATIONS)}"
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


# --- export ---


def export_huggingface(stored: StoredModel, folder: Path) -> None:
    """Write a model as a Marian model for transformers. It is equivalent up to rounding.

    Raises `UserError` with all reasons if the model is not supported, and if the folder exists; `RunError` if it cannot
    be written, and then nothing is left there.
    """
    require_new(folder)
    config = stored.config.model
    reasons = [*refused_by_marian(config), *refused_tokenizers(stored.tokenizers)]
    if has_tags(stored.config.data):
        reasons.append("it translates in several directions, and Marian's tokenizer has no tags for them")
    refuse(reasons, f"{stored.folder}: this model cannot be exported as a Marian model")
    assert isinstance(config, TransformerConfig)
    source, target = pieces_of(stored.tokenizers)
    classes = stored.tokenizers.target.padding
    weights = _to_theirs(named_weights(stored.model), config, size=len(target), classes=classes)

    def fill(partial: Path) -> None:
        values = to_marian(config, source_size=len(source), target_size=len(target))
        write_json(partial / CONFIG, values)
        special = {name: values[name] for name in values if name.endswith("token_id")}
        beam = stored.config.decoding.beam_size
        write_json(partial / "generation_config.json", {**special, "num_beams": beam, "max_length": MAX_POSITIONS})
        write_tokenizers(stored.tokenizers, partial)
        save_weights(partial / WEIGHTS, weights)
        card = exported_card(stored, "A Marian model for transformers", _USE)
        (partial / CARD).write_text(card, encoding="utf-8")

    with writing(folder, NOTHING_LEFT):
        write_folder(folder, fill)


def _to_theirs(
    weights: Mapping[str, Tensor], config: TransformerConfig, *, size: int, classes: int
) -> dict[str, Tensor]:
    """Our tensors under Marian's names, with `size` tokens on both sides and sines before cosines; tied ones under the
    first name. Of the output, `classes` can be predicted."""
    order = _sines_first(config)
    ours = {name: _filled(_permuted(tensor, width_axis(name), order), name, size) for name, tensor in weights.items()}
    names = {of: theirs for theirs, of in reversed(names_in(HUGGINGFACE, config).items())}
    theirs = to_theirs(ours, {name: of for of, name in names.items()}, "the model")
    bias = theirs.get(HUGGINGFACE.bias, torch.zeros(classes))
    return theirs | {HUGGINGFACE.bias: functional.pad(bias, (0, size - classes), value=NEVER)[None]}


def _sines_first(config: TransformerConfig) -> Tensor:
    """The index of our feature at each position of theirs: interleaved sinusoids alternate sines and cosines."""
    features = torch.arange(config.d_model)
    return torch.cat([features[0::2], features[1::2]]) if config.sinusoid_layout == "interleaved" else features


def _permuted(tensor: Tensor, axis: int | None, order: Tensor) -> Tensor:
    return tensor if axis is None else tensor.index_select(axis, order)


def _filled(tensor: Tensor, name: str, size: int) -> Tensor:
    """Add rows of zeros for the additional tokens of the other side; padding, if it has a row, stays last."""
    if name not in (SOURCE_EMBEDDING, TARGET_EMBEDDING, OUTPUT):
        return tensor
    zeros = tensor.new_zeros(size - len(tensor), tensor.shape[1])
    last = len(tensor) if name == OUTPUT else len(tensor) - 1
    return torch.cat([tensor[:last], zeros, tensor[last:]])


def write_tokenizers(tokenizers: Tokenizers, folder: Path) -> None:
    """Write the files of transformers' `MarianTokenizer`."""
    write_sentencepiece(tokenizers, folder)
    source, target = pieces_of(tokenizers)
    write_json(folder / VOCABULARY, {piece: number for number, piece in enumerate(source)})
    if source != target:
        write_json(folder / TARGET_VOCABULARY, {piece: number for number, piece in enumerate(target)})
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": source != target,
        "eos_token": END_PIECE,
        "unk_token": UNKNOWN_PIECE,
        "pad_token": PADDING_PIECE,
        "model_max_length": MAX_POSITIONS,
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / SETTINGS, settings)


# --- import ---


def read_huggingface(folder: Path, sources: str = "", targets: str = "") -> Imported:
    """The Marian, M2M100 or NLLB model in `folder`; of the latter two, these languages (`read_m2m100`).

    Raises `UserError` with all reasons if files are missing or damaged, or the model is not supported.
    """
    _require_weights(folder)
    path = folder / WEIGHTS
    values = read_json(folder / CONFIG)
    if values.get("model_type") == "m2m_100":
        return read_m2m100(folder, values, sources, targets)
    marian = from_marian(values, folder / CONFIG)
    source, target = read_tokenizers(folder, start=marian.start)
    _require_same(folder / CONFIG, marian, source, target)
    tensors = _without_tables(read_weights(path)[0], marian.model, path)
    tensors[HUGGINGFACE.bias] = tensors.get(HUGGINGFACE.bias, torch.zeros(target.rows.size)).flatten()
    config = marian.model.model_copy(update={"output_bias": True})
    weights = to_ours(tensors, names_in(HUGGINGFACE, config), config, source.rows, target.rows, str(path))
    directions = _languages(folder)
    what = "a Marian model of transformers"
    return Imported(what, config, source, target, weights, str(path), directions, read_card(Files(folder)))


def _languages(folder: Path) -> tuple[Direction, ...]:
    """The languages that the tokenizer's settings name."""
    settings = read_json(folder / SETTINGS) if (folder / SETTINGS).exists() else {}
    named = settings.get("source_lang"), settings.get("target_lang")
    return (Direction(*map(str, named)),) if all(isinstance(each, str) and each for each in named) else ()


def _require_weights(folder: Path) -> None:
    """Raise `UserError` if there are no weights in a supported format."""
    if (folder / WEIGHTS).is_file():
        return
    if not (folder / CONFIG).is_file():
        raise UserError(f"{folder}: not the folder of a Marian model: it holds no {CONFIG} and no {WEIGHTS}")
    others = [path.name for path in sorted(folder.glob("*.bin")) + sorted(folder.glob("*.safetensors*"))]
    if "pytorch_model.bin" in others:
        raise UserError(
            f"{folder}: its weights are a pytorch_model.bin, a pickle, which can run code when it is read. Where you "
            f"trust it, let transformers write {WEIGHTS}: MarianMTModel.from_pretrained(FOLDER).save_pretrained(FOLDER)"
        )
    raise UserError(f"{folder}: holds no {WEIGHTS}" + (f", but {', '.join(others[:5])}" if others else ""))


def _require_same(path: Path, marian: MarianConfig, source: Side, target: Side) -> None:
    """Raise `UserError` if configuration and vocabularies do not match."""
    faults = [
        f"{name} is {stated:,}, and the vocabulary of that side has {side.rows.size:,} tokens"
        for name, stated, side in (
            ("vocab_size", marian.source_size, source),
            ("decoder_vocab_size", marian.target_size, target),
        )
        if stated != side.rows.size
    ]
    if not 0 <= marian.start < marian.target_size:
        faults.append(f"decoder_start_token_id={marian.start} is not the id of a token")
    if marian.end != target.rows.theirs[END]:
        faults.append(f"eos_token_id is {marian.end}, and </s> has the id {target.rows.theirs[END]}")
    if marian.model.tie == "three-way" and not Tokenizers(source.tokenizer, target.tokenizer).one_vocabulary:
        faults.append("both sides share their embeddings, but have different vocabularies")
    refuse(faults, str(path))


def _without_tables(theirs: Mapping[str, Tensor], config: TransformerConfig, path: Path) -> dict[str, Tensor]:
    """The tensors without computed tables. Raises `UserError` if those have unexpected values."""
    found = dict(theirs)
    for side in ("encoder", "decoder"):
        name = HUGGINGFACE.positions.format(side=side)
        if name in found:
            table = found.pop(name)
            expected = sinusoids(len(table) if table.dim() else 0, config.d_model, layout="halves")
            require_equal(table, expected, f"{path}: {name} should be sinusoids, all sines before all cosines", 5e-3)
    return found


def read_tokenizers(folder: Path, *, start: int) -> tuple[Side, Side]:
    """The vocabularies of both sides; the same `Side` twice if they are equal.

    Args:
        start: the first input id of the decoder, which becomes padding: no other token is ever read at this id.

    Raises `UserError` for files that are missing, damaged or do not match.
    """
    separate = (folder / SETTINGS).exists() and read_json(folder / SETTINGS).get("separate_vocabs") is True
    models = [read_segmentation(Files(folder), name) for name in (SOURCE_MODEL, TARGET_MODEL)]
    vocabulary = folder / VOCABULARY
    target = starting_with(_side(folder / (TARGET_VOCABULARY if separate else VOCABULARY), models[1]), start)
    if not separate and models[0] == models[1]:
        return target, target
    source = _side(vocabulary, models[0])
    return (source if separate else starting_with(source, start)), target


def _side(vocabulary: Path, model: bytes) -> Side:
    ids = read_json(vocabulary)
    size = len(ids)
    if sorted(number for number in ids.values() if type(number) is int) != list(range(size)):
        raise UserError(f"{vocabulary}: the ids of its {size:,} pieces are not the numbers from 0 to {size - 1:,}")
    if PADDING_PIECE not in ids:
        raise UserError(f"{vocabulary}: has no {PADDING_PIECE}")
    try:
        return read_side(model, sorted(ids, key=ids.__getitem__))
    except UserError as error:
        raise UserError(f"{vocabulary}: {error}") from None
