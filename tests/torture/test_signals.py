"""Told to stop, in every phase of the work: the process is out in time, with its code, and nothing is lost."""

import random
import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from limelight.config import save_config
from limelight.signals import SIGNALS
from limelight.training.checkpoints.checkpoint import find_damage
from limelight.training.checkpoints.lock import LOCK
from tests.torture.commands import IN_COMPILED_CODE, Command, Ended, Moment
from tests.torture.conftest import Measured
from tests.torture.processes import differences
from tests.training.helpers import tiny_run, write_pairs

IN_TIME, AT_ONCE = 10.0, 1.0
"""Seconds that are promised: after the first signal, after the second."""
PHASES = {
    "data preparation": {
        "preparation.pairs.read_pairs": 3,
        "preparation.pairs.train_tokenizer": 1,
        "preparation.pairs._tokenize": 1,
        "preparation.pairs.read_valid": 1,
        "training.tasks.translation.validation_batches": 1,
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
    "the vocabulary": Moment("limelight.preparation.pairs.train_tokenizer", 1, IN_COMPILED_CODE),
    "validation": Moment("limelight.training.tasks.translation.mean_loss", 2, IN_COMPILED_CODE),
    "a save": Moment("limelight.training.checkpoints.checkpoint.sha256", 6, IN_COMPILED_CODE),
}
"""Where compiled code keeps Python from its next step for minutes. In all but the second there is a checkpoint."""


class Workplace(NamedTuple):
    """A run that came to its end undisturbed, and the words that make the same one."""

    folder: Path
    whole: Path

    def train(self, run: Path, *more: str) -> list[str]:
        return ["train", "--config", str(self.folder / "config.yaml"), "--out", str(run), "--quiet", *more]

    def faults_of(self, run: Path) -> list[str]:
        """What is wrong with a run that was stopped, and with how it goes on."""
        faults: list[str] = []
        for place in sorted((run / "checkpoints").glob("step-????????"))[-1:]:
            if damage := find_damage(place):
                faults.append(f"{place.name}: {damage}")
        ended = Command(self.train(run), self.folder / "errors").end()
        if ended.code or ended.errors:
            return [*faults, f"it does not go on: {ended}"]
        return faults + [f"{each} is not the same in the end" for each in sorted(differences(run, self.whole))]


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Workplace:
    folder = tmp_path_factory.mktemp("signals")
    config = tiny_run(folder, max_steps=24, checkpoint_every=3, validate_every=4, keep_checkpoints=2)
    save_config(config, folder / "config.yaml")
    made = Workplace(folder, folder / "whole")
    ended = Command(made.train(made.whole), folder / "errors").end()
    assert ended.code == 0, ended
    return made


def disturb(command: Command, moment: Moment, chance: random.Random) -> tuple[int, Ended]:
    """Send it a signal at its moment or a little later; which, and how it ended."""
    command.reach()
    command.process.join(chance.uniform(0, moment.lasts + 0.03))
    number = chance.choice(SIGNALS)
    command.send(number)
    return number, command.end()


def faults_of(number: int, ended: Ended, *, within: float = IN_TIME) -> list[str]:
    """What is wrong with the end of a command that was told to stop."""
    faults = []
    if ended.code != 128 + number:
        faults.append(f"exit code {ended.code} after signal {number}")
    if ended.seconds > within:
        faults.append(f"out after {ended.seconds:.1f} s")
    said = [line for line in ended.errors.splitlines() if not line.startswith("warning: ")]  # of the text, before
    if len(said) != 1 or f"limelight: stopped by {signal.Signals(number).name}" not in ended.errors:
        faults.append(f"it says {ended.errors!r}")
    return faults


@pytest.mark.parametrize("phase", PHASES)
def test_training_is_told_to_stop(
    phase: str, workplace: Workplace, full: bool, measured: Measured, seed: int, tmp_path: Path
) -> None:
    chance, tries = random.Random(seed), 20 if full else 1
    held, slowest = 0, 0.0
    for count in range(tries):
        function, calls = chance.choice(sorted(PHASES[phase].items()))
        moment = Moment(f"limelight.{function}", chance.randint(1, calls), chance.choice([0.0, 0.05]))
        run = tmp_path / f"run-{count}"
        words = workplace.train(run, "--max-steps", "1000000")
        number, ended = disturb(Command(words, tmp_path / "errors", moment), moment, chance)
        faults = faults_of(number, ended) + workplace.faults_of(run)
        print(moment, f"{ended.seconds:.2f} s", faults)
        slowest = max(slowest, ended.seconds)
        held += not faults
    what = f"signals (SIGTERM, SIGINT) during {phase}: out within 10 s, and the run goes on to the same end"
    measured("T3", what, held=held, of=tries, note=f"out after {slowest:.1f} s at most")


@pytest.mark.parametrize("command", ["translate", "evaluate"])
def test_beam_search_is_told_to_stop(
    command: str, workplace: Workplace, full: bool, measured: Measured, seed: int, tmp_path: Path
) -> None:
    chance, tries = random.Random(seed), 20 if full else 1
    held, slowest = 0, 0.0
    text = write_pairs(tmp_path / "test.tsv", 5000)
    words = [
        command,
        "--model",
        str(workplace.whole),
        *(["--workers", "1", text] if command == "translate" else ["--test", text]),
    ]
    for _ in range(tries):
        moment = Moment("limelight.decoding.engine.take_step", chance.randint(1, 40), chance.choice([0.0, 0.05]))
        command = Command([*words, "--output", str(tmp_path / "out.txt")], tmp_path / "errors", moment)
        number, ended = disturb(command, moment, chance)
        faults = faults_of(number, ended)
        if (tmp_path / "out.txt").exists():
            faults.append("half of its output looks whole")
        print(moment, f"{ended.seconds:.2f} s", faults)
        slowest = max(slowest, ended.seconds)
        held += not faults
    what = f"signals (SIGTERM, SIGINT) during beam search ({command}): out within 10 s, no half output"
    measured("T3", what, held=held, of=tries, note=f"out after {slowest:.1f} s at most")


LEARNERS = {
    "unigram": "limelight.tokens.sentencepiece._train",
    "bpe": "limelight.tokens.sentencepiece._train",
    "wordpiece": "limelight.tokens.wordpiece._learn_pieces",
}
"""Where each kind of vocabulary is learned by a library, in one call."""


def test_learning_a_vocabulary_is_told_to_stop(full: bool, measured: Measured, seed: int, tmp_path: Path) -> None:
    """There is nothing to save yet, and nothing to wait for."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 12))) for _ in range(200_000)]
    with open(tmp_path / "text.tsv", "w", encoding="utf-8") as file:
        for _ in range(30_000):
            file.write("\t".join(" ".join(chance.choices(words, k=8)) for _ in range(2)) + "\n")
    text = ["--train", str(tmp_path / "text.tsv"), "--source", "en", "--target", "de", "--max-steps", "1"]
    settings = [word for each in ("sampling=0", "byte_fallback=false") for word in ("--set", f"tokens.{each}")]
    for kind in LEARNERS if full else [chance.choice(list(LEARNERS))]:
        held, slowest, tries = 0, 0.0, 5 if full else 1
        for _ in range(tries):
            out = tmp_path / "runs" / "new"
            learner = ["--recipe", "tiny", *settings, "--set", f"tokens.kind={kind}", "--out", str(out), "--quiet"]
            command = Command(["train", *text, *learner], tmp_path / "errors", Moment(LEARNERS[kind]))
            command.reach()
            command.process.join(chance.uniform(0, 0.2))
            number = chance.choice(SIGNALS)
            command.send(number)
            ended = command.end()
            faults = faults_of(number, ended, within=2 * AT_ONCE)
            faults += [f"{path} is left" for path in out.glob("*") if path.name != LOCK]
            print(kind, f"{ended.seconds:.2f} s", faults)
            slowest = max(slowest, ended.seconds)
            held += not faults
        what = f"signals while a vocabulary is learned ({kind}): out within 2 s, nothing left behind"
        measured("T3", what, held=held, of=tries, note=f"out after {slowest:.1f} s at most")


def places(full: bool, chance: random.Random) -> list[str]:
    return list(BUSY) if full else [chance.choice(list(BUSY))]


def test_work_that_does_not_end(
    workplace: Workplace, full: bool, measured: Measured, seed: int, tmp_path: Path
) -> None:
    """In the short form with less grace, so that it does not take all of the ten seconds."""
    chance, changed = random.Random(seed), {} if full else {"limelight.signals.GRACE": 0.5}
    for place in places(full, chance):
        run, number = tmp_path / place, chance.choice(SIGNALS)
        command = Command(workplace.train(run), tmp_path / "errors", BUSY[place], changed)
        command.reach()
        command.process.join(0.2)
        command.send(number)
        ended = command.end()
        faults = faults_of(number, ended) + workplace.faults_of(run)
        if "without a last save: the work had not come to a stop after" not in ended.errors:
            faults.append(f"it says {ended.errors!r}")
        print(place, faults)
        what = f"a signal while a product within {place} takes minutes: out within 10 s, what was saved is intact"
        measured("T3", what, held=int(not faults), of=1, note=f"out after {ended.seconds:.1f} s")


def test_a_second_signal(workplace: Workplace, full: bool, measured: Measured, seed: int, tmp_path: Path) -> None:
    chance, tries = random.Random(seed), 5 if full else 1
    for place in places(full, chance):
        held, slowest = 0, 0.0
        for count in range(tries):
            run, number = tmp_path / f"{place}-{count}", chance.choice(SIGNALS)
            # Where there is nothing to save, the first one alone would soon end it.
            changed = {"limelight.signals.AT_ONCE": 9.0}
            command = Command(workplace.train(run), tmp_path / "errors", BUSY[place], changed)
            command.reach()
            command.process.join(0.2)
            command.send(chance.choice(SIGNALS))
            command.process.join(chance.uniform(0.2, 1.0))
            command.send(number)
            ended = command.end()
            faults = faults_of(number, ended, within=AT_ONCE) + workplace.faults_of(run)
            if "this was the second signal" not in ended.errors:
                faults.append(f"it says {ended.errors!r}")
            print(place, f"{ended.seconds:.2f} s", faults)
            slowest = max(slowest, ended.seconds)
            held += not faults
        what = f"second signals while a product within {place} takes minutes: out within 1 s, what was saved is intact"
        measured("T3", what, held=held, of=tries, note=f"out after {slowest:.2f} s at most")
