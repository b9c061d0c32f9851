"""Loading a model folder as a pipeline; only the pipeline of its family is imported."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch

from limelight.config import RunConfig, directions_of, load_config
from limelight.decoding.ensemble import Ensemble
from limelight.errors import UserError
from limelight.inference.prepare import search_precision
from limelight.inspection.head_roles import TEXTS
from limelight.inspection.heads import head_counts
from limelight.models.families import CLASSIFY, FILL, choose_device, family_of, resolve, use_of
from limelight.models.interface import LanguageModel, Seq2Seq
from limelight.models.transformer import halves
from limelight.pipelines.align import stored_heads
from limelight.pipelines.confidence import SENTENCE_FEATURES, WORD_FEATURES
from limelight.pipelines.translator import Translator
from limelight.storage.layout import (
    ALIGNMENT,
    BEST,
    CONFIDENCE,
    CONFIG,
    DEFAULT,
    DETECTOR,
    ROLES,
    SHORTLIST,
    bundled_models,
    find_model,
)
from limelight.storage.model import StoredModel, load_model, require_command
from limelight.storage.tables import read_confidence, read_detector, read_roles, read_shortlist
from limelight.tokens import Tokenizers

if TYPE_CHECKING:
    from limelight.pipelines.classifier import Classifier
    from limelight.pipelines.generator import TextGenerator
    from limelight.pipelines.mask_filler import MaskFiller

Folders = str | Path | Sequence[str | Path]


def load(
    paths: Folders = DEFAULT,
    device: torch.device | None = None,
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
    folders = _folders(paths)
    options = {"precision": precision, "shortlist": shortlist or None, "threads": threads}
    given = {name: value for name, value in options.items() if value is not None}
    _require_options(folders[0], load_config(find_model(folders[0]) / CONFIG), given)
    stored = _load(folders, device)
    use = use_of(stored[0].config.model, stored[0].model)
    for other in stored[1:]:
        require_command(other, use.name)
    return _named(resolve(use.pipeline)(stored, **given), folders)


def load_translator(
    paths: Folders,
    device: torch.device | None = None,
    *,
    precision: str | None = None,
    shortlist: bool = False,
    threads: int | None = None,
) -> Translator:
    """Load the translator of a run or model folder; several folders are an ensemble, with the settings of the first.

    Args:
        device: default: a GPU if there is one.
        precision: of the search: `fp32`; `bf16`; or `int8`, the fastest on a CPU. Default: the form of the stored
            weights if the device is fast in it (`inference.prepare.search_precision`).
        shortlist: score only the tokens of the shortlist in the folder.
        threads: for the owner of the process, see `Translator`.

    Raises `UserError` for folders without a model, for an ensemble with different tokenizers, for a precision that the
    device does not support, and for a shortlist that is missing, damaged, or combined with an ensemble.
    """
    folders = _folders(paths)
    made = make_translator(_load(folders, device), precision=precision, shortlist=shortlist, threads=threads)
    return _named(made, folders)


def load_generator(
    path: str | Path, device: torch.device | None = None, *, precision: str | None = None
) -> TextGenerator:
    """Load the text generator of a run or model folder with a language model.

    `device` and `precision` as for `load_translator`. Raises `UserError` for a folder without a model, or with a model
    of another family; the message names the command for it.
    """
    return make_generator(_load([path], device), precision=precision)


def load_reader(path: str | Path, device: torch.device | None = None) -> MaskFiller | Classifier:
    """Load a masked model as `MaskFiller`, a classifier as `Classifier`; both compute sentence vectors.

    `device` as for `load_translator`. Raises `UserError` for a folder without a model, or of another family.
    """
    [stored] = _load([path], device)
    use = use_of(stored.config.model, stored.model)
    if use not in (FILL, CLASSIFY):
        config = stored.config.model
        raise UserError(
            f"{path}: this is a model of the family {config.family}, which neither fills in nor classifies; "
            f"use it with {family_of(config).commands}"
        )
    return cast("MaskFiller | Classifier", resolve(use.pipeline)([stored]))


def load_mask_filler(path: str | Path, device: torch.device | None = None) -> MaskFiller:
    """Load a masked model; otherwise like `load_reader`."""
    reader = load_reader(path, device)
    if isinstance(reader.model, halves.Classifier):
        raise UserError(f"{path}: this is a classifier, which does not fill masks; use it with `limelight classify`")
    return reader


def load_classifier(path: str | Path, device: torch.device | None = None) -> Classifier:
    """Load a classifier; otherwise like `load_reader`."""
    reader = load_reader(path, device)
    if isinstance(reader.model, halves.MaskedModel):
        raise UserError(
            f"{path}: this is a masked model, which knows no labels; use it with `limelight fill`, or begin a "
            "classifier with it: `limelight train --from`"
        )
    return reader


def make_translator(
    stored: Sequence[StoredModel], *, precision: str | None = None, shortlist: bool = False, threads: int | None = None
) -> Translator:
    """The translator of a stored model, or the ensemble of several. Raises `UserError` as `load_translator` does."""
    first = stored[0]
    for each in stored:
        require_command(each, "translate")
    for other in stored[1:]:
        _require_alike(first, other)
    if shortlist and len(stored) > 1:
        raise UserError(f"{len(stored)} models and a shortlist: an ensemble takes none; give one model")
    models = [cast(Seq2Seq, each.model) for each in stored]
    made = Translator(
        models[0] if len(models) == 1 else Ensemble(models),
        first.tokenizers,
        first.config.decoding,
        precision=_precision(first, precision),
        shortlist=read_shortlist(first.folder / SHORTLIST, first.tokenizers) if shortlist else None,
        threads=threads,
        directions=directions_of(first.config.data),
    )
    made.forces_languages = first.config.data.language_tokens == "both"
    if len(models) == 1:
        made.knows_placeholders = first.config.augmentation.placeholders > 0
        made.knows_terms = first.config.augmentation.terms > 0
        made.detector = read_detector(first.folder / DETECTOR)
        features = {"sentence": len(SENTENCE_FEATURES), "word": len(WORD_FEATURES)}
        try:
            made.confidence = read_confidence(first.folder / CONFIDENCE, **features)
        except UserError as error:
            warnings.warn(f"{error}; translations have no confidence. `limelight calibrate` fits it", stacklevel=3)
        try:
            made.alignment_heads = stored_heads(first.folder / ALIGNMENT, models[0])
        except UserError as error:
            warnings.warn(f"{error}; words are aligned with the mean of all heads", stacklevel=3)
        try:
            made.head_roles = read_roles(first.folder / ROLES, head_counts(models[0]), TEXTS)
        except UserError as error:
            warnings.warn(f"{error}; the page shows no roles over a corpus", stacklevel=3)
    return made


def make_generator(stored: Sequence[StoredModel], *, precision: str | None = None) -> TextGenerator:
    """The text generator of a stored model. Raises `UserError` for a model of another family."""
    from limelight.pipelines.generator import TextGenerator, window_of

    one = _only(stored)
    require_command(one, "generate")
    return TextGenerator(
        cast(LanguageModel, one.model),
        one.tokenizers,
        window=window_of(one.config),
        precision=_precision(one, precision),
    )


def make_mask_filler(stored: Sequence[StoredModel]) -> MaskFiller:
    """The mask filler of a stored masked model."""
    from limelight.pipelines.mask_filler import MaskFiller

    one = _only(stored)
    return MaskFiller(cast(halves.MaskedModel, one.model), one.tokenizers.source)


def make_classifier(stored: Sequence[StoredModel]) -> Classifier:
    """The classifier of a stored one."""
    from limelight.pipelines.classifier import Classifier

    one = _only(stored)
    return Classifier(cast(halves.Classifier, one.model), one.tokenizers.source)


def _folders(paths: Folders) -> list[str | Path]:
    folders = [paths] if isinstance(paths, str | Path) else list(paths)
    if not folders:
        raise UserError("no model to load: give the folder of a run")
    if paths == DEFAULT and DEFAULT not in bundled_models() and not Path(DEFAULT).exists():
        raise UserError(
            "which model? This package comes without one: give the folder that `limelight train` wrote, as in "
            'limelight.load("RUN")'
        )
    return folders


def _load(folders: Sequence[str | Path], device: torch.device | None) -> list[StoredModel]:
    target = device if device is not None else choose_device("auto")
    return [load_model(folder, target) for folder in folders]


def _require_options(path: str | Path, config: RunConfig, given: dict[str, Any]) -> None:
    """Raise `UserError` for an option that does not apply to the family of the model."""
    uses = family_of(config.model).uses.values()
    known = {name for use in uses for name in signature(resolve(use.pipeline)).parameters}
    for name, value in given.items():
        if name not in known:
            raise UserError(f"{path}: {name}={value} is not an option of a model of the family {config.model.family}")


def _named(made: Any, folders: Sequence[str | Path]) -> Any:
    """The pipeline with its name for attention maps set; an ensemble has no name."""
    if isinstance(made, Translator) and len(folders) == 1:
        made.name = str(folders[0])
    return made


def _only(stored: Sequence[StoredModel]) -> StoredModel:
    if len(stored) > 1:
        raise UserError(f"{len(stored)} models: translators alone can be an ensemble; give one model")
    return stored[0]


def _precision(stored: StoredModel, asked: str | None) -> str:
    return asked or search_precision(stored.config.weights, next(stored.model.parameters()).device)


def _require_alike(first: StoredModel, other: StoredModel) -> None:
    """Raise `UserError` for two models that cannot be an ensemble."""
    names = [str(each.folder.parent if each.folder.name == BEST else each.folder) for each in (first, other)]
    message = f"{' and '.join(names)} cannot be an ensemble"
    if not _same_pieces(first.tokenizers, other.tokenizers):
        raise UserError(
            f"{message}: their tokenizers differ in size or tokens "
            f"({_sizes(first.tokenizers)} against {_sizes(other.tokenizers)}); train them with the same one"
        )
    ours, theirs = directions_of(first.config.data), directions_of(other.config.data)
    if max(len(ours), len(theirs)) > 1 and set(ours) != set(theirs):
        raise UserError(
            f"{message}: one translates {', '.join(map(str, ours))}, the other {', '.join(map(str, theirs))}"
        )


def _same_pieces(some: Tokenizers, others: Tokenizers) -> bool:
    """Whether all ids are the same tokens, on both sides."""
    return all(
        one.size == other.size and one.pieces(range(one.size)) == other.pieces(range(other.size))
        for one, other in zip(some, others, strict=True)
    )


def _sizes(tokenizers: Tokenizers) -> str:
    return f"{tokenizers.source.size} source and {tokenizers.target.size} target ids"
