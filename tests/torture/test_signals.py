"""Told to stop, in every phase of the work: the process is out in time, with its code, and nothing is lost."""

import random
import signal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from limelight.config import dump_config
from limelight.signals import SIGNALS
from limelight.training.checkpoints.checkpoint import find_damage
from tests.torture.commands import IN_COMPILED_CODE, Command, Moment
from tests.torture.conftest import Measured
from tests.torture.processes import differences
from tests.training.helpers import tiny_run, write_pairs

LIMITS = {True: (10.0, 2.0), False: (60.0, 60.0)}
"""Seconds in which a process is out, in full and in short: where something may be saved, and where nothing is waited
for. In short the machine may be busy with other things; undisturbed, the process would be busy for minutes."""
PHASES = {
    "data preparation": {
        "preparation.read.read_pairs": 3,
        "preparation.vocabulary.train_tokenizer": 1,
        "preparation.pairs.make_stores": 1,
        "preparation.pairs.read_valid": 1,
        "training.tasks.translation.batches_of": 1,
    },
    "first step": {"training.loop.update": 1, "training.optimization.loss.linear_cross_entropy": 1},
    "step": {"training.optimization.loss.linear_cross_entropy": 24},
    "validation": {"training.tasks.translation.mean_loss": 3},
    "save": {
        "training.checkpoints.checkpoint.sha256": 16,
        "training.checkpoints.checkpoint._remove_old": 4,
        "training.checkpoints.keep.save_weights": 3,
        "training.checkpoints.keep.save_model": 1,
    },
}
"""Where each phase is met: functions of `limelight`, and up to which of their calls, all in the first half."""
BUSY = {
    "a step": Moment("limelight.training.optimization.loss.linear_cross_entropy", 9, IN_COMPILED_CODE),
    "the vocabulary": Moment("limelight.preparation.vocabulary.train_tokenizer", 1, IN_COMPILED_CODE),
    "validation": Moment("limelight.training.tasks.translation.mean_loss", 2, IN_COMPILED_CODE),
    "a save": Moment("limelight.training.checkpoints.checkpoint.sha256", 6, IN_COMPILED_CODE),
}
"""Where compiled code keeps Python from its next step for minutes. In all but the second there is a checkpoint."""


class Workplace(NamedTuple):
    """A run that came to its end undisturbed, and how others of the same configuration are stopped."""

    folder: Path
    whole: Path
    chance: random.Random

    def train(self, run: Path, *more: str) -> list[str]:
        return ["train", "--config", str(self.folder / "config.yaml"), "--out", str(run), "--quiet", *more]

    def faults_of(self, run: Path) -> list[str]:
        """What is wrong with a run that was stopped, and with how it goes on."""
        newest = sorted((run / "checkpoints").glob("step-????????"))[-1:]
        faults = [f"{place.name}: {find_damage(place)}" for place in newest if find_damage(place)]
        command = Command(self.train(run), self.folder / "errors")
        if command.end().code or command.errors:
            return [*faults, f"it does not go on: {command.errors}"]
        return faults + [f"{each} is not the same in the end" for each in sorted(differences(run, self.whole))]

    def disturb(
        self,
        words: list[str],
        moment: Moment,
        *,
        second: bool = False,
        within: float,
        says: str = "limelight: stopped by {}",
        changed: dict[str, Any] | None = None,
    ) -> list[str]:
        """What is wrong with the end of a command that is sent a signal at its moment or a little later."""
        command = Command(words, self.folder / "stopped", moment, changed)
        command.reach()
        command.process.join(self.chance.uniform(0, min(0.2, moment.lasts + 0.03)))
        if second:
            command.send(self.chance.choice(SIGNALS))
            command.process.join(self.chance.uniform(0.2, 1.0))
        number = self.chance.choice(SIGNALS)
        command.send(number)
        code, _, seconds = command.end(120)
        faults = []
        if code != 128 + number:
            faults.append(f"exit code {code} after signal {number}")
        if seconds > within:
            faults.append(f"out after {seconds:.1f} s")
        said = [
            line for line in command.errors.splitlines() if not line.startswith(("warning: ", "limelight: warning: "))
        ]  # of the text, before
        if len(said) != 1 or says.format(signal.Signals(number).name) not in said[0]:
            faults.append(f"it says {command.errors!r}")
        print(moment, f"{seconds:.2f} s", faults)
        return faults


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    folder = tmp_path_factory.mktemp("signals")
    config = tiny_run(folder, max_steps=24, checkpoint_every=3, validate_every=4, keep_checkpoints=2)
    (folder / "config.yaml").write_text(dump_config(config), encoding="utf-8")
    made = Workplace(folder, folder / "whole", random.Random())
    command = Command(made.train(made.whole), folder / "errors")
    assert command.end().code == 0, command.errors
    return made


@pytest.mark.parametrize("phase", PHASES)
def test_training_is_told_to_stop(
    phase: str, workplace: Workplace, full: bool, measured: Measured, seed: int, tmp_path: Path
) -> None:
    workplace.chance.seed(seed)
    chance, tries, held = workplace.chance, 20 if full else 1, 0
    for count in range(tries):
        function, calls = chance.choice(sorted(PHASES[phase].items()))
        moment = Moment(f"limelight.{function}", chance.randint(1, calls), chance.choice([0.0, 0.05]))
        run = tmp_path / f"run-{count}"
        faults = workplace.disturb(workplace.train(run, "--max-steps", "1000000"), moment, within=LIMITS[full][0])
        held += not faults + workplace.faults_of(run)
    what = f"signals (SIGTERM, SIGINT) during {phase}: out within 10 s, and the run goes on to the same end"
    measured("T3", what, held=held, of=tries)


@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_beam_search_is_told_to_stop(
    command: str, workplace: Workplace, full: bool, measured: Measured, seed: int, tmp_path: Path
) -> None:
    workplace.chance.seed(seed)
    chance, tries, held = workplace.chance, 20 if full else 1, 0
    text, out = write_pairs(tmp_path / "test.tsv", 5000), tmp_path / "out.txt"
    given = ["--workers", "1", text] if command == "translate" else ["--test", text]
    for _ in range(tries):
        moment = Moment("limelight.decoding.engine.Engine.step", chance.randint(1, 20), chance.choice([0.0, 0.05]))
        words = [command, "--model", str(workplace.whole), *given, "--output", str(out)]
        held += not workplace.disturb(words, moment, within=LIMITS[full][0]) and not out.exists()
    what = f"signals (SIGTERM, SIGINT) during beam search ({command}): out within 10 s, no half output"
    measured("T3", what, held=held, of=tries)


@pytest.mark.parametrize("second", [False, True])
def test_work_that_does_not_end(
    second: bool, workplace: Workplace, full: bool, measured: Measured, seed: int, tmp_path: Path
) -> None:
    """After its grace, or at a second signal, it is ended. In the short form the grace is shorter."""
    workplace.chance.seed(seed)
    changed = {} if second or full else {"limelight.signals.GRACE": 0.5}
    says = "this was the second signal" if second else "without a last save: the work had not come to a stop after"
    for place in BUSY if full else [workplace.chance.choice(list(BUSY))]:
        tries, held = 5 if full and second else 1, 0
        for count in range(tries):
            run = tmp_path / f"{place}-{count}"
            within = LIMITS[full][second]
            faults = workplace.disturb(workplace.train(run), BUSY[place], second=second, says=says, changed=changed,
                                       within=within)  # fmt: skip
            held += not faults + workplace.faults_of(run)
        which = "second signals" if second else "signals"
        what = f"{which} while a product within {place} takes minutes: out in time, what was saved is intact"
        measured("T3", what, held=held, of=tries)
