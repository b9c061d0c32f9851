"""Progress output of a run: a live line or plain lines, `log.jsonl`, and loggers (`training/loggers.py`)."""

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from limelight.config import TrainingConfig
from limelight.files import naming, write_whole
from limelight.pipelines.snapshots import log_entries
from limelight.screen import Display, clock
from limelight.training.checkpoints.checkpoint import Progress
from limelight.training.loggers import Logger, open_loggers
from limelight.training.optimization.update import UpdateResult
from limelight.training.tasks.task import Validation

NAMES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "accuracy": "accuracy",
    "macro_f1": "macro-F1",
    "bits_per_byte": "bits per byte",
}
"""Names of the figures of a validation for display."""


class Report:
    """Reports updates and validations. Messages go to standard error; standard output is for results."""

    def __init__(self, folder: Path, config: TrainingConfig, *, quiet: bool = False) -> None:
        self.config = config
        self.display = Display(quiet=quiet)
        self._folder, self._path = folder, folder / "log.jsonl"
        self._log: BinaryIO | None = None
        self._loggers: list[Logger] = []
        self._pieces, self._since = 0, time.monotonic()

    def begin(self, progress: Progress) -> None:
        """Open the log and the loggers, and remove the lines of updates that will be repeated.

        From here on, a failure to write raises `OSError`.
        """
        if self._path.exists():
            self._path.read_bytes()  # an error to read it must not empty it
            write_whole(self._path, "".join(_lines_until(self._path, progress)))
        self._log = open(self._path, "ab")  # noqa: SIM115
        self._loggers = open_loggers(self.config.loggers, self._folder, progress.step)
        self._since = time.monotonic()

    def say(self, text: str) -> None:
        """Print a message."""
        self.display.say(text)

    def update(self, progress: Progress, result: UpdateResult, rate: float) -> None:
        """Record an update; write a line every `training.log_every` updates.

        If updates are slow, progress is also shown in between, but not logged: the log does not depend on time.
        """
        if result.applied:
            self._pieces += result.tokens
        else:
            self._write("skipped", progress, loss=result.loss_sum / result.tokens, gradient_norm=result.gradient_norm,
                        in_a_row=progress.skipped)  # fmt: skip
            self.say(f"update {progress.step:>6}  skipped: its loss or gradient is not finite")
        due = progress.step % self.config.log_every == 0
        if not due and not self.display.is_due():
            return
        now = time.monotonic()
        loss = progress.loss_sum / progress.loss_pieces if progress.loss_pieces else math.nan
        speed = self._pieces / (now - self._since) if now > self._since else 0.0
        name = f"update {progress.step:>6}  epoch {progress.position.epoch + 1}"
        figures = f"loss {loss:.4f}  {speed:,.0f} target tokens/s  rate {rate:.2e}"
        done = _share_done(progress, self.config)
        left = f"{clock(progress.seconds * (1 - done) / done)} left" if done and progress.seconds else ""
        self.display.show(name, done, figures, left)
        if due:
            self._write("training", progress, loss=loss, learning_rate=rate, target_tokens_per_second=round(speed),
                        gradient_norm=result.gradient_norm)  # fmt: skip
            self._since, self._pieces = now, 0
            progress.loss_sum, progress.loss_pieces = 0.0, 0

    def validation(self, progress: Progress, seen: Validation | None) -> None:
        """Report a validation, whose duration does not count for the training speed."""
        self._since += progress.validation_seconds
        if seen is None:
            return
        self._write("validation", progress, **_figures(seen))
        mean = "mean " if seen.directions else ""
        self.say(f"update {progress.step:>6}  validation: {mean}{_in_words({'loss': seen.loss, **seen.figures})}")
        for direction, figures in seen.directions.items():
            self.say(f"    {direction:<9} {_in_words(figures)}")
        for name, text in seen.example:
            self.say(f"    {name:<9} {text}")

    def final(self, progress: Progress, seen: Validation | None, made_from: str, *, chosen: bool) -> None:
        """Report the validation of the last weights, or of their average, and whether they became the model."""
        self._write("final", progress, made_from=made_from, chosen=chosen, **({} if seen is None else _figures(seen)))
        worth = "" if seen is None else f": {_in_words({'loss': seen.loss, **seen.figures})} in validation"
        self.say(f"{made_from}{worth}; {'it is the model now' if chosen else 'an earlier one stays the model'}")

    def close(self) -> None:
        """Restore the terminal and close the files."""
        self.display.close()
        # Every line was already written, or its failure reported.
        for close in [logger.close for logger in self._loggers] + ([self._log.close] if self._log else []):
            with suppress(OSError):
                close()

    def _write(self, event: str, progress: Progress, **figures: Any) -> None:
        """Write a line with a JSON object; numbers that are not finite become null, because JSON has none."""
        finite = _finite(figures)
        position = {"step": progress.step, "epoch": progress.position.epoch, "seconds": round(progress.seconds, 2)}
        if self._log is not None:
            with naming(self._path):
                self._log.write((json.dumps({"event": event, **position, **finite}) + "\n").encode())
                self._log.flush()  # a full disk raises here
        numbers = {f"{event}/{name}": value for name, value in finite.items() if isinstance(value, int | float)}
        for logger in self._loggers:
            logger.log(numbers, progress.step)


def _figures(seen: Validation) -> dict[str, Any]:
    """The figures for a line of the log; with several directions their means, and the figures of each direction in
    `directions`."""
    figures = {"loss": seen.loss, "perplexity": math.exp(min(seen.loss, 700)), **seen.figures}
    return figures | ({"directions": dict(seen.directions)} if seen.directions else {})


def _in_words(figures: Mapping[str, float]) -> str:
    words = (f"{NAMES.get(name, name)} {value:5.2f}" for name, value in figures.items() if name != "loss")
    return "  ".join([f"loss {figures['loss']:.4f}", *words])


def _finite(value: Any) -> Any:
    """The value, with None for numbers that JSON cannot represent."""
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _lines_until(path: Path, progress: Progress) -> Iterator[str]:
    """The lines of a log up to `progress`; damaged ones, such as half a line at the end, are dropped."""
    for entry in log_entries(path):
        event, step = entry.get("event"), entry.get("step", math.inf)
        again = step > progress.step
        again |= event == "validation" and step > progress.validated_step
        again |= event == "final" and step == progress.step and not progress.finished
        if not again:
            yield json.dumps(entry) + "\n"


def _share_done(progress: Progress, config: TrainingConfig) -> float:
    """The used share of the nearest bound, from 0 to 1; 0 if only early stopping ends the run."""
    by_steps = progress.step / (config.max_steps or math.inf)
    return min(1.0, max(by_steps, progress.seconds / (60 * (config.max_minutes or math.inf))))
