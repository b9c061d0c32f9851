"""Our own model folder with weights in a smaller form."""

import shutil
from pathlib import Path

from limelight.config import dump_config
from limelight.errors import UserError
from limelight.files import write_folder, writing
from limelight.interop.folders import CARD, NOTHING_LEFT, exported_card, require_new
from limelight.storage.compact import FORMS, compact
from limelight.storage.layout import CONFIDENCE, CONFIG, DETECTOR, TOKENIZER, WEIGHTS
from limelight.storage.model import StoredModel, save_labels
from limelight.storage.weights import named_weights, save_weights
from limelight.tokens import save_tokenizers

_USE = (
    "Use it with `limelight translate --model FOLDER`, which searches in the same numbers where the device computes\n"
    "them fast.\n"
)


def export_limelight(stored: StoredModel, folder: Path, *, form: str) -> None:
    """Write the model as a folder of its own. Raises `UserError` for an unknown form, and where the folder exists."""
    if form not in FORMS:
        raise UserError(f"{form}: our own folders keep weights in {', '.join(FORMS)}")
    require_new(folder)

    def fill(partial: Path) -> None:
        save_weights(partial / WEIGHTS, compact(named_weights(stored.model), form), stored.notes)
        save_tokenizers(stored.tokenizers, partial / TOKENIZER)
        save_labels(partial, stored.model)
        for beside in (DETECTOR, CONFIDENCE):
            if (stored.folder / beside).is_file():
                shutil.copyfile(stored.folder / beside, partial / beside)
        config = stored.config.model_copy(update={"weights": form})
        (partial / CONFIG).write_text(dump_config(config), encoding="utf-8")
        (partial / CARD).write_text(exported_card(stored, f"A model in {form}", _USE), encoding="utf-8")

    with writing(folder, NOTHING_LEFT):
        write_folder(folder, fill)
