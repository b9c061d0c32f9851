"""Whatever is saved, damaged, taken up again and trained on: what a run needs to go on, and the best it ever had, stay.

A schedule is a random sequence of what may happen to a run. After each event the folder is held against what happened.
"""

import json
import random
import shutil
from pathlib import Path

import hypothesis
import pytest
import torch
from hypothesis import strategies as st

from limelight.config import RecurrentConfig, RunConfig, TrainingConfig
from limelight.errors import RunError
from limelight.files import FORMER, PARTIAL, clear_leftovers
from limelight.models.families import build_model
from limelight.signals import StopRequest
from limelight.storage.layout import BEST
from limelight.storage.model import load_model
from limelight.storage.weights import named_weights, read_weights
from limelight.tokens import Tokenizers, train_tokenizer
from limelight.training import loop
from limelight.training.checkpoints import checkpoint
from limelight.training.checkpoints.checkpoint import CHECKPOINTS, Progress, restore_newest
from limelight.training.checkpoints.keep import SNAPSHOTS, keep_snapshot, save_if_best, score_of_best
from limelight.training.optimization.optimizer import make_optimizer
from limelight.training.report import Report
from limelight.training.run_state import Run
from limelight.training.tasks.task import Validation
from limelight.training.tasks.translation import Translation
from tests.torture.conftest import Measured
from tests.training.helpers import NUMBERS, ZAHLEN
from tests.training.test_checkpoint import DAMAGES

TINY = RecurrentConfig(embedding=2, hidden=2, score_size=2)

EVENTS = st.one_of(
    st.tuples(st.just("train"), st.integers(1, 5)),
    st.tuples(st.just("validate"), st.integers(1, 9)),
    st.tuples(st.just("save"), st.integers(1, 4)),
    st.tuples(st.just("save"), st.integers(1, 4)),
    st.tuples(st.just("damage"), st.integers(0, 2**20)),
    st.tuples(st.just("restart"), st.integers(0, 2)),
)
SCHEDULES = st.lists(EVENTS, min_size=8, max_size=30)


@pytest.fixture(scope="module")
def tokenizers() -> Tokenizers:
    texts = [" ".join(NUMBERS), " ".join(ZAHLEN)] * 3
    both = train_tokenizer(
        texts, kind="bpe", vocabulary_size=80, languages=["en", "de"], byte_fallback=False, seed=1, sentences=6
    )
    return Tokenizers(both, both)


class Story:
    """A run to which things happen, and what must be left of it. Its weights are never the same again."""

    def __init__(self, folder: Path, tokenizers: Tokenizers) -> None:
        self.folder, self.tokenizers = folder, tokenizers
        folder.mkdir()
        self.marks: dict[int, float] = {}
        """What the weights were in the checkpoint of each update."""
        self.intact: set[int] = set()
        self.best: tuple[float, float] | None = None
        """The best score ever, and the weights that had it (the last of several)."""
        self.mark = 0.0
        self.begin(Progress())

    def begin(self, progress: Progress) -> None:
        """A process of its own, as far as can be seen from the folder."""
        model = build_model(TINY, self.tokenizers)
        config = RunConfig(model=TINY, training=TrainingConfig(average=2, best_by="loss"))
        self.run = Run(
            folder=self.folder,
            config=config,
            model=model,
            optimizer=make_optimizer(model),
            task=Translation.__new__(Translation),
            tokenizers=self.tokenizers,
            device=torch.device("cpu"),
            precision="fp32",
            progress=progress,
            report=Report(self.folder, config.training, quiet=True),
            stop=StopRequest(),
        )
        progress.model_score = score_of_best(self.folder)

    def train(self, updates: int) -> None:
        self.mark += 1
        self.run.progress.step += updates
        with torch.no_grad():
            for parameter in self.run.model.parameters():
                parameter.fill_(self.mark)

    def validate(self, loss: int) -> None:
        score, progress = -float(loss), self.run.progress
        progress.snapshots = keep_snapshot(self.run, score)
        save_if_best(self.run, Validation(float(loss)), f"update {progress.step}")
        if self.best is None or score >= self.best[0]:
            self.best = score, weight_of(named_weights(self.run.model))

    def save(self, keep_checkpoints: int) -> None:
        training = self.run.config.training.model_copy(update={"keep_checkpoints": keep_checkpoints})
        self.run.config = self.run.config.model_copy(update={"training": training})
        before, step = self.stored(), self.run.progress.step
        loop._save(self.run)
        expected = sorted({number for number in before if number < step} | {step})[-keep_checkpoints:]
        assert self.stored() == expected
        self.intact = (self.intact | {step}) & set(expected)
        self.marks[step] = weight_of(named_weights(self.run.model))

    def damage(self, number: int) -> None:
        """Cut a file of an intact checkpoint short, remove it, or turn a bit of it."""
        if not self.intact:
            return
        random.seed(number)
        step = random.choice(sorted(self.intact))
        path = random.choice(sorted(self.place(step).iterdir()))
        DAMAGES[random.choice(["cut off", "flipped", "missing"])](path)
        self.intact.discard(step)

    def restart(self, how: int) -> None:
        """Killed between two saves, within one, or between the two moves that replace a checkpoint."""
        stored = self.stored()
        if stored and how:
            place = self.place(stored[-1])
            aside, half = (place.with_name(place.name + ending) for ending in (FORMER, PARTIAL))
            shutil.copytree(place, half)
            if how == 2:
                place.rename(aside)
        clear_leftovers(self.folder)
        assert self.stored() == stored
        self.begin(Progress())
        try:
            found = restore_newest(
                self.folder / CHECKPOINTS, self.run.model, self.run.optimizer, warn=lambda _text: None
            )
        except RunError:
            assert stored
            assert not self.intact
            shutil.rmtree(self.folder / CHECKPOINTS)  # the way out that the message names
            return
        if not stored:
            assert found is None
            return
        assert found is not None
        assert found.step == max(self.intact)
        assert weight_of(named_weights(self.run.model)) == self.marks[found.step]
        found.model_score = self.run.progress.model_score
        self.run.progress = found

    def check(self) -> None:
        """What must hold at any time."""
        assert {step for step in self.stored() if not checkpoint.find_damage(self.place(step))} == self.intact
        snapshots = set(self.run.progress.snapshots)
        for step in self.intact:
            snapshots |= set(json.loads((self.place(step) / "progress.json").read_text(encoding="utf-8"))["snapshots"])
        assert snapshots <= {path.name for path in (self.folder / SNAPSHOTS).glob("*")}
        if self.best is not None:
            weights, _ = read_weights(self.folder / BEST / "model.safetensors")
            assert (score_of_best(self.folder), weight_of(weights)) == self.best

    def stored(self) -> list[int]:
        return sorted(int(path.name[5:]) for path in (self.folder / CHECKPOINTS).glob("step-*"))

    def place(self, step: int) -> Path:
        return self.folder / CHECKPOINTS / f"step-{step:08d}"


def weight_of(weights: dict[str, torch.Tensor]) -> float:
    """One of the weights, to know them again: they are all set to one number, and begin with random ones."""
    return weights[min(weights)].flatten()[0].item()


def test_what_a_run_needs_and_its_best_stay(
    full: bool, measured: Measured, seed: int, tmp_path: Path, tokenizers: Tokenizers
) -> None:
    counted: list[int] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(max_examples=1000 if full else 25, database=None, phases=[hypothesis.Phase.generate])
    @hypothesis.given(SCHEDULES)
    def holds(schedule: list[tuple[str, int]]) -> None:
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        story = Story(tmp_path / "run", tokenizers)
        for event, number in schedule:
            getattr(story, event)(number)
            story.check()
        if story.best is not None:
            load_model(story.folder)
        counted.append(len(schedule))

    holds()
    what = "schedules that keep the newest intact checkpoint, its snapshots and the best model"
    measured("T11", what, held=len(counted), of=1000 if full else 25, note=f"{sum(counted):,} events")
