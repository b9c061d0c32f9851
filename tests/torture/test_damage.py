"""A damaged checkpoint is never loaded: it is named in one warning, and the run goes on from the one before it."""

import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from limelight.config import RunConfig
from limelight.files import sha256
from limelight.models.families import build_model
from limelight.tokens import load_tokenizers
from limelight.training.checkpoints import checkpoint
from limelight.training.checkpoints.checkpoint import MANIFEST, PARTS, restore_newest
from limelight.training.optimization.optimizer import make_optimizer
from limelight.training.run import train
from tests.torture.conftest import Measured
from tests.training.helpers import checkpoints_of, go, last_weights, tiny_run, trace_of

FILES = (*PARTS, MANIFEST)


@dataclass
class Damaged:
    """A run with two checkpoints, the newer of which is damaged in one way after another."""

    config: RunConfig
    run: Path

    def __post_init__(self) -> None:
        self.older, self.newer = checkpoints_of(self.run)
        self.content = {name: (self.newer / name).read_bytes() for name in FILES}
        self.model = build_model(self.config.model, load_tokenizers(self.run / "tokenizer"))

    def held(self, name: str, damage: Callable[[Path], None]) -> bool:
        """Damage a file, restore: was the older one taken, with one warning that names the newer one and the file? The
        newer one is whole again afterwards."""
        path = self.newer / name
        damage(path)
        warnings: list[str] = []
        optimizer = make_optimizer(self.model, beta1=0.9, beta2=0.98, epsilon=1e-9, weight_decay=0.0)
        try:
            progress = restore_newest(self.newer.parent, self.model, optimizer, warn=warnings.append)
        finally:
            if path.is_dir():
                path.rmdir()
            path.write_bytes(self.content[name])
        if progress is None or f"step-{progress.step:08d}" != self.older.name or len(warnings) != 1:
            return False
        return str(self.newer) in warnings[0] and name in warnings[0] and self._holds_the_older_one(optimizer)

    def _holds_the_older_one(self, optimizer: torch.optim.Optimizer) -> bool:
        again = self.run / "again"
        again.mkdir(exist_ok=True)
        checkpoint._save(again / PARTS[0], checkpoint.named_weights(self.model))
        checkpoint._save(again / PARTS[1], checkpoint._optimizer_tensors(self.model, optimizer))
        return all(sha256(again / part) == sha256(self.older / part) for part in PARTS[:2])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunConfig, Path]:
    folder = tmp_path_factory.mktemp("whole")
    config = tiny_run(folder / "text", max_steps=4, checkpoint_every=2, validate_every=3)
    go(config, folder / "run")
    return config, folder / "run"


@pytest.fixture
def damaged(whole: tuple[RunConfig, Path], tmp_path: Path) -> Damaged:
    config, run = whole
    shutil.copytree(run, tmp_path / "run")
    return Damaged(config, tmp_path / "run")


def cut_to(length: int) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(path.read_bytes()[:length]) and None


def flip(place: int, bit: int) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[place] ^= 1 << bit
        path.write_bytes(content)

    return damage


def replace_by_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def chosen(chance: random.Random, number: int) -> Iterator[str]:
    """Files to be damaged: each of them as often as any other, for the large ones are not the important ones."""
    for turn in range(number):
        yield FILES[turn % len(FILES)] if turn < len(FILES) else chance.choice(FILES)


def test_cut_off_anywhere(damaged: Damaged, full: bool, measured: Measured, seed: int) -> None:
    chance, number = random.Random(seed), 100 if full else 10
    held = sum(
        damaged.held(name, cut_to(chance.randrange(len(damaged.content[name])))) for name in chosen(chance, number)
    )
    measured("T5", "checkpoints cut off anywhere: named in one warning, the one before loaded", held=held, of=number)


def test_one_bit_of_a_file_flipped(damaged: Damaged, full: bool, measured: Measured, seed: int) -> None:
    chance, number = random.Random(seed), 200 if full else 20
    held = 0
    for name in chosen(chance, number):
        held += damaged.held(name, flip(chance.randrange(len(damaged.content[name])), chance.randrange(8)))
    measured(
        "T5", "checkpoints with one bit flipped: named in one warning, the one before loaded", held=held, of=number
    )


def test_every_bit_of_a_manifest(damaged: Damaged, full: bool, measured: Measured) -> None:
    """It has no sum of its own: whatever is changed in it must show."""
    bits = range(0, 8 * len(damaged.content[MANIFEST]), 1 if full else 101)
    path, found = damaged.newer / MANIFEST, 0
    for bit in bits:
        flip(*divmod(bit, 8))(path)
        found += checkpoint.find_damage(damaged.newer) != ""
        path.write_bytes(damaged.content[MANIFEST])
    measured("T5", "manifests with one bit flipped, each bit in turn: detected", held=found, of=len(bits))


def test_empty_missing_or_a_folder(damaged: Damaged, measured: Measured) -> None:
    damages: tuple[Callable[[Path], None], ...] = (cut_to(0), Path.unlink, replace_by_a_folder)
    held = sum(damaged.held(name, damage) for name in FILES for damage in damages)
    measured("T5", "files empty, missing, or a folder in their place: named in one warning, the one before loaded",
             held=held, of=len(FILES) * len(damages))  # fmt: skip


def test_the_run_goes_on_as_it_was(
    damaged: Damaged,
    whole: tuple[RunConfig, Path],
    measured: Measured,
    seed: int,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name = random.Random(seed).choice(FILES)
    flip(0, 0)(damaged.newer / name)
    train(damaged.config, damaged.run)
    warnings = [line for line in capsys.readouterr().err.splitlines() if "skipping this checkpoint" in line]
    same = trace_of(damaged.run) == trace_of(whole[1]) and last_weights(damaged.run) == last_weights(whole[1])
    measured("T5", "a run whose newest checkpoint is damaged: one warning, then the same to the last bit",
             held=int(same and len(warnings) == 1 and name in warnings[0]), of=1)  # fmt: skip
