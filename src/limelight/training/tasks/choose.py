"""Choose the training task by the family of the model (`models/families.py`)."""

from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from limelight.config import RunConfig
from limelight.models.build import build_model
from limelight.models.families import family_of, resolve
from limelight.models.interface import Model
from limelight.preparation.first_look import first_look
from limelight.preparation.hold_out import make_hold_out
from limelight.preparation.pairs import Say, cleaned, silently
from limelight.text.clean import CleanReport
from limelight.tokens import Tokenizers
from limelight.training.tasks.task import Task


@runtime_checkable
class Tokenized(Protocol):
    """Prepared training text."""

    @property
    def tokenizers(self) -> Tokenizers:
        """The tokenizers of the text."""


def prepare_data(config: RunConfig, folder: Path, say: Say) -> Tokenized:
    """Tokenize the text for the task. Raises `UserError` if the text cannot be read, or none is left."""
    if config.data.hold_out:
        whole = config.data.model_copy(update={"hold_out": 0})
        make_hold_out(config, folder, lambda corpus: cleaned(whole, [corpus], CleanReport(), silently), say)
    if not config.data.text:
        first_look(config, folder, say)
    prepare = resolve(family_of(config.model).uses[config.learns].prepare)
    return cast(Tokenized, prepare(config, folder, say))


def fresh_model(config: RunConfig, data: Tokenized) -> Model:
    """A model with random weights for the vocabulary of the data. Raises `UserError` for invalid settings."""
    return build_model(config.model, data.tokenizers, getattr(data, "labels", ()))


def build_task(config: RunConfig, data: Tokenized, model: Model) -> Task:
    """The task of a run. Raises `UserError` if the text does not fit the model."""
    task = resolve(family_of(config.model).uses[config.learns].task)
    return cast(Task, task(config, data, model))
