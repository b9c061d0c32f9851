"""The state of a run during training."""

import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import torch

from limelight.config import RunConfig
from limelight.models.interface import Model
from limelight.signals import StopRequest
from limelight.tokens import Tokenizers
from limelight.training.checkpoints.checkpoint import Progress
from limelight.training.distributed import ALONE, Group
from limelight.training.gradient_sum import GradientSum
from limelight.training.optimization.precision import HalfCopy
from limelight.training.optimization.update import Compiled, PendingUpdate
from limelight.training.report import Report
from limelight.training.tasks.task import Task, Validation


@dataclass(slots=True)
class Run:
    """All objects of a run. Only `progress`, weights and optimizer change; checkpoints store them."""

    folder: Path
    config: RunConfig
    model: Model
    optimizer: torch.optim.Optimizer
    task: Task
    tokenizers: Tokenizers
    device: torch.device
    precision: str
    progress: Progress
    report: Report
    stop: StopRequest
    half: HalfCopy | None = None
    """The copy that computes updates in half precision; None if the model itself does."""
    compiled: Compiled | None = None
    """Computes updates in place of the model or its copy, with `training.compile`."""
    epoch: float = 1.0
    """Approximate number of updates per epoch."""
    pace: float = 0.0
    """Seconds of an update: a moving average, by the clock of the first process."""
    began: float = 0.0
    """When training began, by the monotonic clock, as if it had never been interrupted."""
    group: Group = ALONE
    """The processes that train together."""
    sums: GradientSum | None = None
    """Sums gradients over the processes, if there are several."""
    pending: tuple[PendingUpdate, float] | None = None
    """The result of the last update with its learning rate, until it is read."""

    def seconds(self) -> float:
        """Training time so far, interruptions not counted. The loop copies it to `progress.seconds`."""
        return time.monotonic() - self.began

    def interruptible(self) -> AbstractContextManager[None]:
        """A context in which a signal may stop the work immediately; not with several processes, which would wait."""
        return self.stop.interruptible() if self.group.size == 1 else nullcontext()


def validate(run: Run) -> Validation | None:
    """Validate the current weights; None without validation text. A signal stops it immediately. It changes no state,
    including the random state."""
    if not run.task.validates:
        return None
    with run.stop.interruptible():
        return run.task.validate(run.model, run.precision)


def score_of(run: Run, seen: Validation | None) -> float:
    """The score of a validation, higher is better. Without validation text later updates are better."""
    return seen.score(run.config.training.best_by) if seen else float(run.progress.step)
