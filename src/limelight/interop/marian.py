"""Marian's configuration, tokenizers and normalization rules, read and written."""

import re
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import sentencepiece

from limelight.config import ModelConfig, RunConfig, TransformerConfig, config_from
from limelight.errors import UserError, shown
from limelight.interop.folders import read_json, write_json
from limelight.interop.names import odd_heads, odd_parts, refuse
from limelight.tokens import (
    END,
    CharacterTokenizer,
    ListedTokenizer,
    SentencePieceTokenizer,
    Tokenizer,
    Tokenizers,
    WordPieceTokenizer,
    normalize,
)
from limelight.tokens.listed import listed_model
from limelight.tokens.metadata import read_stored
from limelight.tokens.sentencepiece_file import pieces_in, rules_of, type_of, with_rules
from limelight.tokens.stored import KINDS
from limelight.tokens.tokenizer import END_PIECE, PADDING_PIECE, UNKNOWN_PIECE
from limelight.untrusted import read_plain

RULE_NAME = "limelight"
_HANGUL = range(0xAC00, 0xD7A4)


@lru_cache(maxsize=1)
def compiled_rules() -> bytes:
    """The rules compiled by sentencepiece: 0.4 MB; takes half a second."""
    lines = (f"{_codes(found)}\t{_codes(wanted)}\n" for found, wanted in sorted(rules().items()))
    sentencepiece.set_min_log_level(2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rules.tsv"
        path.write_text("".join(lines), encoding="ascii")
        normalizer = sentencepiece.SentencePieceNormalizer(rule_tsv=str(path))
    return rules_of(normalizer.serialized_model_proto())[1]


@lru_cache(maxsize=1)
def rules() -> dict[str, str]:
    """The effect of `normalize` on each character, and on the sequences that are equivalent to one character."""
    found: dict[str, str] = {}
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        composed = unicodedata.decomposition(character)
        if (composed and not composed.startswith("<")) or code in _HANGUL or character.isspace() or character == "▁":
            for spelling in (character, *_spellings(character)):
                wanted = _normalized(spelling)
                if wanted != spelling:
                    found[spelling] = wanted
    return found


def _normalized(text: str) -> str:
    """The normalized form inside a text."""
    return normalize(f"|{text}|")[1:-1]


def _spellings(character: str) -> set[str]:
    """All canonically equivalent sequences: marks in any order, the first of them composed or not."""
    parts = unicodedata.normalize("NFD", character)
    found = set()
    for order in permutations(parts[1:]):
        marks = "".join(order)
        if unicodedata.normalize("NFD", parts[0] + marks) == parts:
            for count in range(len(marks)):
                found.add(unicodedata.normalize("NFC", parts[0] + marks[:count]) + marks[count:])
    return found


def _codes(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)


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
        raise UserError(f"{path}: a model of type {shown(repr(kind))}; Marian models (MarianMTModel) can be imported")
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


def imported_run(model: TransformerConfig, *, kind: str, joint: bool) -> RunConfig:
    """The configuration stored with an imported model: its known settings, and our search defaults."""
    tokens = {"joint": joint, **({"kind": kind} if kind in KINDS else {})}
    return config_from({"recipe": "imported", "model": model.model_dump(), "tokens": tokens})


SOURCE_MODEL, TARGET_MODEL = "source.spm", "target.spm"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
SETTINGS = "tokenizer_config.json"

_FILLER = re.compile(r"<filler\d+>")
_LANGUAGE_CODE = re.compile(r">>.+<<")
_MAX_MODEL_BYTES = 10_000_000


class Side(NamedTuple):
    """An imported vocabulary."""

    tokenizer: Tokenizer
    kind: str
    """Type of its sentencepiece model: `bpe`, `unigram`, `word` or `char`."""
    size: int
    """Number of tokens in the list."""
    theirs: list[int]
    """For each of our ids, padding included, the id in the other model."""


def refused_tokenizers(tokenizers: Tokenizers) -> Iterator[str]:
    """Reasons why these tokenizers cannot be exported."""
    for refused, kind in ((WordPieceTokenizer, "wordpiece"), (CharacterTokenizer, "characters")):
        if any(isinstance(tokenizer, refused) for tokenizer in tokenizers):
            yield f"tokens.kind={kind}: elsewhere texts are split by a sentencepiece model (bpe or unigram)"


# --- export ---


def pieces_of(tokenizers: Tokenizers) -> tuple[list[str], list[str]]:
    """All tokens of both sides, padding last; the shorter list is filled up, as both sides have the same padding id
    there.

    Raises `UserError` if two ids of a side have the same name.
    """
    lists = [each.pieces(range(each.size)) for each in tokenizers]
    longest = max(map(len, lists))
    for pieces in lists:
        if len(set(pieces)) < len(pieces):
            twice = next(piece for piece in pieces if pieces.count(piece) > 1)
            raise UserError(f"the vocabulary has the piece {shown(twice)} twice; elsewhere a piece has one id")
        pieces[-1:-1] = [f"<filler{number}>" for number in range(longest - len(pieces))]
    return lists[0], lists[1]


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


def write_sentencepiece(tokenizers: Tokenizers, folder: Path) -> None:
    """Write the sentencepiece model of each side, with rules that normalize text as `normalize` does."""
    for tokenizer, name in zip(tokenizers, (SOURCE_MODEL, TARGET_MODEL), strict=True):
        (folder / name).write_bytes(_sentencepiece_of(tokenizer))


def _sentencepiece_of(tokenizer: Tokenizer) -> bytes:
    if isinstance(tokenizer, ListedTokenizer):
        return tokenizer.sentencepiece  # it contains its own rules
    with tempfile.TemporaryDirectory() as place:
        tokenizer.save(Path(place))
        model = read_stored(Path(place)).model
    return with_rules(model, RULE_NAME, compiled_rules())


# --- import ---


def read_tokenizers(folder: Path, *, start: int) -> tuple[Side, Side]:
    """The vocabularies of both sides; the same `Side` twice if they are equal.

    Args:
        start: the first input id of the decoder, which becomes padding: no other token is ever read at this id.

    Raises `UserError` for files that are missing, damaged or do not match.
    """
    separate = (folder / SETTINGS).exists() and read_json(folder / SETTINGS).get("separate_vocabs") is True
    models = [_read_model(folder / name) for name in (SOURCE_MODEL, TARGET_MODEL)]
    vocabulary = folder / VOCABULARY
    target = _read_side(folder / (TARGET_VOCABULARY if separate else VOCABULARY), models[1], TARGET_MODEL, start)
    if not separate and models[0] == models[1]:
        return target, target
    return _read_side(vocabulary, models[0], SOURCE_MODEL, None if separate else start), target


def _read_side(vocabulary: Path, model: bytes, name: str, last: int | None) -> Side:
    ids = read_json(vocabulary)
    size = len(ids)
    if sorted(number for number in ids.values() if type(number) is int) != list(range(size)):
        raise UserError(f"{vocabulary}: the ids of its {size:,} pieces are not the numbers from 0 to {size - 1:,}")
    special = (END_PIECE, UNKNOWN_PIECE, PADDING_PIECE)
    missing = [piece for piece in special if piece not in ids]
    if missing:
        raise UserError(f"{vocabulary}: has no {' and no '.join(missing)}")
    names = sorted(ids, key=ids.__getitem__)
    others = [number for number, piece in enumerate(names) if piece not in special and not _FILLER.fullmatch(piece)]
    theirs = [ids[END_PIECE], ids[UNKNOWN_PIECE], *others, ids[PADDING_PIECE] if last is None else last]
    path = vocabulary.with_name(name)
    try:
        tokenizer = _tokenizer(model, [names[number] for number in theirs[:-1]])
        return Side(tokenizer, type_of(model), size, theirs)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _read_model(path: Path) -> bytes:
    try:
        return read_plain(path, _MAX_MODEL_BYTES)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _tokenizer(model: bytes, pieces: list[str]) -> Tokenizer:
    """The tokenizer that maps these tokens to these ids."""
    known = pieces_in(model)
    if rules_of(model)[0] == RULE_NAME and list(known) == pieces:
        bare = with_rules(model, "identity", b"")  # our text is already normalized
        return SentencePieceTokenizer(bare, kind=type_of(model), reserved=[piece for piece in pieces if known[piece]])
    reserved = [piece for piece in pieces if known.get(piece) or _LANGUAGE_CODE.fullmatch(piece)]
    return ListedTokenizer(listed_model(model, pieces), reserved=reserved)
