"""The same seed gives the same run: in another process, with other hashes, whatever was done before."""

import os
import subprocess
import sys
from pathlib import Path

from limelight.config import RunConfig, TransformerConfig, save_config
from tests.torture.conftest import Measured
from tests.torture.processes import differences
from tests.training.helpers import go, tiny_run, with_training

ROOT = Path(__file__).parents[2]
WIDE = TransformerConfig(encoder_layers=1, decoder_layers=1, d_model=128, heads=4, d_ff=512, dropout=0.2)


def wide_run(folder: Path) -> RunConfig:
    """Batches wide enough that torch divides the work among its threads."""
    config = tiny_run(folder, WIDE, max_steps=6)
    return config.model_copy(update={"batching": config.batching.model_copy(update={"tokens": 900})})


def train_alone(config: RunConfig, folder: Path, *, hash_seed: int) -> Path:
    """Train with the command line, in a fresh interpreter whose sets and dictionaries hash in their own way."""
    configuration = folder.with_suffix(".yaml")
    save_config(config, configuration)
    command = [sys.executable, "-m", "limelight", "train", "--config", str(configuration), "--out", str(folder), "-q"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": str(hash_seed)}, check=True, timeout=600)
    return folder


def test_the_same_seed_is_the_same_run(full: bool, measured: Measured, tmp_path: Path) -> None:
    config = wide_run(tmp_path / "text")
    if not full:  # this process has hashes of its own
        go(with_training(config, threads=1), tmp_path / "here")
    runs = {
        threads: [
            *([] if full else [tmp_path / "here"]),
            *(
                train_alone(
                    with_training(config, threads=threads), tmp_path / f"{threads}-{number}", hash_seed=number + 1
                )
                for number in range(3 if full else 1)
            ),
        ]
        for threads in ((1, 2) if full else (1,))
    }
    note = "each process with other hashes (PYTHONHASHSEED); there are no loader processes"
    if full:
        between = differences(runs[2][0], runs[1][0])
        note += f"; two threads and one give {'runs that differ in rounding' if between else 'the same run'}"
    for threads, (first, *others) in runs.items():
        found = [sorted(differences(other, first)) for other in others]
        print(f"threads={threads}; different: {found}")
        what = f"the same seed again in a new process, threads={threads}: the same run to the last bit"
        measured("T9", what, held=found.count([]), of=len(found), note=note)
