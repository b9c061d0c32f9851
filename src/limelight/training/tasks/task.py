"""What a run learns: where its batches come from, and how good the model has become."""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import torch

from limelight.batching.batch import Batch
from limelight.batching.stream import Position
from limelight.config import RunConfig
from limelight.errors import UserError
from limelight.models.interface import Model, eval_mode
from limelight.training.distributed import ALL_MINE, Sharing
from limelight.training.loss import Learner, batch_loss

LEAST_BLEU = 1.0
"""Below this BLEU is noise: a matched 4-gram or two, or none at all."""


@dataclass(frozen=True, slots=True)
class Validation:
    """One validation on unseen text."""

    loss: float
    """Per predicted token, natural logarithm, without label smoothing; its exponential is the perplexity."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """What else was measured, by name: `bleu` and `chrf` of greedy translations, `accuracy` and `macro_f1` of
    labels."""
    example: Sequence[tuple[str, str]] = ()
    """Texts to look at, each with the name of what it is."""
    directions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Loss and figures of each direction, where there are several; the others are their means then."""

    def score(self, by: str) -> float:
        """The figure to be raised: one of `figures`, or minus the loss (also where there is no such figure).

        Where BLEU says nothing, `bleu` is a hundredth of chrF: at most 1, so a model with a real BLEU is better than
        any without, and of two without one chrF decides.
        """
        figure = self.figures.get(by, -self.loss)
        if self.is_without_bleu(by):
            figure = self.figures["chrf"] / 100
        return figure if math.isfinite(figure) else -sys.float_info.max  # worse than any other, and comparable

    def is_without_bleu(self, by: str) -> bool:
        """Whether models are compared by BLEU, and this BLEU says nothing yet."""
        return by == "bleu" and "chrf" in self.figures and self.figures["bleu"] < LEAST_BLEU


class Task(ABC):
    """What the loop may know of what a model learns.

    Whatever the task, a batch says what is to be predicted and where (`target_out`, `target_valid`), the model makes
    features for these places, and the loss is the same cross-entropy.
    """

    amount: str
    """How much there is to learn from, in words: `29,000 pairs`."""
    measured_by: str = ""
    """How the figures of a validation are measured, in words; empty where there is nothing to say."""

    @abstractmethod
    def batches(self, position: Position) -> Generator[tuple[Batch, Position]]:
        """From `position` on, without end: each batch with the position after it."""

    @abstractmethod
    def batches_per_epoch(self) -> float:
        """About how many batches an epoch has."""

    @property
    @abstractmethod
    def validates(self) -> bool:
        """Whether there is unseen text."""

    def warm_up(self, model: Model, *, precision: str, device: torch.device) -> None:  # noqa: B027
        """Do what only the first validation of a process has to do, as compiling loops for a new machine: a run of
        minutes keeps as much time for its last validation as an earlier one took."""

    @abstractmethod
    def validate(
        self, model: Model, *, precision: str, device: torch.device, sharing: Sharing = ALL_MINE
    ) -> Validation:
        """How good the model is as it stands. Nothing is changed by it, the random state included. With `sharing` it is
        done by several processes, which all find the same."""


def require_positions(config: RunConfig, longest: int | None) -> None:
    """Raises `UserError` where training would meet more positions than the model learns."""
    if longest is not None and config.batching.max_length > longest:
        raise UserError(
            f"batching.max_length={config.batching.max_length} is more than the {longest} positions the model learns; "
            "lower it, or raise model.max_positions"
        )


def mean_loss(
    model: Model,
    batches: Iterable[Batch],
    *,
    learner: Learner | None = None,
    autocast: AbstractContextManager[object],
    device: torch.device,
    sharing: Sharing = ALL_MINE,
) -> float:
    """Negative log-likelihood per predicted token. A `learner` may stand in for the model, as for one that carries a
    state. The sums of the batches are added in their order, whichever process has computed which."""

    def losses(some: Iterable[Batch]) -> list[tuple[float, int]]:
        found = []
        with eval_mode(model):
            for batch in some:
                with autocast:
                    loss = batch_loss(learner or model, batch.to(device), label_smoothing=0.0)
                found.append((loss.item(), batch.target_tokens))
        return found

    found = sharing.over(batches, losses)
    return sum(loss for loss, _ in found) / sum(tokens for _, tokens in found)
