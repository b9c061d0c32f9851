"""Which model a verb works with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limelight.errors import UserError

if TYPE_CHECKING:
    from limelight.decoding.translate import Translator


def open_translator(folders: list[str] | None, *, to: str = "") -> Translator:
    """The translator of `--model`. Raises `UserError` when none is named, or when it does not speak `to`."""
    if not folders:
        raise UserError("which model? Give --model RUN, the folder that `limelight train --out RUN` wrote")
    from limelight.config import load_config
    from limelight.decoding.translate import load_translator
    from limelight.memory import keep_freed_memory
    from limelight.models.stored import CONFIG, find_model

    if to:
        languages = {corpus.target for corpus in load_config(find_model(folders[0]) / CONFIG).data.train}
        if to not in languages:
            raise UserError(f"--to {to}: {folders[0]} translates to {', '.join(sorted(languages)) or 'no named language'}")
    keep_freed_memory()
    return load_translator(folders)
