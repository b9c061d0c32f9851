"""Which task a run has: what its model is, and what text it is given, say so."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from limelight.config import EncoderOnlyConfig, RunConfig
from limelight.models.build import build_model
from limelight.models.interface import Model, Seq2Seq
from limelight.models.transformer.encoder_only import Classifier, MaskedModel
from limelight.preparation.first_look import first_look
from limelight.preparation.labels import PreparedLabels, prepare_labels
from limelight.preparation.pairs import Prepared, Say, prepare
from limelight.preparation.plain_text import PreparedText, prepare_text
from limelight.tokens import Tokenizers
from limelight.training.tasks.labels import Labels
from limelight.training.tasks.language import LanguageModelling
from limelight.training.tasks.masked import Masked
from limelight.training.tasks.task import Task
from limelight.training.tasks.translation import Translation


@runtime_checkable
class Tokenised(Protocol):
    """Text made ready to be trained on."""

    @property
    def tokenizers(self) -> Tokenizers:
        """What its pieces are pieces of."""


def prepare_data(config: RunConfig, folder: Path, say: Say) -> Tokenised:
    """Text to pieces, as the task wants them. Raises `UserError` where the text cannot be read or none is left."""
    if config.data.text:
        return prepare_text(config, folder, say)
    first_look(config, folder, say)
    if isinstance(config.model, EncoderOnlyConfig):
        return prepare_labels(config, folder, say)
    return prepare(config, folder, say)


def fresh_model(config: RunConfig, data: Tokenised) -> Model:
    """A model with random weights for what the text holds. Raises `UserError` for impossible settings."""
    labels = data.labels if isinstance(data, PreparedLabels) else ()
    return build_model(config.model, data.tokenizers, labels)


def build_task(config: RunConfig, data: Tokenised, model: Model) -> Task:
    """The task of a run. Raises `UserError` where the model cannot take what the text holds."""
    match data, model:
        case PreparedText(), MaskedModel():
            return Masked(config, data, model)
        case PreparedText(), Seq2Seq():
            return LanguageModelling(config, data, model)
        case PreparedLabels(), Classifier():
            return Labels(config, data, model)
        case Prepared(), Seq2Seq():
            return Translation(config, data, model)
    raise TypeError(f"no task for {type(data).__name__} and {type(model).__name__}")
