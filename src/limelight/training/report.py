"""What a person sees of a run, and what is written down: a live line or plain lines, `log.jsonl`, TensorBoard."""

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress as Bar, TextColumn

from limelight.config import TrainingConfig
from limelight.training.checkpoint import Progress
from limelight.training.tensorboard import open_tensorboard
from limelight.training.update import UpdateResult
from limelight.training.validation import Validation


class Report:
    """Collects updates into lines. Everything goes to standard error: standard output belongs to results."""

    def __init__(self, folder: Path, config: TrainingConfig, *, quiet: bool = False) -> None:
        self.config = config
        self.console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self._log = open(folder / "log.jsonl", "a", encoding="utf-8")  # noqa: SIM115 - closed by close()
        self._tensorboard = open_tensorboard(folder / "tensorboard")
        self._bar = self._live_bar() if sys.stderr.isatty() and not quiet else None
        self._loss, self._pieces, self._since = 0.0, 0, time.monotonic()

    def say(self, text: str) -> None:
        """A line for the person in front of it."""
        self.console.print(text, markup=False)

    def update(self, progress: Progress, result: UpdateResult, rate: float) -> None:
        """Count an update; every `training.log_every` of them become a line."""
        if result.applied:
            self._loss += result.loss_sum
            self._pieces += result.pieces
        if progress.step % self.config.log_every == 0:
            self._line(progress, result, rate)

    def validation(self, progress: Progress, seen: Validation | None) -> None:
        """Write down how good the model is now."""
        self._since = time.monotonic()  # validating is no training: it must not look like slow training
        if seen is None:
            return
        self._write("validation", progress, loss=seen.loss, perplexity=math.exp(min(seen.loss, 700)), bleu=seen.bleu)
        bleu = "" if seen.bleu is None else f"  BLEU {seen.bleu:5.2f}"
        self.say(f"update {progress.step:>6}  validation: loss {seen.loss:.4f}{bleu}")
        if seen.example is not None:
            for name, text in zip(("source", "reference", "model"), seen.example, strict=True):
                self.say(f"    {name:<9} {text}")

    def close(self) -> None:
        """Give the terminal back and finish the files."""
        if self._bar is not None:
            self._bar.stop()
        if self._tensorboard is not None:
            self._tensorboard.close()
        self._log.close()

    def _line(self, progress: Progress, result: UpdateResult, rate: float) -> None:
        now = time.monotonic()
        seconds, self._since = now - self._since, now
        loss = self._loss / self._pieces if self._pieces else math.nan
        speed = self._pieces / seconds if seconds else 0.0
        self._loss, self._pieces = 0.0, 0
        self._write("training", progress, loss=loss, learning_rate=rate, target_tokens_per_second=round(speed),
                    gradient_norm=result.gradient_norm)  # fmt: skip
        left = time_left(progress, self.config)
        line = f"loss {loss:.4f}  {speed:,.0f} target tokens/s  rate {rate:.2e}"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=_share_done(progress, self.config),
                             description=f"update {progress.step}", figures=line, left=left)  # fmt: skip
        else:
            self.say(f"update {progress.step:>6}  epoch {progress.position.epoch + 1}  {line}  {left}")

    def _live_bar(self) -> Bar:
        columns = ("{task.description}", BarColumn(bar_width=24), "{task.fields[figures]}", "{task.fields[left]}")
        bar = Bar(
            *(column if isinstance(column, BarColumn) else TextColumn(column) for column in columns), console=self.console
        )
        bar.add_task("starting", total=1.0, figures="", left="")
        bar.start()
        return bar

    def _write(self, event: str, progress: Progress, **figures: Any) -> None:
        """One JSON object a line; numbers that are not finite become null, as JSON has none."""
        finite = {
            name: value if not isinstance(value, float) or math.isfinite(value) else None for name, value in figures.items()
        }
        place = {"step": progress.step, "epoch": progress.position.epoch, "seconds": round(progress.seconds, 2)}
        self._log.write(json.dumps({"event": event, **place, **finite}) + "\n")
        self._log.flush()
        if self._tensorboard is not None:
            for name, value in finite.items():
                if value is not None:
                    self._tensorboard.add_scalar(f"{event}/{name}", value, progress.step)


def _share_done(progress: Progress, config: TrainingConfig) -> float:
    """How much of the nearest bound is used up, from 0 to 1."""
    shares = [0.0]
    if config.max_steps:
        shares.append(progress.step / config.max_steps)
    if config.max_minutes:
        shares.append(progress.seconds / (60 * config.max_minutes))
    return min(1.0, max(shares))


def time_left(progress: Progress, config: TrainingConfig) -> str:
    """Until the nearest bound, at the pace so far; empty when only early stopping will end the run."""
    done = _share_done(progress, config)
    if done <= 0 or progress.seconds <= 0:
        return ""
    seconds = round(progress.seconds * (1 - done) / done)
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours}:{minutes:02d}:{seconds % 60:02d} left"
