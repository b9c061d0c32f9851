"""A folder becomes what its model is for."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from limelight.config import load_config
from limelight.errors import UserError
from limelight.pipelines.generator import load_generator
from limelight.pipelines.load_reader import load_reader
from limelight.pipelines.load_translator import load_translator
from limelight.storage.layout import CONFIG, find_model


def load(
    paths: str | Path | Sequence[str | Path],
    device: torch.device | None = None,
    *,
    precision: str | None = None,
    shortlist: bool = False,
    threads: int | None = None,
) -> Any:
    """What the model of a run or model folder is for: a `Translator`, `TextGenerator`, `MaskFiller` or `Classifier`.

    Several folders are an ensemble of translators. `device`, `precision`, `shortlist` and `threads` are those of
    `load_translator`; the last two are for translators alone, and `precision` for what searches. Whoever wants to say
    which of the four it is, to a type checker too, calls its own function, which `limelight` has as well:
    `load_translator`, `load_generator`, `load_mask_filler`, `load_classifier`. Raises `UserError` as these do.
    """
    if not isinstance(paths, str | Path) and len(paths) != 1:
        return load_translator(paths, device, precision=precision, shortlist=shortlist, threads=threads)
    path = paths if isinstance(paths, str | Path) else paths[0]
    family = load_config(find_model(path) / CONFIG).model.family
    if family in ("transformer", "recurrent"):
        return load_translator(path, device, precision=precision, shortlist=shortlist, threads=threads)
    if shortlist:
        raise UserError(f"{path}: a shortlist is for translators, and this is a model of the family {family}")
    if threads is not None:
        raise UserError(f"{path}: threads={threads} is for translators, and this is a model of the family {family}")
    if family != "encoder_only":
        return load_generator(path, device, precision=precision)
    if precision is not None:
        raise UserError(f"{path}: precision={precision} is that of searching, and this {family} model searches nothing")
    return load_reader(path, device)
