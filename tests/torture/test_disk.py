"""A full disk, a read-only one, one with errors: the run ends with path and cause, and what was saved is not lost."""

import errno
import io
import os
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple

from limelight.cli.app import run as command
from limelight.config import TransformerConfig, dump_config
from limelight.files import FORMER, PARTIAL
from limelight.models.families import build_model
from limelight.preparation import pairs, vocabulary
from limelight.tokens import load_tokenizers
from limelight.training import loop, report
from limelight.training import run as running
from limelight.training.checkpoints import checkpoint, keep
from limelight.training.checkpoints.checkpoint import CHECKPOINTS, find_damage, restore_newest
from limelight.training.optimization.optimizer import make_optimizer
from tests.torture.conftest import Measured
from tests.torture.faulty_disk import Disk
from tests.torture.processes import differences, told_by
from tests.training.helpers import checkpoints_of, tiny_run
from tests.training.interrupted import before_call

MODEL = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=24, heads=2, d_ff=28, dropout=0.2)
CAUSES = tuple(map(os.strerror, (errno.ENOSPC, errno.EFBIG, errno.EROFS, errno.EIO)))

WRITING: dict[str, tuple[Any, str, int]] = {
    "config.yaml": (running, "write_whole", 1),
    "tokenizer": (vocabulary, "save_tokenizers", 1),
    "token store": (pairs, "add_pairs", 1),
    "log.jsonl": (report.Report, "_write", 3),
    "TensorBoard": (report, "open_loggers", 1),
    "snapshot": (keep, "save_weights", 2),
    "best model": (keep, "save_model", 2),
    "model card": (keep, "write_whole", 2),
    "checkpoint": (loop, "save_checkpoint", 2),
}
"""What a run writes: the function that does it, and which call of it meets the fault."""

CARELESS = "full, and checkpoints are written where they shall stand"


class Trial(NamedTuple):
    """A fault, what was just to be written, and an amount: the share of a checkpoint that there is room for; bytes
    of room for a line of the log; or the share of all steps of writing that are done before."""

    fault: str
    moment: str = ""
    amount: float = 0


class Outcome(NamedTuple):
    """What became of it: all of it true if the promise was kept."""

    trial: Trial
    ended: bool
    """With the right exit code and a message of one line with path and cause, or to the end as if nothing had been."""
    loads: bool
    """The newest checkpoint of before is still the newest, or there is a newer one; every one that there is loads."""
    tidy: bool
    """After the next start no file is left that was not finished."""
    same: bool
    """The next start goes on to the same run, to the last bit."""
    said: str

    @property
    def held(self) -> bool:
        return self.ended and self.loads and self.tidy and self.same


def attempt(folder: Path, trials: Sequence[Trial], tell: Callable[[Any], None]) -> None:
    """Try each fault on a run of its own, all in a process with a disk of its own."""
    tell(list(_outcomes(folder, trials)))


def _outcomes(folder: Path, trials: Sequence[Trial]) -> Iterator[Outcome]:
    config = tiny_run(folder / "text", MODEL, max_steps=6, checkpoint_every=2, validate_every=3, accumulate=1)
    (folder / "run.yaml").write_text(dump_config(config), encoding="utf-8")
    disk = Disk(folder / "disk")
    whole = disk.folder / "whole"
    assert _train(folder / "run.yaml", whole) == (0, "")
    steps = disk.steps
    for number, trial in enumerate(trials):
        run, before = disk.folder / f"run-{number}", [-1]

        def strike(trial: Trial = trial, run: Path = run, before: list[int] = before) -> None:
            before[0] = _newest(run)
            _break(disk, trial, run, whole)

        if trial.moment == "start":
            strike()
        if trial.fault.startswith("error"):
            first = disk.steps + 1 + int(trial.amount * steps)
            disk.fail(first, errno.EIO, for_good=trial.fault.endswith("for good"))
        careful = checkpoint.whole_folder
        if trial.fault == CARELESS:
            checkpoint.whole_folder = _careless_folder
        with before_call(*WRITING[trial.moment], strike) if trial.moment in WRITING else nullcontext():
            code, said = _train(folder / "run.yaml", run)
        loads = _newest(run) >= before[0] and all(not find_damage(place) for place in _places(run))
        loads &= _loads(run, whole)
        disk.heal()
        checkpoint.whole_folder = careful
        code_again, said_again = _train(folder / "run.yaml", run)
        yield Outcome(
            trial,
            _ended_well(trial, code, said, run),
            loads,
            not [path for path in run.rglob("*") if path.suffix in (PARTIAL, FORMER)],
            (code_again, differences(run, whole)) == (0, set()),
            f"{code}: {said}{said_again}",
        )
        shutil.rmtree(run)


@contextmanager
def _careless_folder(folder: Path) -> Iterator[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    yield folder


def _train(config: Path, run: Path, *more: str) -> tuple[int, str]:
    """Exit code and message of `limelight train`."""
    with redirect_stderr(io.StringIO()) as said:
        code = command(["train", "--config", str(config), "--out", str(run), "--quiet", *more])
    return code, said.getvalue()


def _break(disk: Disk, trial: Trial, run: Path, whole: Path) -> None:
    if trial.fault == "read-only":
        disk.fail(disk.steps + 1, errno.EROFS, for_good=True)
    elif trial.moment == "log.jsonl":
        disk.fill((run / "log.jsonl").stat().st_size + int(trial.amount))
    else:
        disk.fill(int(trial.amount * max(path.stat().st_size for path in checkpoints_of(whole)[-1].iterdir())))


def _ended_well(trial: Trial, code: int, said: str, run: Path) -> bool:
    """An error that comes once may hit what is only tidied up, and a run that cannot even begin is the caller's
    matter; else the exit code is 1."""
    codes = {"error once": (0, 1, 2), "error for good": (1, 2)}.get(
        trial.fault, (2,) if trial.moment == "start" else (1,)
    )
    if code == 0:
        return 0 in codes and not said
    told = said.count("\n") == 1 and str(run) in said and any(cause in said for cause in CAUSES)
    return code in codes and told and "Traceback" not in said


def _places(run: Path) -> list[Path]:
    found = checkpoints_of(run) if (run / CHECKPOINTS).is_dir() else []
    return [place for place in found if place.suffix not in (PARTIAL, FORMER)]


def _newest(run: Path) -> int:
    """After which update the newest whole checkpoint was written."""
    return max((int(place.name[5:]) for place in _places(run) if not find_damage(place)), default=-1)


def _loads(run: Path, whole: Path) -> bool:
    """Whether the newest checkpoint is really taken, without a warning."""
    model = build_model(MODEL, load_tokenizers(whole / "tokenizer"))
    optimizer = make_optimizer(model)
    warnings: list[str] = []
    progress = restore_newest(run / CHECKPOINTS, model, optimizer, warn=warnings.append)
    return (progress.step if progress else -1) == _newest(run) and not warnings


def trials_of(number: int, chance: random.Random) -> dict[str, tuple[list[Trial], int]]:
    """Trials by what they have in common, and how many of them make the short form. Of a line of the log a few bytes
    may still be written; where a file is open already, writing goes on on a disk that is read-only. The last steps of
    a run, after its results are saved, may fail unnoticed."""
    opened = ("log.jsonl", "TensorBoard")
    return {
        "full disk within a checkpoint": ([Trial("full", "checkpoint", share / 20) for share in range(20)], 1),
        "full disk at " + ", ".join(WRITING): (
            [Trial("full", moment, room) for moment in WRITING for room in (0, 20)[: 1 + (moment == "log.jsonl")]], 2),
        "read-only when something is to be written": (
            [Trial("read-only", moment) for moment in ("start", *WRITING) if moment not in opened], 2),
        **{f"input/output {fault} at a random step of writing": (
            [Trial(fault, amount=0.98 * (place + chance.random()) / number) for place in range(number)], 1)
           for fault in ("error once", "error for good")},
    }  # fmt: skip


KEPT = "path and cause told, the last checkpoint loads, nothing half done stays, the next start goes on to the last bit"


def test_faults_of_the_disk(full: bool, measured: Measured, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    groups = {
        what: trials if full else chance.sample(trials, short)
        for what, (trials, short) in trials_of(30 if full else 1, chance).items()
    }
    control = Trial(CARELESS, "checkpoint", 0.5)
    outcomes = told_by(attempt, tmp_path, [*(trial for trials in groups.values() for trial in trials), control])
    print(*outcomes, sep="\n")
    caught = outcomes.pop()
    assert caught.ended, "control: checkpoints written where they shall stand fail this check"
    assert not caught.loads
    for what, trials in groups.items():
        held = sum(outcomes.pop(0).held for _ in trials)
        measured("T4", f"{what}: {KEPT}", held=held, of=len(trials))
