"""All that a run in motion consists of."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import torch

from limelight.config import RunConfig
from limelight.models.interface import Model
from limelight.models.recurrent.cells import Carried
from limelight.signals import StopRequest
from limelight.tokens import Tokenizers
from limelight.training.budget import Clock, Pace
from limelight.training.checkpoint import Progress
from limelight.training.distributed import ALONE, Group, Sharing
from limelight.training.half import HalfCopy
from limelight.training.report import Report
from limelight.training.tasks.task import Task, Validation


@dataclass(slots=True)
class Run:
    """Only `progress`, the weights, the optimizer and what is carried change; all of them are in a checkpoint."""

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
    """What computes the updates in bf16; None where the model does so itself."""
    carried: Carried = ()
    """What a recurrent language model remembers of the text before the next batch."""
    epoch: float = 1.0
    """About how many updates an epoch has."""
    pace: Pace = field(default_factory=Pace)
    """How long updates take in this process."""
    clock: Clock = field(default_factory=lambda: Clock(0.0))
    """Started by the loop; `progress.seconds` is what it showed last."""
    group: Group = ALONE
    """The processes that train together."""

    def interruptible(self) -> AbstractContextManager[None]:
        """Where a signal may end the work on the spot. Of several processes none may: the others would wait for it."""
        return self.stop.interruptible() if self.group.size == 1 else nullcontext()


def validate(run: Run) -> Validation | None:
    """How good the model is as it stands; None without validation text. A signal ends this on the spot: it changes
    nothing, the random state included."""
    if not run.task.validates:
        return None
    run.group.call_for_help()
    return validate_share(run)


def validate_share(run: Run) -> Validation:
    """Do this process's share of a validation, of the weights that the first process has."""
    run.group.equalize(list(run.model.parameters()))
    sharing = Sharing(run.group, run.stop.interruptible)
    return run.task.validate(run.model, precision=run.precision, device=run.device, sharing=sharing)


def score_of(run: Run, seen: Validation | None) -> float:
    """The figure to be raised. Without validation text the later is the better."""
    return seen.score(run.config.training.best_by) if seen else float(run.progress.step)
