"""Output folders, their cards, and export to our own smaller formats."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from limelight import __version__
from limelight.config import RunConfig, dump_config
from limelight.errors import UserError
from limelight.files import write_folder, writing
from limelight.interop.files import Files
from limelight.storage.layout import ALIGNMENT, CARD, CONFIDENCE, CONFIG, DETECTOR, ROLES, TOKENIZER, WEIGHTS
from limelight.storage.model import StoredModel, save_labels
from limelight.storage.tables import Places, read_alignment, renumbered, save_alignment
from limelight.storage.weights import FORMS, compact, named_weights, save_weights
from limelight.tokens import Tokenizers, save_tokenizers


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Write an object as indented JSON."""
    path.write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


NOTHING_LEFT = "nothing is left there"
_MAX_CARD_BYTES = 1_000_000


def require_new(folder: Path) -> None:
    """Raise `UserError` if the path exists."""
    if os.path.lexists(folder):
        raise UserError(f"{folder}: exists already; give -o another name, or remove it first")


def exported_card(stored: StoredModel, what: str, use: str) -> str:
    """The card of an exported model: how to use it, followed by its own card."""
    return f"# {what}\n\nExported by limelight {__version__}.\n\n{use}\n{_card_in(stored.folder)}"


def _card_in(folder: Path) -> str:
    return read_card(Files(folder))


def read_card(files: Files) -> str:
    """The card that came with a model; empty without one."""
    try:
        return files.read(CARD, _MAX_CARD_BYTES).decode("utf-8", errors="replace")
    except UserError:
        return ""


_USE = (
    "Use it with `limelight translate --model FOLDER`, which searches in the same numbers where the device computes\n"
    "them fast.\n"
)


_PRUNED = """\
Attention heads were removed: HEADS of each attention are left. It translates like the whole model with these heads
switched off. Confidence, and heads that align words if one of them was removed, were fitted to the whole model and are
not here: `limelight calibrate` fits them again.
"""
_MAX_HEADS = 1_000_000


def export_limelight(stored: StoredModel, folder: Path, *, form: str, places: Places | None = None) -> None:
    """Write the model as a model folder with another weight format.

    `places` are those of `prune_model`, for a model whose heads were removed: then files that were fitted to the whole
    model are left out. Raises `UserError` for an unknown format, and if the folder exists.
    """
    if form not in FORMS:
        raise UserError(f"{form}: our own folders keep weights in {', '.join(FORMS)}")
    require_new(folder)

    def fill(partial: Path) -> None:
        save_labels(partial, stored.model)
        for beside in (DETECTOR, CONFIDENCE, ALIGNMENT, ROLES) if places is None else (DETECTOR,):
            if (stored.folder / beside).is_file():
                shutil.copyfile(stored.folder / beside, partial / beside)
        use = _USE
        if places is not None:
            use += "\n" + _PRUNED.replace("HEADS", str(len(next(iter(places.values())))))
            kept = read_alignment(stored.folder / ALIGNMENT, layers=len(places), heads=_MAX_HEADS)
            if heads := renumbered(kept, places):
                save_alignment(partial / ALIGNMENT, heads, {"of": "the model with all heads"})
        config = stored.config.model_copy(update={"weights": form})
        card = exported_card(stored, f"A model in {form}", use)
        fill_model(partial, compact(named_weights(stored.model), form), stored.tokenizers, config, stored.notes, card)

    with writing(folder, NOTHING_LEFT):
        write_folder(folder, fill)


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
