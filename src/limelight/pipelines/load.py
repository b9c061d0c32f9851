"""Loading a model folder as a pipeline; only the pipeline of its family is imported."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from limelight.config import directions_of
from limelight.decoding.ensemble import Ensemble
from limelight.errors import UserError
from limelight.inference.linear import int8_kind
from limelight.inference.prepare import search_precision
from limelight.inspection.head_roles import TEXTS
from limelight.inspection.heads import head_counts
from limelight.models.families import CLASSIFY, FILL, GENERATE, TRANSLATE, Use, choose_device, use_of
from limelight.models.interface import Seq2Seq
from limelight.pipelines.confidence import FEATURES
from limelight.pipelines.translator import Translator
from limelight.registry import resolve
from limelight.storage.layout import (
    ALIGNMENT,
    BEST,
    CONFIDENCE,
    DEFAULT,
    DETECTOR,
    INT8_COST,
    ROLES,
    SHORTLIST,
)
from limelight.storage.model import StoredModel, load_model, require_command
from limelight.storage.tables import (
    Confidence,
    Heads,
    Int8Cost,
    Roles,
    fingerprint,
    read_detector,
    read_shortlist,
    read_table,
)

if TYPE_CHECKING:
    from limelight.pipelines.encoders import Classifier, MaskFiller
    from limelight.pipelines.generator import TextGenerator

MAX_INT8_COST = 0.1
"""BLEU that int8 may cost for `precision="auto"` to choose it."""

Folders = str | Path | Sequence[str | Path]
Device = str | torch.device | None


def load(
    paths: Folders = DEFAULT,
    device: Device = None,
    *,
    precision: str | None = None,
    shortlist: bool = False,
    threads: int | None = None,
) -> Any:
    """Load a run or model folder as a `Translator`, `TextGenerator`, `MaskFiller` or `Classifier`, by its family.

    Without an argument, loads the bundled model. Several folders are an ensemble of translators. `device`, `precision`,
    `shortlist` and `threads` are those of `load_translator`; the last two are only for translators, and `precision`
    only for translators and generators. The typed functions `load_translator`, `load_generator`, `load_mask_filler` and
    `load_classifier` are exported by `limelight`, too. Raises `UserError` as these do.
    """
    return _loaded(paths, device, precision=precision, shortlist=shortlist or None, threads=threads)


def load_translator(
    paths: Folders,
    device: Device = None,
    *,
    precision: str | None = None,
    shortlist: bool = False,
    threads: int | None = None,
) -> Translator:
    """Load the translator of a run or model folder; several folders are an ensemble, with the settings of the first.

    Args:
        device: of torch, or its name (`cpu`, `cuda`, `cuda:1`, `mps`); default: a GPU if there is one.
        precision: of the search: `fp32`; `bf16`; `int8`, the fastest on a CPU; or `auto`: int8 on a CPU if the run
            measured that it costs at most `MAX_INT8_COST` BLEU, otherwise the default. Default: the form of the stored
            weights if the device is fast in it (`inference.prepare.search_precision`).
        shortlist: score only the tokens of the shortlist in the folder.
        threads: for the owner of the process, see `Translator`.

    Raises `UserError` for folders without a model, for an ensemble with different tokenizers, for a precision that the
    device does not support, and for a shortlist that is missing, damaged, or combined with an ensemble.
    """
    options = {"precision": precision, "shortlist": shortlist or None, "threads": threads}
    return _loaded(paths, device, TRANSLATE, **options)


def load_generator(path: str | Path, device: Device = None, *, precision: str | None = None) -> TextGenerator:
    """Load the text generator of a run or model folder with a language model.

    `device` and `precision` as for `load_translator`. Raises `UserError` for a folder without a model, or with a model
    of another family; the message names the command for it.
    """
    return _loaded(path, device, GENERATE, precision=precision)


def load_mask_filler(path: str | Path, device: Device = None) -> MaskFiller:
    """Load a masked model; `device` and errors as for `load_generator`."""
    return _loaded(path, device, FILL)


def load_classifier(path: str | Path, device: Device = None) -> Classifier:
    """Load a classifier; `device` and errors as for `load_generator`."""
    return _loaded(path, device, CLASSIFY)


def _loaded(paths: Folders, device: Device, use: Use | None = None, **options: Any) -> Any:
    """The pipeline of some folders, for a use; by default for the use of the first one."""
    folders = [paths] if isinstance(paths, str | Path) else list(paths)
    if not folders:
        raise UserError("no model to load: give the folder of a run")
    device = device if isinstance(device, torch.device) else choose_device(device or "auto")
    stored = [load_model(folder, device) for folder in folders]
    family = stored[0].config.model
    use = use or use_of(family, stored[0].rows)
    for model in stored:
        require_command(model, use.name)
    if len(stored) > 1 and use is not TRANSLATE:
        raise UserError(f"{len(stored)} models: translators alone can be an ensemble; give one model")
    if options.get("precision") == "auto":
        options["precision"] = (
            "int8" if device.type == "cpu" and all(keeps_quality(model.folder) for model in stored) else None
        )
    make = resolve(use.pipeline)
    set_options = {name: value for name, value in options.items() if value is not None}
    for name, value in set_options.items():
        if name not in signature(make).parameters:
            raise UserError(f"{folders[0]}: {name}={value} is not an option of a model of the family {family.family}")
    pipeline = make(stored, **set_options)
    if use is TRANSLATE and len(folders) == 1:
        pipeline.name = str(folders[0])
    return pipeline


def make_translator(
    stored: Sequence[StoredModel], *, precision: str | None = None, shortlist: bool = False, threads: int | None = None
) -> Translator:
    """The translator of a stored model, or the ensemble of several. Raises `UserError` as `load_translator` does."""
    first = stored[0]
    for other in stored[1:]:
        _require_alike(first, other)
    if shortlist and len(stored) > 1:
        raise UserError(f"{len(stored)} models and a shortlist: an ensemble takes none; give one model")
    translator = Translator(
        first if len(stored) == 1 else Ensemble([cast(Seq2Seq, model.model) for model in stored]),
        first.tokenizers,
        first.config.decoding,
        precision=precision or search_precision(first.config.weights, first.device),
        shortlist=read_shortlist(first.folder / SHORTLIST, first.tokenizers) if shortlist else None,
        threads=threads,
        directions=directions_of(first.config.data),
    )
    translator.has_language_tokens = first.config.data.language_tokens == "both"
    augmentations = [model.config.augmentation for model in stored]
    translator.knows_placeholders = all(each.placeholders > 0 for each in augmentations)
    translator.knows_terms = all(each.terms > 0 for each in augmentations)
    if len(stored) > 1:
        return translator
    translator.detector, counts = read_detector(first.folder / DETECTOR), head_counts(first.rows)
    with _optional("translations have no confidence. `limelight calibrate` fits it"):
        translator.confidence = read_table(first.folder / CONFIDENCE, Confidence, features=len(FEATURES))
    with _optional("words are aligned with the mean of all heads"):
        aligning = read_table(first.folder / ALIGNMENT, Heads, counts=counts)
        translator.alignment_heads = aligning.heads if aligning else []
    with _optional("the page shows no roles over a corpus"):
        translator.head_roles = read_table(first.folder / ROLES, Roles, counts=counts, known=TEXTS)
    return translator


def keeps_quality(folder: Path) -> bool:
    """Whether int8 is available, and costs little by the measurement of the run."""
    measured = read_table(folder / INT8_COST, Int8Cost)
    return int8_kind() is not None and measured is not None and measured.bleu <= MAX_INT8_COST


@contextmanager
def _optional(consequence: str) -> Iterator[None]:
    """A file that cannot be used is a warning."""
    try:
        yield
    except UserError as error:
        warnings.warn(f"{error}; {consequence}", stacklevel=6)


def _require_alike(first: StoredModel, other: StoredModel) -> None:
    """Raise `UserError` for two models that cannot be an ensemble."""
    names = [str(model.folder.parent if model.folder.name == BEST else model.folder) for model in (first, other)]
    message = f"{' and '.join(names)} cannot be an ensemble"
    if fingerprint(first.tokenizers) != fingerprint(other.tokenizers):
        raise UserError(f"{message}: their tokenizers differ in size or tokens; train them with the same one")
    ours, theirs = directions_of(first.config.data), directions_of(other.config.data)
    if max(len(ours), len(theirs)) > 1 and set(ours) != set(theirs):
        raise UserError(
            f"{message}: one translates {', '.join(map(str, ours))}, the other {', '.join(map(str, theirs))}"
        )
