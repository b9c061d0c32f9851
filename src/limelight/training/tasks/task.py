"""The interface of training tasks: their batches, validation, and the choice of the task by the family of the model."""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from limelight.batching.batch import Batch
from limelight.batching.stream import Stream
from limelight.config import RunConfig
from limelight.models.families import family_of
from limelight.models.interface import Model, eval_mode, require_room
from limelight.preparation.extend import extend_parent
from limelight.preparation.hold_out import make_hold_out
from limelight.preparation.kept import Say
from limelight.preparation.pairs import Prepared, cleaned, first_look
from limelight.preparation.plain_text import PreparedText
from limelight.preparation.replay import make_replay
from limelight.registry import Registry, resolve
from limelight.shapes import Float
from limelight.storage.layout import CONFIG
from limelight.text.pair import Pair
from limelight.training.optimization.loss import LOSSES, LossModel, batch_loss
from limelight.training.optimization.precision import autocast

MIN_BLEU = 1.0
"""BLEU below this is noise: hardly any 4-gram matches."""


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of a validation on held-out text."""

    loss: float
    """Per predicted token, natural logarithm, without label smoothing; its exponential is the perplexity."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Further metrics by name: `bleu` and `chrf` of greedy translations, `accuracy` and `macro_f1` of labels."""
    example: Sequence[tuple[str, str]] = ()
    """Texts to display, each as (name, text)."""
    directions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Loss and figures of each direction if there are several; then `loss` and `figures` are their means."""

    def score(self, by: str) -> float:
        """The score by which models are compared, higher is better: one of `figures`, else minus the loss.

        While BLEU is noise, the score for `bleu` is a hundredth of chrF: at most 1, so a model with a significant BLEU
        is better than any without, and chrF decides between two models without.
        """
        figure = self.figures.get(by, -self.loss)
        if self.is_without_bleu(by):
            figure = self.figures["chrf"] / 100
        return figure if math.isfinite(figure) else -sys.float_info.max  # worse than any other, and comparable

    def is_without_bleu(self, by: str) -> bool:
        """Whether models are compared by BLEU, and this BLEU is still noise."""
        return by == "bleu" and "chrf" in self.figures and self.figures["bleu"] < MIN_BLEU


class Task(ABC):
    """The interface between the training loop and the objective of a model.

    In every task a batch has targets and their mask (`target_out`, `target_valid`), and the model computes features for
    these positions. `register_task` adds a task for `training.task`, made like the tasks in `limelight.training.tasks`.
    """

    config: RunConfig
    amount: str
    """The amount of training text, in words: `29,000 pairs`."""
    measured_by: str = ""
    """How the figures of a validation are measured, in words; may be empty."""
    stream: Stream
    validates: bool
    """Whether there is validation text."""

    def loss(self, model: LossModel, batch: Batch) -> Float[Tensor, ""]:
        """What training minimizes, summed over the real target tokens of a batch: by default `training.loss`."""
        training = self.config.training
        return LOSSES.find(training.loss)(model, batch, label_smoothing=training.label_smoothing)

    @abstractmethod
    def validate(self, model: Model, precision: str) -> Validation:
        """Validate the current weights, with products in `precision`. Changes no state, including the random state."""


def require_room_for(pairs: Sequence[Pair], *sides: Sequence[Sequence[int]], longest: int | None) -> None:
    """Raises `UserError` for a pair for validation, whose ids are in `sides`, with more tokens than the `longest`
    sequence that the model permits: now, not at the first validation."""
    if longest is not None:
        for pair, *rows in zip(pairs, *sides, strict=True):
            require_room(max(rows, key=len), longest, f"{pair.place}: this text for validation")


def mean_loss(model: Model, batches: Iterable[Batch], precision: str) -> float:
    """Negative log-likelihood per predicted token, natural logarithm."""
    total, tokens = 0.0, 0
    with eval_mode(model) as device:
        for batch in batches:
            with autocast(precision, device):
                loss = batch_loss(model, batch.to(device), label_smoothing=0.0)
            total += loss.item()
            tokens += batch.target_tokens
    return total / tokens


Tokenized = Prepared | PreparedText
"""Prepared training text."""


def prepare_data(config: RunConfig, folder: Path, say: Say) -> Tokenized:
    """Tokenize the text for the task. Raises `UserError` if the text cannot be read, or none is left."""
    if not (folder / CONFIG).exists():
        if config.data.hold_out:
            everything = config.data.model_copy(update={"hold_out": 0})
            make_hold_out(config, folder, lambda corpus: cleaned(everything, [corpus]), say)
        make_replay(config, folder, say)
        extend_parent(config, folder, say)
        if not config.data.text:
            first_look(config, say)
    prepare = resolve(family_of(config.model).uses[config.learns].prepare)
    return prepare(config, folder, say)


TASKS: Registry[Callable[..., Task]] = Registry("task", {})
"""Tasks for `training.task`; by default the family of the model and the kind of text determine it."""
register_task = TASKS.register


def build_task(config: RunConfig, data: Tokenized, model: Model) -> Task:
    """The task of a run. Raises `UserError` if the text does not fit the model."""
    name = config.training.task
    task = TASKS.find(name) if name else resolve(family_of(config.model).uses[config.learns].task)
    return task(config, data, model)
