"""Which task a run has: what its model is, and what text it is given, say so."""

from pathlib import Path
from typing import Protocol, runtime_checkable

from limelight.config import RunConfig
from limelight.models.interface import Model, Seq2Seq
from limelight.tokens import Tokenizers
from limelight.training.prepare import Prepared, Say, prepare
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
    return prepare(config, folder, say)


def build_task(config: RunConfig, data: Tokenised, model: Model) -> Task:
    """The task of a run. Raises `UserError` where the model cannot take what the text holds."""
    assert isinstance(data, Prepared)
    assert isinstance(model, Seq2Seq)
    return Translation(config, data, model)
