"""Output folders, their cards, and export to our own smaller formats."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from limelight import __version__
from limelight.config import RunConfig, dump_config
from limelight.errors import UserError
from limelight.files import write_folder, writing
from limelight.interop.files import read
from limelight.storage.layout import ALIGNMENT, CARD, CONFIDENCE, CONFIG, DETECTOR, ROLES, TOKENIZER, WEIGHTS
from limelight.storage.model import StoredModel, save_labels
from limelight.storage.weights import FORMS, compact, named_weights, save_weights
from limelight.tokens import Tokenizers, save_tokenizers

NOTHING_LEFT = "nothing is left there"
_MAX_CARD_BYTES = 1_000_000
_USE = (
    "Use it with `limelight translate --model FOLDER`, which searches in the same numbers where the device computes\n"
    "them fast.\n"
)


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write an object as indented JSON."""
    path.write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def require_new(folder: Path) -> None:
    """Raise `UserError` if the path exists."""
    if os.path.lexists(folder):
        raise UserError(f"{folder}: exists already; give -o another name, or remove it first")


def write_new(folder: Path, fill: Callable[[Path], None]) -> None:
    """Write a folder as a whole. Raises `RunError` if it cannot be written, and then nothing is left there."""
    with writing(folder, NOTHING_LEFT):
        write_folder(folder, fill)


def exported_card(stored: StoredModel, what: str, use: str) -> str:
    """The card of an exported model: how to use it, followed by its own card."""
    return f"# {what}\n\nExported by limelight {__version__}.\n\n{use}\n{read_card(stored.folder)}"


def read_card(folder: Path) -> str:
    """The card that came with a model; empty without one."""
    try:
        return read(folder / CARD, _MAX_CARD_BYTES).decode("utf-8", errors="replace")
    except UserError:
        return ""


def export_limelight(stored: StoredModel, folder: Path, *, form: str) -> None:
    """Write the model as a model folder with another weight format.

    Raises `UserError` for an unknown format, and if the folder exists.
    """
    if form not in FORMS:
        raise UserError(f"{form}: our own folders keep weights in {', '.join(FORMS)}")
    require_new(folder)
    config = stored.config.model_copy(update={"weights": form})
    card = exported_card(stored, f"A model in {form}", _USE)

    def fill(partial: Path) -> None:
        save_labels(partial, stored.model)
        for name in (DETECTOR, CONFIDENCE, ALIGNMENT, ROLES):
            if (stored.folder / name).is_file():
                shutil.copyfile(stored.folder / name, partial / name)
        fill_model(partial, compact(named_weights(stored.model), form), stored.tokenizers, config, stored.notes, card)

    write_new(folder, fill)


def fill_model(
    folder: Path,
    weights: Mapping[str, Tensor],
    tokenizers: Tokenizers,
    config: RunConfig,
    notes: Mapping[str, str],
    card: str,
) -> None:
    """Write the files of a model folder."""
    save_weights(folder / WEIGHTS, weights, notes)
    save_tokenizers(tokenizers, folder / TOKENIZER)
    (folder / CONFIG).write_text(dump_config(config), encoding="utf-8")
    (folder / CARD).write_text(card, encoding="utf-8")
