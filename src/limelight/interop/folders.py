"""What all conversions share: a folder that is not there yet, and the page in it that tells where the model is from."""

import os
from pathlib import Path

from limelight import __version__
from limelight.errors import UserError
from limelight.storage.layout import CARD
from limelight.storage.model import StoredModel
from limelight.untrusted import read_plain

NOTHING_LEFT = "nothing is left there"
_MAX_CARD_BYTES = 1_000_000


def require_new(folder: Path) -> None:
    """Raise `UserError` where something has this name."""
    if os.path.lexists(folder):
        raise UserError(f"{folder}: exists already; give -o another name, or remove it first")


def exported_card(stored: StoredModel, what: str, use: str) -> str:
    """The page of an exported model: how to use it, and its own card below."""
    return f"# {what}\n\nExported by limelight {__version__}.\n\n{use}\n{_card_in(stored.folder)}"


def imported_card(folder: Path, origin: str) -> str:
    """The page of an imported model, with all that came with it: licenses want to be named."""
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
