"""Which task a run has: what its model is, and what text it is given, say so."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from limelight.config import DecoderOnlyConfig, EncoderOnlyConfig, RecurrentLanguageModelConfig, RunConfig
from limelight.errors import UserError
from limelight.models.build import build_model
from limelight.models.encoder_only import Classifier, MaskedModel
from limelight.models.interface import Model, Seq2Seq
from limelight.tokens import Tokenizers
from limelight.training.prepare import Prepared, Say, prepare
from limelight.training.prepare_labels import PreparedLabels, prepare_labels
from limelight.training.prepare_text import PreparedText, prepare_text
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
    """Text to pieces, as the task wants them. Raises `UserError` where there is no text of the kind it takes."""
    _require_one_kind(config)
    if config.data.text:
        return prepare_text(config, folder, say)
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


def _require_one_kind(config: RunConfig) -> None:
    """Raises `UserError` where the text is of another kind than the model takes, or there is none."""
    family, data = config.model.family, config.data
    takes_text = isinstance(config.model, DecoderOnlyConfig | RecurrentLanguageModelConfig | EncoderOnlyConfig)
    takes_pairs = not takes_text or isinstance(config.model, EncoderOnlyConfig)
    if not data.text and not data.train:
        ways = ["--text FILE..."] * takes_text + ["--train FILE (or two files)"] * takes_pairs
        raise UserError(f"there is nothing to train on: a model of the family {family} learns from {' or '.join(ways)}")
    if data.text and not takes_text:
        raise UserError(
            f"--text is for models of plain text, and this is a model of the family {family}: give --train, or a recipe"
        )
    if data.train and not takes_pairs:
        raise UserError(
            f"--train is for pairs, and a model of the family {family} learns from plain text: give --text FILE..."
        )
    if data.text and data.train:
        raise UserError("--text and --train are two different tasks: give one of them")
    if data.text and data.valid:
        raise UserError("--valid is for pairs and --text for plain text: give text for validation with --valid-text")
    if data.train and data.valid_text:
        raise UserError("--valid-text is for plain text and --train for pairs: give pairs for validation with --valid")
