"""The translator that a folder holds, or the ensemble of several."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import torch

from limelight.config import directions_of
from limelight.decoding.ensemble import Ensemble
from limelight.errors import UserError
from limelight.inference.precision import search_precision
from limelight.models.build import choose_device
from limelight.models.interface import Seq2Seq
from limelight.pipelines.translator import Translator
from limelight.storage.layout import SHORTLIST
from limelight.storage.model import StoredModel, load_model, require_command
from limelight.storage.shortlist import read_shortlist
from limelight.tokens import Tokenizers


def load_translator(
    paths: str | Path | Sequence[str | Path],
    device: torch.device | None = None,
    *,
    precision: str | None = None,
    shortlist: bool = False,
    threads: int | None = None,
) -> Translator:
    """The translator of a run or model folder; of several, their ensemble, with the settings of the first.

    It goes to `device`; to a GPU where there is one and nothing else is asked. `precision` is that of searching:
    `fp32`; `bf16`; or `int8`, the fastest on a CPU; by default the form in which the folder keeps its weights, where
    the device computes that fast (`inference.precision.search_precision`). With `shortlist` only pieces on the one that
    stands in the folder are scored; `threads` is for the owner of the process, see `Translator`. Raises `UserError` for
    folders that hold no model, for an ensemble of models whose tokenizers differ, for a precision that is not to be had
    on the device, and for a shortlist that is missing, damaged, or not for one model alone.
    """
    folders = [paths] if isinstance(paths, str | Path) else list(paths)
    if not folders:
        raise UserError("no model to load: give the folder of a run")
    target = device if device is not None else choose_device("auto")
    stored = [load_model(folder, target) for folder in folders]
    first = stored[0]
    precision = precision or search_precision(first.config.weights, target)
    models = [_translating(each) for each in stored]
    directions = directions_of(first.config.data)
    if len(stored) == 1:
        listed = read_shortlist(first.folder / SHORTLIST, first.tokenizers) if shortlist else None
        alone = Translator(
            models[0],
            first.tokenizers,
            first.config.decoding,
            precision=precision,
            shortlist=listed,
            threads=threads,
            directions=directions,
        )
        alone.name = str(folders[0])
        alone.knows_placeholders = first.config.augmentation.placeholders > 0
        return alone
    for folder, other in zip(folders[1:], stored[1:], strict=True):
        _require_alike(first, other, f"{folders[0]} and {folder} cannot be an ensemble")
    if shortlist:
        raise UserError(f"{len(stored)} models and a shortlist: an ensemble takes none; give one model")
    return Translator(
        Ensemble(models),
        first.tokenizers,
        first.config.decoding,
        precision=precision,
        threads=threads,
        directions=directions,
    )


def _require_alike(first: StoredModel, other: StoredModel, message: str) -> None:
    """Raises `UserError`, which begins with `message`, for two models that cannot be an ensemble."""
    if not _same_pieces(first.tokenizers, other.tokenizers):
        raise UserError(
            f"{message}: their tokenizers differ in size or pieces "
            f"({_sizes(first.tokenizers)} against {_sizes(other.tokenizers)}); train them with the same one"
        )
    ours, theirs = directions_of(first.config.data), directions_of(other.config.data)
    if max(len(ours), len(theirs)) > 1 and set(ours) != set(theirs):
        raise UserError(
            f"{message}: one translates {', '.join(map(str, ours))}, the other {', '.join(map(str, theirs))}"
        )


def _translating(stored: StoredModel) -> Seq2Seq:
    """The model, if it is one that translates. Raises `UserError` that names the command for one that does not."""
    require_command(stored, "translate")
    return cast(Seq2Seq, stored.model)


def _same_pieces(some: Tokenizers, others: Tokenizers) -> bool:
    """Whether every id stands for the same piece on both sides."""
    return all(
        one.size == other.size and one.pieces(range(one.size)) == other.pieces(range(other.size))
        for one, other in zip(some, others, strict=True)
    )


def _sizes(tokenizers: Tokenizers) -> str:
    return f"{tokenizers.source.size} source and {tokenizers.target.size} target ids"
