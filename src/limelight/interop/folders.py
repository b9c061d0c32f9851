"""Folders of other tools: untrusted JSON, new folders, cards; and export to our own smaller formats."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from limelight import __version__
from limelight.config import dump_config
from limelight.errors import UserError, shown
from limelight.files import write_folder, writing
from limelight.storage.layout import ALIGNMENT, CARD, CONFIDENCE, CONFIG, DETECTOR, ROLES, TOKENIZER, WEIGHTS
from limelight.storage.model import StoredModel, save_labels
from limelight.storage.tables import Places, read_alignment, renumbered, save_alignment
from limelight.storage.weights import FORMS, compact, named_weights, save_weights
from limelight.tokens import save_tokenizers
from limelight.untrusted import read_plain

MAX_JSON_BYTES = 32_000_000
"""Maximum bytes of a JSON file, about those of a vocabulary of a million tokens."""


def read_json(path: Path) -> dict[str, Any]:
    """The object in a file. Raises `UserError` with the path if it is missing, too large or not a JSON object."""
    try:
        found = json.loads(read_plain(path, MAX_JSON_BYTES))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # also invalid UTF-8
        raise UserError(f"{path}: damaged: not JSON: {shown(str(error))}") from None
    if not isinstance(found, dict):
        raise UserError(f"{path}: holds a {type(found).__name__}, not an object with names and values")
    return found


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


def imported_card(folder: Path, origin: str) -> str:
    """The card of an imported model, including its original card, as licenses require attribution."""
    return (
        f"# {folder.resolve().name}: {origin}\n\n"
        'Use it with `limelight translate --model FOLDER`, or `limelight.load("FOLDER").translate(text)`.\n'
        f"What follows is the page that came with it.\n\n---\n\n{_card_in(folder)}"
    )


def _card_in(folder: Path) -> str:
    try:
        return read_plain(folder / CARD, _MAX_CARD_BYTES).decode("utf-8", errors="replace")
    except OSError:
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
        save_weights(partial / WEIGHTS, compact(named_weights(stored.model), form), stored.notes)
        save_tokenizers(stored.tokenizers, partial / TOKENIZER)
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
        (partial / CONFIG).write_text(dump_config(config), encoding="utf-8")
        (partial / CARD).write_text(exported_card(stored, f"A model in {form}", use), encoding="utf-8")

    with writing(folder, NOTHING_LEFT):
        write_folder(folder, fill)
