"""All that a run in motion consists of."""

from dataclasses import dataclass
from pathlib import Path

import torch

from limelight.batching.batch import Batch
from limelight.batching.stream import BatchStream
from limelight.config import RunConfig
from limelight.decoding.translate import Translator
from limelight.models.interface import Seq2Seq
from limelight.text.pair import Pair
from limelight.tokens import Tokenizers
from limelight.training.checkpoint import Progress
from limelight.training.half import HalfCopy
from limelight.training.precision import autocast
from limelight.training.report import Report
from limelight.training.signals import StopRequest
from limelight.training.validation import Validation, validate


@dataclass(slots=True)
class Run:
    """Only `progress`, the weights, the optimizer and the random state change; all four are in a checkpoint."""

    folder: Path
    config: RunConfig
    model: Seq2Seq
    optimizer: torch.optim.Optimizer
    stream: BatchStream
    tokenizers: Tokenizers
    valid_pairs: list[Pair]
    valid_batches: list[Batch]
    device: torch.device
    precision: str
    progress: Progress
    report: Report
    stop: StopRequest
    half: HalfCopy | None = None
    """What computes the updates in bf16; None where the model does so itself."""


def look(run: Run) -> Validation | None:
    """How good the model is as it stands; None without validation text. A signal ends this on the spot: it changes
    nothing, the random state included."""
    if not run.valid_pairs:
        return None
    with run.stop.interruptible():
        return validate(
            run.model,
            run.valid_batches,
            Translator(run.model, run.tokenizers, run.config.decoding, precision=run.precision),
            run.valid_pairs,
            bleu_sentences=run.config.training.bleu_sentences,
            autocast=autocast(run.precision, run.device),
            device=run.device,
        )


def score_of(run: Run, seen: Validation | None) -> float:
    """The figure to be raised. Without validation text the later is the better."""
    return seen.score(run.config.training.best_by) if seen else float(run.progress.step)
