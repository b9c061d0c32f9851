"""Model folders: their cards, what readers of other formats return, and export to our own smaller formats."""

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from limelight import __version__
from limelight.config import Direction, TransformerConfig, config_from
from limelight.errors import UserError
from limelight.files import require_new, whole_folder, writing
from limelight.interop.names import OUTPUT_BIAS
from limelight.interop.vocabularies import Side
from limelight.models.families import build_model
from limelight.storage.layout import DETECTOR, OF_WEIGHTS, SHORTLIST
from limelight.storage.model import StoredModel, read_card, save_model
from limelight.storage.tables import Shortlist, save_shortlist
from limelight.storage.weights import FORMS, SCALE, compact, fitting
from limelight.tokens import Tokenizers, language_tag
from limelight.tokens.stored import KINDS

NOTHING_LEFT = "nothing is left there"
OURS = dict(zip(("float32", "bfloat16", "int8"), FORMS, strict=True))
"""The forms of weights by the names of `--quantization`."""
_USE = (
    "Use it with `limelight translate --model FOLDER`, which searches in the same numbers where the device computes\n"
    "them fast.\n"
)


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write an object as indented JSON."""
    path.write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A `whole_folder`. Raises `RunError` if it cannot be written, and then nothing is left there."""
    with writing(folder, NOTHING_LEFT), whole_folder(folder) as partial:
        yield partial


def exported_card(stored: StoredModel, what: str, use: str) -> str:
    """The card of an exported model: how to use it, followed by its own card."""
    return f"# {what}\n\nExported by limelight {__version__}.\n\n{use}\n{read_card(stored.folder)}"


def export_limelight(stored: StoredModel, folder: Path, *, quantization: str = "float32") -> None:
    """Write the model as a model folder with another weight format.

    Raises `UserError` for an unknown format, and if the folder exists.
    """
    if quantization not in OURS:
        raise UserError(f"--quantization {quantization}: --to limelight supports {', '.join(OURS)}")
    require_new(folder)
    form = OURS[quantization]
    config = stored.config.model_copy(update={"weights": form})
    card = exported_card(stored, f"A model in {form}", _USE)

    with new_folder(folder) as partial:
        for name in (DETECTOR, SHORTLIST, *OF_WEIGHTS):
            if (stored.folder / name).is_file():
                shutil.copyfile(stored.folder / name, partial / name)
        weights = compact(dict(stored.rows.named_parameters()), form)
        save_model(partial, stored.rows, stored.tokenizers, config, notes=stored.notes, card=card, weights=weights)


class Imported(NamedTuple):
    """A model as a reader found it.

    Attributes:
        what: the format, in words.
        model: the configuration that describes the weights.
        source: the vocabulary of the source; the same object as `target` if both are equal.
        weights: under our names; int8 matrices with scales. An output bias of zeros is left out.
        where: the file of the weights, for messages.
        directions: as far as the files name languages.
        card: the model card that came with it.
        shortlist: likely target tokens of each source token, if it has such a table.
        language_tokens: which sides name languages, see `DataConfig`.
    """

    what: str
    model: TransformerConfig
    source: Side
    target: Side
    weights: Mapping[str, Tensor]
    where: str
    directions: tuple[Direction, ...] = ()
    card: str = ""
    shortlist: Shortlist | None = None
    language_tokens: Literal["target", "both"] = "target"


def named_direction(source: Any, target: Any) -> tuple[Direction, ...]:
    """The direction that a file of settings names; none where one of both is missing, or is not the name of a
    language."""
    with suppress(TypeError, UserError):
        for name in (source, target):
            language_tag(name)
        return (Direction(source, target),)
    return ()


def write_imported(imported: Imported, out: Path, origin: str) -> None:
    """Write a model folder.

    Raises `UserError` if the weights do not fit the configuration or are not finite; `RunError` if it cannot be
    written, and then nothing is left there.
    """
    tokenizers = Tokenizers(imported.source.tokenizer, imported.target.tokenizer)
    weights = {
        name: tensor if tensor.dtype == torch.int8 and name + SCALE in imported.weights else tensor.float()
        for name, tensor in imported.weights.items()
    }
    has_bias = OUTPUT_BIAS in weights and bool(weights[OUTPUT_BIAS].any())
    if not has_bias:
        weights.pop(OUTPUT_BIAS, None)
    model = imported.model.model_copy(update={"output_bias": has_bias})
    with torch.device("meta"):  # a configuration with wrong sizes must not allocate memory
        shapes = build_model(model, tokenizers)
    whole = fitting(shapes, weights, imported.where)
    kind = {"kind": imported.target.kind} if imported.target.kind in KINDS else {}
    config = config_from(
        {
            "recipe": "imported",
            "model": model.model_dump(),
            "tokens": {"joint": imported.source is imported.target, **kind},
            "data": {"inherited": imported.directions, "language_tokens": imported.language_tokens},
            "weights": "int8" if len(whole) < len(weights) else "fp32",
        }
    )
    made_from = f"imported from {origin}, {imported.what}, by limelight {__version__}"
    card = (
        f"# {origin}: {made_from}\n\n"
        'Use it with `limelight translate --model FOLDER`, or `limelight.load("FOLDER").translate(text)`.\n'
        + f"What follows is the page that came with it.\n\n---\n\n{imported.card}"
        * bool(imported.card)
    )
    notes = {"made_from": made_from}

    with new_folder(out) as partial:
        save_model(partial, shapes, tokenizers, config, notes=notes, card=card, weights=weights)
        if imported.shortlist is not None:
            save_shortlist(partial / SHORTLIST, imported.shortlist, tokenizers)
