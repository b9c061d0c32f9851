"""Import and export of Marian models in the format of transformers (`MarianMTModel`), and import of M2M100 and NLLB.
None of it needs transformers.

config.json  generation_config.json  model.safetensors  source.spm  target.spm  vocab.json  tokenizer_config.json
config.json  model.safetensors  sentencepiece.bpe.model  vocab.json | tokenizer.json

M2M100 and NLLB are pre-norm, and every language has a token: a source begins with the token of its language, a
translation with the token of the target language, which is forced. The tokens of the languages that are imported get
our names (`<2de>`).
"""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from limelight.config import UNNAMED, Direction, TransformerConfig, directions_of, has_tags
from limelight.errors import UserError, shown
from limelight.files import require_new
from limelight.interop.files import read_json
from limelight.interop.folders import Imported, exported_card, named_direction, new_folder, write_json
from limelight.interop.names import (
    HUGGINGFACE,
    configured,
    lacking,
    names_in,
    refuse,
    require_equal,
    to_ours,
    to_theirs,
    unknown_values,
    with_padding,
)
from limelight.interop.vocabularies import (
    SOURCE_MODEL,
    TARGET_MODEL,
    Side,
    numbered,
    read_segmentation,
    read_side,
    read_sides,
    refused_tokenizers,
    starting_with,
    write_sentencepiece,
)
from limelight.layers.embedding import sinusoids
from limelight.storage.layout import CARD
from limelight.storage.model import StoredModel, read_card
from limelight.storage.weights import named_weights, read_weights, save_weights
from limelight.tokens import END, Tokenizers
from limelight.tokens.tokenizer import END_PIECE, PADDING_PIECE, UNKNOWN_PIECE, language_tag

CONFIG, WEIGHTS, SETTINGS = "config.json", "model.safetensors", "tokenizer_config.json"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
MAX_POSITIONS = 512
"""Number of positions of an exported model, as in published ones; transformers computes the table on loading."""
MAX_TABLE = 1 << 28
"""Maximum numbers in a table of positions, which is computed before the weights are compared with the configuration."""

_HEADER = """\
---
library_name: transformers
pipeline_tag: translation
language: {}
---

"""
"""What the hub reads of a card."""
_USE = """\
```python
from transformers import MarianMTModel, MarianTokenizer

model, tokenizer = MarianMTModel.from_pretrained("FOLDER"), MarianTokenizer.from_pretrained("FOLDER")
ids = model.generate(**tokenizer(["A sentence."], return_tensors="pt", padding=True))
print(tokenizer.batch_decode(ids, skip_special_tokens=True))
```
"""
_NAMES = {
    "d_model": ["d_model"],
    "encoder_layers": ["encoder_layers"],
    "decoder_layers": ["decoder_layers"],
    "heads": ["encoder_attention_heads", "decoder_attention_heads"],
    "d_ff": ["encoder_ffn_dim", "decoder_ffn_dim"],
    "activation": ["activation_function"],
    "dropout": ["dropout"],
}
"""Our settings and theirs, of which some are one for each side."""
_REQUIRED_NUMBERS = ("vocab_size", "decoder_start_token_id", "eos_token_id", "max_position_embeddings")
_OPTIONAL = {
    "activation_function": "gelu",
    "dropout": 0.1,
    "scale_embedding": False,
    "decoder_attention_heads": None,
    "decoder_ffn_dim": None,
    "max_position_embeddings": MAX_POSITIONS,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
}
"""Settings that transformers leaves out if they have these values."""


# --- export ---


def export_huggingface(stored: StoredModel, folder: Path, *, quantization: str = "float32") -> None:
    """Write a model as a Marian model for transformers. It is equivalent up to rounding.

    Raises `UserError` with all reasons if the model is not supported, and if the folder exists; `RunError` if it cannot
    be written, and then nothing is left there.
    """
    require_new(folder)
    config = stored.config.model
    forms = {"norm": ["post"], "positions": ["sinusoidal"], "sinusoid_layout": ["interleaved", "halves"]}
    reasons = [*lacking(config, forms), *refused_tokenizers(stored.tokenizers)]
    if has_tags(stored.config.data):
        reasons.append("it translates in several directions, and Marian's tokenizer has no tags for them")
    if not stored.tokenizers.one_vocabulary:
        reasons.append("it has two vocabularies (tokens.joint=false)")
    if quantization != "float32":
        reasons.append(f"its weights are in float32, not in {quantization}: leave out --quantization")
    refuse(reasons, f"{stored.folder}: no Marian model of transformers (--to ctranslate2 has more forms)")
    assert isinstance(config, TransformerConfig)
    values = _settings(config, stored.tokenizers.target.size)
    special = {name: value for name, value in values.items() if name.endswith("token_id")}
    search = {**special, "num_beams": stored.config.decoding.beam_size, "max_length": MAX_POSITIONS}
    directions = directions_of(stored.config.data)
    languages = sorted({language for direction in directions for language in direction.languages if language})
    weights = _to_theirs(named_weights(stored.model), config)

    with new_folder(folder) as partial:
        write_json(partial / CONFIG, values)
        write_json(partial / "generation_config.json", search)
        write_tokenizers(stored.tokenizers, partial, *directions)
        save_weights(partial / WEIGHTS, weights)
        card = exported_card(stored, "A Marian model for transformers", _USE)
        (partial / CARD).write_text(_HEADER.format(languages) + card, encoding="utf-8")


def _settings(config: TransformerConfig, size: int) -> dict[str, Any]:
    """The content of `config.json`; the size includes padding, which is the last id."""
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": size,
        "decoder_vocab_size": size,
        **{theirs: getattr(config, ours) for ours, names in _NAMES.items() for theirs in names},
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
        "pad_token_id": size - 1,
        "decoder_start_token_id": size - 1,
    }


def _to_theirs(weights: Mapping[str, Tensor], config: TransformerConfig) -> dict[str, Tensor]:
    """Our tensors under Marian's names, with sines before cosines; tied ones under the first name."""
    order = torch.arange(config.d_model)
    if config.sinusoid_layout == "interleaved":
        order = torch.cat([order[0::2], order[1::2]])
    ours = {}
    for name, tensor in weights.items():
        axis = width_axis(name)
        ours[name] = tensor if axis is None else tensor.index_select(axis, order)
    names = {of: theirs for theirs, of in reversed(names_in(HUGGINGFACE, config).items())}
    theirs = to_theirs(with_padding(ours), {name: of for of, name in names.items()})
    return theirs | {HUGGINGFACE.bias: theirs[HUGGINGFACE.bias][None]}


def width_axis(name: str) -> int | None:
    """The axis of one of our tensors that has the model's width, which another layout of sinusoids permutes."""
    module, _, part = name.rpartition(".")
    if module.endswith(("norm", "out_proj", "outer")):
        return 0
    return 1 if part == "weight" else None


def write_tokenizers(tokenizers: Tokenizers, folder: Path, direction: Direction = UNNAMED) -> None:
    """Write the files of transformers' `MarianTokenizer`, of which both sides have the same tokens. Raises `UserError`
    if two ids have the same name."""
    ids = numbered(tokenizers.target.pieces(range(tokenizers.target.size)))
    write_sentencepiece(tokenizers, folder)
    write_json(folder / VOCABULARY, ids)
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "separate_vocabs": False,
        "eos_token": END_PIECE,
        "unk_token": UNKNOWN_PIECE,
        "pad_token": PADDING_PIECE,
        **dict(zip(("source_lang", "target_lang"), filter(None, direction.languages), strict=False)),
        "model_max_length": MAX_POSITIONS,
        "clean_up_tokenization_spaces": False,
    }
    write_json(folder / SETTINGS, settings)


# --- import ---


def read_huggingface(folder: Path, sources: str, targets: str) -> Imported:
    """The Marian, M2M100 or NLLB model in `folder`; of the latter two, these languages (`read_m2m100`).

    Raises `UserError` with all reasons if files are missing or damaged, or the model is not supported.
    """
    where = str(folder / WEIGHTS)
    if not (folder / WEIGHTS).is_file():
        raise UserError(
            f"{where}: is missing. Where weights are in several files, or a pickle (pytorch_model.bin), which can run "
            "code when it is read, and you trust it, let transformers write the file: AutoModelForSeq2SeqLM."
            "from_pretrained(FOLDER).save_pretrained(FOLDER, max_shard_size='50GB')"
        )
    values = _OPTIONAL | read_json(folder / CONFIG)
    config = read_config(values, str(folder / CONFIG))
    if values["model_type"] == "m2m_100":
        return read_m2m100(folder, values, config, sources, targets)
    source, target = read_tokenizers(folder, start=values["decoder_start_token_id"])
    faults = []
    if values["eos_token_id"] != target.rows.theirs[END]:
        faults.append(f"eos_token_id is {values['eos_token_id']}, and </s> has the id {target.rows.theirs[END]}")
    if config.tie == "three-way" and not Tokenizers(source.tokenizer, target.tokenizer).one_vocabulary:
        faults.append("both sides share their embeddings, but have different vocabularies")
    refuse(faults, str(folder / CONFIG))
    tensors = read_weights(folder / WEIGHTS)[0]
    for side in ("encoder", "decoder"):
        name = HUGGINGFACE.positions.format(side=side)
        if name in tensors:
            table = tensors.pop(name)
            rows = len(table) if table.shape[1:] == (config.d_model,) else 0
            expected = sinusoids(torch.arange(rows), config.d_model, layout="halves")
            require_equal(table, expected, f"{where}: {name} should be sinusoids, all sines before all cosines", 5e-3)
    if HUGGINGFACE.bias in tensors:
        tensors[HUGGINGFACE.bias] = tensors[HUGGINGFACE.bias].flatten()
    weights = to_ours(tensors, HUGGINGFACE, config, source.rows, target.rows, where)
    settings = _tokenizer_settings(folder)
    directions = named_direction(settings.get("source_lang"), settings.get("target_lang"))
    return Imported(
        "a Marian model of transformers", config, source, target, weights, where, directions, read_card(folder)
    )


def read_config(values: Mapping[str, Any], where: str) -> TransformerConfig:
    """The model described by a `config.json` with all `_OPTIONAL` settings. Raises `UserError` with all reasons if it
    is not supported."""
    kind = values.get("model_type")
    if kind not in ("marian", "m2m_100"):
        raise UserError(f"{where}: a model of type {shown(repr(kind))}; Marian, M2M100 and NLLB models can be imported")
    missing = [name for name in _REQUIRED_NUMBERS if not isinstance(values.get(name), int)]
    if missing:
        raise UserError(f"{where}: an integer is required for {', '.join(missing)}")
    known: dict[str, list[Any]] = {
        "activation_function": ["relu", "gelu", "swish", "silu"],
        "scale_embedding": [True],
        **{other: [values.get(first)] for first, *others in _NAMES.values() for other in others},
        "tie_word_embeddings": [True] if values["share_encoder_decoder_embeddings"] else [True, False],
    }
    if kind == "marian":  # explicit in old files only
        known |= {name: [False] for name in ("normalize_before", "normalize_embedding", "add_final_layer_norm")}
        known["static_position_embeddings"] = [True]
    refuse(unknown_values(values, known), f"{where}: this model cannot be imported")
    settings = {ours: values.get(names[0]) for ours, names in _NAMES.items()}
    if settings["activation"] == "silu":
        settings["activation"] = "swish"
    if kind == "marian":
        shared, tied = values["share_encoder_decoder_embeddings"], values["tie_word_embeddings"]
        tie = "three-way" if shared else "two-way" if tied else "none"
        settings |= {"norm": "post", "sinusoid_layout": "halves", "tie": tie}
    else:
        settings |= {"norm": "pre", "positions": "learned", "max_positions": values["max_position_embeddings"]}
    config = configured(settings, where)
    if config.d_model * config.max_positions > MAX_TABLE:
        raise UserError(f"{where}: d_model and max_position_embeddings are larger than those of any known model")
    return config


def read_tokenizers(folder: Path, *, start: int) -> tuple[Side, Side]:
    """The vocabularies of both sides; the same `Side` twice if they are equal.

    Args:
        start: the first input id of the decoder, which becomes padding: no other token is ever read at this id.

    Raises `UserError` for files that are missing, damaged or do not match.
    """
    target = TARGET_VOCABULARY if _tokenizer_settings(folder).get("separate_vocabs") is True else VOCABULARY
    models = [read_segmentation(folder / name) for name in (SOURCE_MODEL, TARGET_MODEL)]
    files = [folder / name for name in (VOCABULARY, target)]
    return read_sides(models, list(map(_listed, files)), start, " and ".join(dict.fromkeys(map(str, files))))


def _tokenizer_settings(folder: Path) -> dict[str, Any]:
    return dict(read_json(folder / SETTINGS)) if (folder / SETTINGS).is_file() else {}


def _listed(path: Path) -> list[str]:
    """The tokens in a file of ids, in their order."""
    ids = read_json(path)
    if sorted(number for number in ids.values() if type(number) is int) != list(range(len(ids))):
        raise UserError(f"{path}: the ids of its {len(ids):,} pieces are not the numbers from 0 to {len(ids) - 1:,}")
    return sorted(ids, key=ids.__getitem__)


BPE_MODEL = "sentencepiece.bpe.model"
_OFFSET = 2
"""The position of the first token, as in fairseq."""
_M2M100 = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht "
    "hu hy id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps "
    "pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)
"""The languages of M2M100 in the order of their ids, which follow the other tokens and are in no file."""


def read_m2m100(
    folder: Path, values: Mapping[str, Any], config: TransformerConfig, sources: str, targets: str
) -> Imported:
    """The model in a folder for some of its languages.

    Args:
        values: the content of `config.json`.
        sources, targets: languages with commas between them, each as `de`, or as `de=deu_Latn` if the model has another
            name for it.

    Raises `UserError` with all reasons if files are missing or damaged, or the model is not supported; it lists the
    languages if none or others are named.
    """
    names = _tokens(folder, values["vocab_size"])
    languages = _languages(names, sources, targets, str(folder))
    renamed = {token: language_tag(language) for language, token in languages.items()}
    side = read_side(
        read_segmentation(folder / BPE_MODEL), [renamed.get(name, name) for name in names], reserved=renamed.values()
    )
    side = starting_with(side, values["decoder_start_token_id"])
    where, tensors = str(folder / WEIGHTS), read_weights(folder / WEIGHTS)[0]
    table = sinusoids(torch.arange(config.max_positions + _OFFSET), config.d_model, layout="inclusive")[_OFFSET:]
    for part in ("encoder", "decoder"):
        tensors[HUGGINGFACE.positions.format(side=part)] = table
    weights = to_ours(tensors, HUGGINGFACE, config, side.rows, side.rows, where)
    pairs = product(*(_named(names) for names in (sources, targets)))
    directions = tuple(Direction(*pair) for pair in pairs if pair[0] != pair[1])
    name, card = "an M2M100 or NLLB model of transformers", read_card(folder)
    return Imported(name, config, side, side, weights, where, directions, card, language_tokens="both")


def _tokens(folder: Path, size: int) -> list[str]:
    """All tokens in the order of their ids; those that no file names are called `<unnamed N>`."""
    if (folder / "vocab.json").is_file():
        ids = read_json(folder / "vocab.json")
        ids |= {f"__{code}__": len(ids) + number for number, code in enumerate(_M2M100.split())}
    else:
        values = read_json(folder / "tokenizer.json")
        model, added = values.get("model"), values.get("added_tokens")
        listed = model.get("vocab") if isinstance(model, dict) else None
        if not isinstance(listed, dict) or not isinstance(added, list):
            raise UserError(f"{folder / 'tokenizer.json'}: holds no vocabulary that is known here")
        ids = listed | {token.get("content"): token.get("id") for token in added if isinstance(token, dict)}
    names = {number: name for name, number in ids.items() if type(number) is int and isinstance(name, str)}
    if len(names) < len(ids) or size > 2 * len(names) or not all(0 <= number < size for number in names):
        raise UserError(f"{folder}: the ids of its {len(ids):,} tokens do not fit vocab_size={size:,}")
    return [names.get(number, f"<unnamed {number}>") for number in range(size)]


def _languages(names: list[str], sources: str, targets: str, where: str) -> dict[str, str]:
    """The languages of both sides, and the token of each."""
    codes = {name.strip("_"): name for name in names if name.startswith("__") or (name[3:4] == "_" and len(name) == 8)}
    named = dict.fromkeys(
        (language, codes.get(token, token if token in codes.values() else ""))
        for language, token in (*_named(sources).items(), *_named(targets).items())
    )
    tokens = dict(named.keys())
    wrong = [shown(language) for language, token in tokens.items() if not token]
    if wrong or not sources or not targets:
        what = f"{', '.join(wrong)}: none of its languages" if wrong else "it translates among many languages"
        raise UserError(
            f"{where}: {what}: name those that you want, as in --source de,fr --target en,de (de=deu_Latn where a "
            f"code of yours stands for one of the model's); its languages are {', '.join(map(shown, codes))}"
        )
    if len({*tokens.values()}) < len(named):
        raise UserError(f"{where}: {shown(sources)} to {shown(targets)}: give each language one name of its own")
    return tokens


def _named(languages: str) -> dict[str, str]:
    """The languages in `de,fr=fra_Latn`, each with the model's name for it."""
    parts = [part.strip().partition("=") for part in languages.split(",") if part.strip()]
    return {name: token or name for name, _, token in parts}
