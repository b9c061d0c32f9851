"""Import of M2M100 and NLLB models in the format of transformers: pre-norm, and every language has a token.

config.json  model.safetensors  sentencepiece.bpe.model  vocab.json | tokenizer.json

A source begins with the token of its language, and a translation with that of the target language, which is forced. The
tokens of the languages that are imported get our names (`<2de>`).
"""

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from limelight.config import Direction, TransformerConfig
from limelight.errors import UserError, shown
from limelight.interop.files import read_json
from limelight.interop.folders import read_card
from limelight.interop.imported import Imported
from limelight.interop.names import HUGGINGFACE, names_in, to_ours
from limelight.interop.vocabularies import read_segmentation, read_side, starting_with
from limelight.layers.embedding import sinusoids
from limelight.storage.weights import read_weights
from limelight.tokens.tokenizer import language_tag

WEIGHTS, MODEL = "model.safetensors", "sentencepiece.bpe.model"
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
        read_segmentation(folder / MODEL), [renamed.get(name, name) for name in names], reserved=renamed.values()
    )
    side = starting_with(side, values["decoder_start_token_id"])
    where, tensors = str(folder / WEIGHTS), read_weights(folder / WEIGHTS)[0]
    table = sinusoids(config.max_positions + _OFFSET, config.d_model, layout="inclusive")[_OFFSET:]
    for each in ("encoder", "decoder"):
        tensors[HUGGINGFACE.positions.format(side=each)] = table
    weights = to_ours(tensors, names_in(HUGGINGFACE, config), config, side.rows, side.rows, where)
    pairs = product(*(_named(each) for each in (sources, targets)))
    directions = tuple(Direction(*pair) for pair in pairs if pair[0] != pair[1])
    what = "an M2M100 or NLLB model of transformers"
    return Imported(what, config, side, side, weights, where, directions, read_card(folder), language_tokens="both")


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
        ids = listed | {each.get("content"): each.get("id") for each in added if isinstance(each, dict)}
    names = {number: name for name, number in ids.items() if type(number) is int and isinstance(name, str)}
    if len(names) < len(ids) or not all(0 <= number < size for number in names):
        raise UserError(f"{folder}: the ids of its {len(ids):,} tokens do not fit vocab_size={size:,}")
    return [names.get(number, f"<unnamed {number}>") for number in range(size)]


def _languages(names: list[str], sources: str, targets: str, where: str) -> dict[str, str]:
    """The languages of both sides, and the token of each."""
    known = set(names)
    found = {
        language: next((each for each in (f"__{token}__", token) if each in known), "")
        for language, token in (_named(sources) | _named(targets)).items()
    }
    wrong = [shown(language) for language, token in found.items() if not token]
    if wrong or not sources or not targets:
        codes = [name.strip("_") for name in names if name.startswith("__") or (name[3:4] == "_" and len(name) == 8)]
        what = f"{', '.join(wrong)}: none of its languages" if wrong else "it translates among many languages"
        raise UserError(
            f"{where}: {what}: name those that you want, as in --source de,fr --target en,de (de=deu_Latn where a "
            f"code of yours stands for one of the model's); its languages are {', '.join(map(shown, codes))}"
        )
    return found


def _named(languages: str) -> dict[str, str]:
    """The languages in `de,fr=fra_Latn`, each with the model's name for it."""
    parts = [part.strip().partition("=") for part in languages.split(",") if part.strip()]
    return {name: token or name for name, _, token in parts}
